"""Play the same trainings in MindSpore and here, and write how they compare into the documentation.

    MINISPORE_MINDSPORE_PYTHON=path/to/python python -m benchmarks.compare_callbacks --write

Compared are the order of the events with their epochs and steps, the printed lines (times are left
out, numbers may differ in their last digits), numbers at the end (weights, metrics, a callback's
own) and files with their sizes. Ends with 1 if something differs that is not explained here.
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
from benchmarks._peers import MINDSPORE_PYTHON

PAGE = Path(__file__).parent.parent / "docs" / "compatibility.md"
BEGIN, END = "<!-- callbacks -->\n", "<!-- end of callbacks -->\n"
PARTS = ("events", "printed", "numbers", "files")
Outcome = dict[str, object]

_GRAPH = {"files": "MindSpore writes `net-graph.meta` in graph mode only"}
# What differs on purpose, and why.
WHY: dict[str, dict[str, str]] = {
    "checkpoint": _GRAPH,
    "checkpoint_appended": _GRAPH,
    "checkpoint_on_exception": _GRAPH,
    "lambda_callback": {"numbers": "`fit` does not let MindSpore's see its validation"},
    "stop_in_step_of_fit": {"events": "MindSpore still validates"},
    "stop_in_evaluation": {"events": "MindSpore goes on", "numbers": "it does all epochs"},
    "exit_request": {
        "events": "MindSpore goes on, unless MS_ENABLE_GRACEFUL_EXIT is set",
        "numbers": "it does all epochs",
        "files": "the file has the training's state; there is no `.mindir`",
    },
    "summary_collector": {
        "numbers": "MindSpore has the last step twice",
        "files": "here one each for MindInsight, TensorBoard and its graph; no landscape is saved",
    },
    "backup": {"files": "the file has the training's state"},
}


def main() -> None:
    """Play, compare, print the table, and write it where that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare_callbacks")
    parser.add_argument("--write", action="store_true", help=f"write the table into {PAGE.name}")
    options = parser.parse_args()
    theirs = _play(os.environ[MINDSPORE_PYTHON], "mindspore")
    ours = _play(sys.executable, "minispore")
    table, unexplained = _table(theirs, ours)
    print(table)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        before, rest = page.split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{table}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")
    for line in unexplained:
        print(line, file=sys.stderr)
    sys.exit(bool(unexplained))


def _play(python: str, library: str) -> dict[str, Outcome]:
    """What comes of each scenario in the library, by the scenario's name."""
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
    """The table as Markdown, and what differs unexplained or is explained in vain."""
    lines = [f"| training | {' | '.join(PARTS)} | |", "|---|---|---|---|---|---|"]
    unexplained: list[str] = []
    for scenario in SCENARIOS:
        name = scenario.__name__
        why = WHY.get(name, {})
        their, our = theirs[name], ours[name]
        same = {part: _alike(their[part], our[part]) for part in PARTS}
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


def _alike(their: object, our: object) -> bool:
    """Whether two outcomes are the same but for the last digits of numbers."""
    if isinstance(their, dict) and isinstance(our, dict):
        a, b = cast("Outcome", their), cast("Outcome", our)
        return a.keys() == b.keys() and all(_alike(a[name], b[name]) for name in a)
    if isinstance(their, list) and isinstance(our, list):
        x, y = cast("list[object]", their), cast("list[object]", our)
        return len(x) == len(y) and all(map(_alike, x, y))
    if isinstance(their, float) and isinstance(our, float):
        return math.isclose(their, our, rel_tol=1e-5, abs_tol=1e-6)
    if isinstance(their, str) and isinstance(our, str) and their != our:
        return _alike(_parts(their), _parts(our)) if "." in their else False
    return their == our


def _parts(line: str) -> list[object]:
    """A line's numbers with a point as numbers, and what stands between them."""
    pieces = re.split(r"(-?\d+\.\d+(?:e[-+]\d+)?)", line)
    return [float(piece) if index % 2 else piece for index, piece in enumerate(pieces)]


if __name__ == "__main__":
    main()
