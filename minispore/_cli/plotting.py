"""The plot of a run: its losses and accuracies, and digits that the network has read."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minispore.utils.atomic import atomic_write


class ReadDigit(NamedTuple):
    """An image of a digit, of shape (height, width), its label, and what the network has read."""

    image: NDArray[np.float32]
    label: int
    prediction: int


def plot(rows: Sequence[Mapping[str, Any]], digits: Sequence[ReadDigit], path: Path) -> bool:
    """Plot the rows of a `CSVLogger` over steps, and up to 16 digits, to a PNG file.

    Returns:
        Whether there is a plot; False without matplotlib.
    """
    try:
        library = import_module("matplotlib.figure")
    except ImportError:
        return False
    # matplotlib annotates its methods only in part.
    figure: Any = library.Figure(figsize=(12, 6), dpi=120, layout="constrained")
    curves, pictures = figure.subfigures(1, 2, width_ratios=(7, 5))
    _draw_digits(pictures, digits)
    upper, lower = curves.subplots(2, 1, sharex=True)
    losses = [(row["step"], row["net_output"]) for row in rows if "net_output" in row]
    upper.plot([step for step, _ in losses], [loss for _, loss in losses], color="tab:orange")
    upper.set_ylabel("training loss")
    upper.set_ylim(bottom=0)
    scored = [(row["step"], row["accuracy"]) for row in rows if "accuracy" in row]
    lower.plot([step for step, _ in scored], [value for _, value in scored], "o-", color="tab:cyan")
    lower.set_ylabel("accuracy on the test set")
    lower.set_xlabel("step")
    for axes in (upper, lower):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    with atomic_write(path) as file:
        _save(figure, file)
    return True


def _draw_digits(figure: Any, digits: Sequence[ReadDigit]) -> None:  # noqa: ANN401
    """Draw the digits in four rows; what is read wrong is red."""
    right = sum(digit.label == digit.prediction for digit in digits)
    figure.suptitle(f"digits of the test set: {right} of {len(digits)} read right", fontsize=10)
    for axes, digit in zip(figure.subplots(4, 4).flat, digits, strict=False):
        is_right = digit.label == digit.prediction
        axes.imshow(digit.image, cmap="gray_r")
        text = f"{digit.prediction}" if is_right else f"{digit.prediction}, not {digit.label}"
        axes.set_title(text, color="black" if is_right else "tab:red", fontsize=10)
    for axes in figure.axes:
        axes.set_axis_off()


def _save(figure: Any, file: BinaryIO) -> None:  # noqa: ANN401
    figure.savefig(file)
