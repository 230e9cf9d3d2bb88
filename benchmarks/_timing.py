"""Fair measuring: the contestants take turns, and what counts is the ratio within each turn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from time import perf_counter, sleep
from typing import Literal, TypeAlias

# The threads of one library spin for a while after its work is done; the next contestant waits
# until they sleep.
PAUSE = 0.05

Unit: TypeAlias = Literal["s", "B"]
_SIZES: dict[Unit, list[tuple[str, float]]] = {
    "s": [("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)],
    "B": [("MiB", 2.0**20), ("KiB", 2.0**10), ("B", 1.0)],
}


@dataclass(frozen=True)
class Contestant:
    """Somebody who does the same work.

    Attributes:
        name: Who it is.
        run: Does the work once, and gives what was measured where that is not the whole time.
        target: The ratio of our figure to theirs to be reached, if there is one.
    """

    name: str
    run: Callable[[], float | None]
    target: float | None = None


@dataclass(frozen=True)
class Row:
    """One line of the table: ours beside one contestant.

    Attributes:
        work: What was measured.
        beside: Beside whom.
        ours: The median of our figures.
        unit: What they are: seconds, or bytes.
        ratio: The median over the turns of our figure divided by theirs.
        low: The first quartile of these ratios.
        high: The third.
        target: The ratio to be reached, if there is one.
    """

    work: str
    beside: str
    ours: float
    unit: Unit
    ratio: float
    low: float
    high: float
    target: float | None


def compare(
    work: str,
    ours: Callable[[], float | None],
    others: Sequence[Contestant],
    *,
    turns: int,
    unit: Unit = "s",
) -> list[Row]:
    """Let ours and the others take turns at the same work.

    Args:
        work: What is measured.
        ours: Does it once.
        others: Each does it once.
        turns: How often each does it, after once that does not count.
        unit: What is measured.

    Returns:
        A row for each of the others.
    """
    runs = [ours, *(other.run for other in others)]
    for run in runs:
        run()
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(turns):
        for run, taken in zip(runs, times, strict=True):
            taken.append(_timed(run))
    return [
        beside(work, times[0], other.name, theirs, other.target, unit=unit)
        for other, theirs in zip(others, times[1:], strict=True)
    ]


def beside(
    work: str,
    ours: Sequence[float],
    name: str,
    theirs: Sequence[float],
    target: float | None,
    *,
    unit: Unit = "s",
) -> Row:
    """The row of our figures and another's, which were taken in turns."""
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    low, middle, high = quantiles(ratios, n=4)
    return Row(work, name, median(ours), unit, middle, low, high, target)


def _timed(run: Callable[[], float | None]) -> float:
    sleep(PAUSE)
    start = perf_counter()
    told = run()
    return perf_counter() - start if told is None else told


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| what | beside | ours | ratio (quartiles) | target | reached |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        reached = "" if row.target is None else "yes" if row.ratio <= row.target else "no"
        target = "" if row.target is None else f"≤ {row.target:g}"
        lines.append(
            f"| {row.work} | {row.beside} | {_text(row.ours, row.unit)} "
            f"| **{row.ratio:.3g}** ({row.low:.3g} to {row.high:.3g}) | {target} | {reached} |"
        )
    return "\n".join(lines)


def _text(figure: float, unit: Unit) -> str:
    sizes = _SIZES[unit]
    name, size = next((each for each in sizes if figure >= each[1]), sizes[-1])
    return f"{figure / size:.3g} {name}"
