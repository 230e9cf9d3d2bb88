"""Fair timing: the contestants take turns, and what counts is the ratio within each turn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from time import perf_counter, sleep

# The threads of one library spin for a while after its work is done; the next contestant waits
# until they sleep.
PAUSE = 0.05


@dataclass(frozen=True)
class Contestant:
    """Somebody who does the same work.

    Attributes:
        name: Who it is.
        run: Does the work once, and gives the seconds it took where that is not the whole of it.
        target: The ratio of our time to theirs to be reached, if there is one.
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
        seconds: The median of our times.
        ratio: The median over the turns of our time divided by theirs.
        low: The first quartile of these ratios.
        high: The third.
        target: The ratio to be reached, if there is one.
    """

    work: str
    beside: str
    seconds: float
    ratio: float
    low: float
    high: float
    target: float | None


def compare(
    work: str, ours: Callable[[], float | None], others: Sequence[Contestant], *, turns: int
) -> list[Row]:
    """Let ours and the others take turns at the same work.

    Args:
        work: What is measured.
        ours: Does it once.
        others: Each does it once.
        turns: How often each does it, after once that does not count.

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
    rows: list[Row] = []
    for other, theirs in zip(others, times[1:], strict=True):
        ratios = [a / b for a, b in zip(times[0], theirs, strict=True)]
        low, middle, high = quantiles(ratios, n=4)
        rows.append(Row(work, other.name, median(times[0]), middle, low, high, other.target))
    return rows


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
            f"| {row.work} | {row.beside} | {_text(row.seconds)} "
            f"| **{row.ratio:.3g}** ({row.low:.3g} to {row.high:.3g}) | {target} | {reached} |"
        )
    return "\n".join(lines)


def _text(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
