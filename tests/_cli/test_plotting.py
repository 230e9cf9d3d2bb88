"""The plot of `minispore train`: losses and accuracies over steps."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from PIL import Image

from minispore._cli import plotting

numbers = st.floats(0.0, 9.0)
rows = st.fixed_dictionaries({}, optional={"net_output": numbers, "accuracy": numbers})


@given(st.lists(rows, max_size=4))
def test_plot_shows_the_losses_and_accuracies_over_the_steps(rows: list[dict[str, float]]) -> None:
    """A row may have one of them, both, or none."""
    table = [{"step": 10 * i, **row} for i, row in enumerate(rows)]
    drawn = list[Figure]()
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(plotting, "_save", lambda figure, _: drawn.append(figure))
        assert plotting.plot(table, Path(folder, "plot.png"))
    (figure,) = drawn
    for axes, column, label in zip(
        figure.axes,
        ["net_output", "accuracy"],
        ["training loss", "accuracy on the test set"],
        strict=True,
    ):
        (line,) = axes.lines
        expected = [(row["step"], row[column]) for row in table if column in row]
        assert np.asarray(line.get_xydata()).tolist() == [list(pair) for pair in expected]
        assert axes.get_ylabel() == label
    upper, lower = figure.axes
    assert upper.get_ylim()[0] == 0
    assert upper.get_xlim() == lower.get_xlim()
    assert lower.get_xlabel() == "step"


def test_plot_has_840_by_720_pixels(tmp_path: Path) -> None:
    assert plotting.plot([{"step": 1, "net_output": 0.5}], tmp_path / "plot.png")
    with Image.open(tmp_path / "plot.png") as picture:
        assert (picture.format, picture.size) == ("PNG", (840, 720))
