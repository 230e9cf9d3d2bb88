"""The plot of a run's losses and accuracies."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from minispore.utils.atomic import atomic_write


def plot(rows: Sequence[Mapping[str, Any]], path: Path) -> bool:
    """Plot the rows of a `CSVLogger` over steps to a PNG file; return False without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(7, 6), dpi=120, layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
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


class _Savable(Protocol):
    """The method of a figure that is used here; matplotlib annotates it only in part."""

    def savefig(self, fname: BinaryIO) -> None: ...


def _save(picture: _Savable, file: BinaryIO) -> None:
    picture.savefig(file)
