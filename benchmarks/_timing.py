"""Timing of alternating runs: the result is the ratio of times within each turn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, sleep
from typing import Literal, TypeAlias

# Threads of a library may be busy for a moment after its work is done: wait before the next run.
PAUSE = 0.05

Unit: TypeAlias = Literal["s", "B"]
_SIZES: dict[Unit, list[tuple[str, float]]] = {
    "s": [("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)],
    "B": [("MiB", 2.0**20), ("KiB", 2.0**10), ("B", 1.0)],
}


@dataclass(frozen=True)
class Baseline:
    """Another system that does the same work.

    Attributes:
        name: Its name.
        run: Does the work once; returns a measurement if that is not the total time.
        target: The largest accepted ratio of minispore's measurement to that of this system.
    """

    name: str
    run: Callable[[], float | None]
    target: float | None = None


@dataclass(frozen=True)
class Row:
    """One row of the table: minispore compared with one baseline.

    Attributes:
        work: What was measured.
        baseline: The name of the baseline.
        ours: The median of minispore's measurements.
        unit: Their unit, seconds or bytes.
        ratio: The median over the turns of minispore's measurement divided by the baseline's.
        low: The first quartile of these ratios.
        high: The third quartile.
        target: The largest accepted ratio, if there is one.
    """

    work: str
    baseline: str
    ours: float
    unit: Unit
    ratio: float
    low: float
    high: float
    target: float | None


def compare(
    work: str,
    ours: Callable[[], float | None],
    others: Sequence[Baseline],
    *,
    turns: int,
    unit: Unit = "s",
    clock: Callable[[], float] = perf_counter,
) -> list[Row]:
    """Run minispore and the baselines alternately, and compare their measurements.

    Args:
        work: A description of the work.
        ours: Does the work once with minispore.
        others: The baselines.
        turns: The number of runs of each, after one that is not measured.
        unit: The unit of the measurements.
        clock: What is read before and after a run that returns no measurement: `process_time` if
            all of its work is done in this process.

    Returns:
        A row for each baseline.
    """
    runs = [ours, *(other.run for other in others)]
    for run in runs:
        run()
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(turns):
        for run, taken in zip(runs, times, strict=True):
            taken.append(_timed(run, clock))
    return [
        make_row(work, times[0], other.name, theirs, other.target, unit=unit)
        for other, theirs in zip(others, times[1:], strict=True)
    ]


def make_row(
    work: str,
    ours: Sequence[float],
    name: str,
    theirs: Sequence[float],
    target: float | None,
    *,
    unit: Unit = "s",
) -> Row:
    """Return the row of minispore's and a baseline's measurements, which were taken in turns."""
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    low, middle, high = quantiles(ratios, n=4)
    return Row(work, name, median(ours), unit, middle, low, high, target)


def _timed(run: Callable[[], float | None], clock: Callable[[], float]) -> float:
    sleep(PAUSE)
    start = clock()
    measured = run()
    return clock() - start if measured is None else measured


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = [
        "| what | compared with | minispore | ratio (quartiles) | target | reached |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        reached = "" if row.target is None else "yes" if row.ratio <= row.target else "no"
        target = "" if row.target is None else f"≤ {row.target:g}"
        lines.append(
            f"| {row.work} | {row.baseline} | {_text(row.ours, row.unit)} "
            f"| **{row.ratio:.3g}** ({row.low:.3g} to {row.high:.3g}) | {target} | {reached} |"
        )
    return "\n".join(lines)


def write_table(page: Path, name: str, table: str, *, keeps: bool = False) -> None:
    """Replace the table of a page, between the comments `name` and `end of name`.

    Args:
        page: The page.
        name: The name of the table.
        table: The table, and what is below it.
        keeps: Whether to replace the rows that are in `table`, add its others below, and keep the
            rest.
    """
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    before, remainder = page.read_text("utf-8").split(begin)
    old, after = remainder.split(end)
    text = _with_rows(old, table) if keeps else f"\n{table}\n"
    page.write_text(f"{before}{begin}{text}{end}{after}", "utf-8")


def _with_rows(old: str, new: str) -> str:
    rows = {_key(line): f"{line}\n" for line in new.splitlines() if _key(line)}
    lines = [rows.pop(_key(line), line) for line in old.splitlines(keepends=True)]
    below = max(i for i, line in enumerate(lines) if _key(line)) + 1
    return "".join([*lines[:below], *rows.values(), *lines[below:]])


def _key(line: str) -> tuple[str, ...]:
    """Return what a row of a table compares; () for another line."""
    return tuple(line.split("|")[1:3])


def _text(amount: float, unit: Unit) -> str:
    sizes = _SIZES[unit]
    name, size = next((entry for entry in sizes if amount >= entry[1]), sizes[-1])
    return f"{amount / size:.3g} {name}"
