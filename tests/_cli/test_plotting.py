"""The plot of `minispore train`: losses and accuracies over steps."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from minispore._cli import plotting

numbers = st.floats(0.0, 9.0)
rows = st.fixed_dictionaries({}, optional={"net_output": numbers, "accuracy": numbers})


def drawn_figure(
    rows: Sequence[Mapping[str, float]], digits: Sequence[plotting.ReadDigit]
) -> Figure:
    """Return the figure that would be saved."""
    drawn = list[Figure]()
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(plotting, "_save", lambda figure, _: drawn.append(figure))
        assert plotting.plot(rows, digits, Path(folder, "plot.png"))
    (figure,) = drawn
    return figure


def curves(figure: Figure) -> list[Axes]:
    """Return the axes of the losses and of the accuracies."""
    return figure.subfigs[0].axes


@given(st.lists(rows, max_size=4))
def test_plot_shows_the_losses_and_accuracies_over_the_steps(rows: list[dict[str, float]]) -> None:
    """A row may have one of them, both, or none."""
    table = [{"step": 10 * i, **row} for i, row in enumerate(rows)]
    figure = drawn_figure(table, [])
    for axes, column, label in zip(
        curves(figure),
        ["net_output", "accuracy"],
        ["training loss", "accuracy on the test set"],
        strict=True,
    ):
        (line,) = axes.lines
        expected = [(row["step"], row[column]) for row in table if column in row]
        assert np.asarray(line.get_xydata()).tolist() == [list(pair) for pair in expected]
        assert axes.get_ylabel() == label
    upper, lower = curves(figure)
    assert upper.get_ylim()[0] == 0
    assert upper.get_xlim() == lower.get_xlim()
    assert lower.get_xlabel() == "step"


digits = st.builds(
    plotting.ReadDigit,
    st.builds(lambda value: np.full((4, 4), value, np.float32), numbers),
    st.integers(0, 9),
    st.integers(0, 9),
)


@given(st.lists(digits, max_size=16))
def test_plot_shows_what_is_read_in_each_digit(digits: list[plotting.ReadDigit]) -> None:
    shown = [axes for axes in drawn_figure([], digits).subfigs[1].axes if axes.images]
    for axes, (image, label, prediction) in zip(shown, digits, strict=True):
        assert np.asarray(axes.images[0].get_array()).tolist() == image.tolist()
        is_right = label == prediction
        assert axes.get_title() == (f"{label}" if is_right else f"{prediction}, not {label}")
        assert axes.title.get_color() == ("black" if is_right else "tab:red")


def test_plot_has_1440_by_720_pixels(tmp_path: Path) -> None:
    assert plotting.plot([{"step": 1, "net_output": 0.5}], [], tmp_path / "plot.png")
    with Image.open(tmp_path / "plot.png") as picture:
        assert (picture.format, picture.size) == ("PNG", (1440, 720))
