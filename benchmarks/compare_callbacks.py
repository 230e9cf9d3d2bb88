"""Run the same trainings with MindSpore and minispore, and compare them in a table for the docs.

    MINISPORE_MINDSPORE_PYTHON=path/to/python python -m benchmarks.compare_callbacks --write

It compares the order of the events with their epochs and steps, the printed lines (without times;
the last digits of numbers may differ), numbers at the end (weights, metrics, values of a callback)
and files with their sizes. The exit status is 1 if a difference is not explained in `WHY`.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import cast

from benchmarks._callback_scenarios import SCENARIOS
from benchmarks._other_frameworks import MINDSPORE_PYTHON
from benchmarks._timing import write_table

PAGE = Path(__file__).parent.parent / "docs" / "compatibility.md"
PARTS = ("events", "printed", "numbers", "files")
Outcome = dict[str, object]

_GRAPH = {"files": "MindSpore writes `net-graph.meta` in graph mode only"}
# Intended differences, and their reasons.
WHY: dict[str, dict[str, str]] = {
    "checkpoint": _GRAPH,
    "checkpoint_appended": _GRAPH,
    "checkpoint_on_exception": _GRAPH,
    "lambda_callback": {"numbers": "MindSpore's gets no validation events in `fit`"},
    "stop_in_step_of_fit": {"events": "MindSpore still validates"},
    "stop_in_evaluation": {"events": "MindSpore continues", "numbers": "it runs all epochs"},
    "exit_request": {
        "events": "MindSpore continues, unless MS_ENABLE_GRACEFUL_EXIT is set",
        "numbers": "it runs all epochs",
        "files": "the file contains the training state; there is no `.mindir`",
    },
    "summary_collector": {
        "numbers": "MindSpore has the last step twice",
        "files": "here one each for MindInsight, TensorBoard and its graph; no landscape is saved",
    },
    "backup": {"files": "the file contains the training state"},
}


def main() -> None:
    """Run the trainings, print the table, and write it to the page if requested."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare_callbacks")
    parser.add_argument("--write", action="store_true", help=f"write the table to {PAGE.name}")
    options = parser.parse_args()
    theirs = _run_scenarios(os.environ[MINDSPORE_PYTHON], "mindspore")
    ours = _run_scenarios(sys.executable, "minispore")
    table, unexplained = _table(theirs, ours)
    print(table)
    if options.write:
        write_table(PAGE, "callbacks", f"{table}\n")
    for line in unexplained:
        print(line, file=sys.stderr)
    sys.exit(bool(unexplained))


def _run_scenarios(python: str, library: str) -> dict[str, Outcome]:
    """Return the outcome of each scenario with a library, by the scenario's name."""
    root = Path(__file__).parent.parent
    done = subprocess.run(
        [python, str(root / "benchmarks" / "_callback_scenarios.py"), library],
        env=os.environ | {"PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        check=True,
    )
    outcomes = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {outcome["scenario"]: outcome for outcome in outcomes}


def _table(theirs: dict[str, Outcome], ours: dict[str, Outcome]) -> tuple[str, list[str]]:
    """Return the table, and the unexplained differences and needless explanations."""
    lines = [f"| training | {' | '.join(PARTS)} | |", "|---|---|---|---|---|---|"]
    unexplained: list[str] = []
    for scenario in SCENARIOS:
        name = scenario.__name__
        why = WHY.get(name, {})
        their, our = theirs[name], ours[name]
        same = {part: _is_close(their[part], our[part]) for part in PARTS}
        cells = [_cell(their[part], our[part], same=same[part]) for part in PARTS]
        reason = "; ".join(why.values())
        lines.append(f"| {_title(scenario.__doc__)} | {' | '.join(cells)} | {reason} |")
        unexplained += [
            f"{name}: {part}:\n    {their[part]}\n    {our[part]}"
            for part in PARTS
            if same[part] == (part in why)
        ]
        if their["raised"] != our["raised"]:
            unexplained.append(f"{name}: raised {their['raised']!r} and {our['raised']!r}")
    return "\n".join(lines), unexplained


def _title(text: str | None) -> str:
    return (text or "").strip().rstrip(".")


def _cell(their: object, our: object, *, same: bool) -> str:
    counts = [len(cast("list[object]", part)) for part in (their, our)]
    if same:
        return f"{counts[0]} same" if counts[0] else "–"
    return f"**{counts[0]}, here {counts[1]}**" if counts[0] != counts[1] else "**others**"


def _is_close(their: object, our: object) -> bool:
    """Return whether two outcomes are equal, except for the last digits of numbers."""
    if isinstance(their, dict) and isinstance(our, dict):
        a, b = cast("Outcome", their), cast("Outcome", our)
        return a.keys() == b.keys() and all(_is_close(a[name], b[name]) for name in a)
    if isinstance(their, list) and isinstance(our, list):
        x, y = cast("list[object]", their), cast("list[object]", our)
        return len(x) == len(y) and all(map(_is_close, x, y))
    if isinstance(their, float) and isinstance(our, float):
        return math.isclose(their, our, rel_tol=1e-5, abs_tol=1e-6)
    if isinstance(their, str) and isinstance(our, str) and their != our:
        return _is_close(_parts(their), _parts(our)) if "." in their else False
    return their == our


def _parts(line: str) -> list[object]:
    """Split a line into its decimal numbers and the texts between them."""
    pieces = re.split(r"(-?\d+\.\d+(?:e[-+]\d+)?)", line)
    return [float(piece) if index % 2 else piece for index, piece in enumerate(pieces)]


if __name__ == "__main__":
    main()
