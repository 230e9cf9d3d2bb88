"""`python -m benchmarks.size` prints the size of the package, the same in each run."""

import re
from pathlib import Path

import pytest

from benchmarks.size import code_lines, line_kinds, package_sizes
from tests.helpers.processes import run_python

ROOT = Path(__file__).parents[2]


def run() -> str:
    return run_python("-m", "benchmarks.size", folder=ROOT).stdout


@pytest.mark.full
def test_report_is_deterministic_and_complete() -> None:
    report = run()
    assert run() == report
    sizes = package_sizes()
    assert all(f"| {name} " in report for name in sizes)
    files, lines = map(sum, zip(*sizes.values(), strict=True))
    assert re.search(rf"^\| total +\| +{files} \| +{lines} \|$", report, re.MULTILINE)
    step = dict(re.findall(r"^\| (\S+\.py) +\| +(\d+) \|$", report, re.MULTILINE))
    total = sum(map(int, step.values()))
    assert f"One training step runs {total} code lines in {len(step)} files:" in report
    order = list(step)
    assert order.index("train/loop.py") < order.index("nn/cell.py") < order.index("engine/graph.py")
    assert order.index("engine/graph.py") < order.index("nn/optim/optimizer.py")


def test_code_lines_exclude_docstrings_comments_and_blanks() -> None:
    source = '''"""Module."""

# A comment.
class A:
    """Class."""

    def f(self):  # counted once
        """Function,

        of several lines.
        """
        return [
            1,  # counted

            "a string that is no docstring",
        ]
'''
    assert code_lines(source) == {4, 7, 12, 13, 15, 16}


def test_each_code_line_is_of_one_kind() -> None:
    source = '''"""Module."""
import os

TABLE = [
    1,
]


@overload
def f(x): ...
def f(
    x,
):
    """Function."""
    check_int(x)
    if x < 0:
        raise ValueError
    count = 1
    return count
'''
    expected = {"imports": 1, "tables": 3, "signatures": 5, "checks": 3, "logic": 2}
    assert line_kinds(source) == expected
    assert line_kinds(source).total() == len(code_lines(source))
