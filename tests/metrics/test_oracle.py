"""Metrics have the outcomes that MindSpore's have, except where another is meant.

The outcomes are kept in `oracle.txt`. Where MINISPORE_MINDSPORE_PYTHON names a Python that has
MindSpore, it is also asked whether it still gives them.
"""

import os
import subprocess
from pathlib import Path

import pytest

from ..common.oracle import Entry, read
from .oracle import FILE, outcome

ROOT = Path(__file__).parents[2]
ENTRIES = list(read(FILE.read_text("utf-8").splitlines()))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.expression)
def test_outcome(entry: Entry) -> None:
    assert outcome("minispore", entry.expression) == entry.ours


def test_the_file_is_read_to_its_end() -> None:
    lines = FILE.read_text("utf-8").splitlines()
    at_the_margin = [line for line in lines if line and line[0] not in "# "]
    assert [entry.expression for entry in ENTRIES] == at_the_margin
    assert len(ENTRIES) > 700
    assert all(entry.theirs for entry in ENTRIES)


def test_a_difference_is_written_down_only_where_there_is_one() -> None:
    differences = sum("    here: " in line for line in FILE.read_text("utf-8").splitlines())
    assert differences == sum(entry.ours != entry.theirs for entry in ENTRIES)


@pytest.mark.skipif(
    "MINISPORE_MINDSPORE_PYTHON" not in os.environ, reason="no MINISPORE_MINDSPORE_PYTHON"
)
def test_mindspore_gives_these_outcomes() -> None:
    text = FILE.read_text("utf-8")
    run = subprocess.run(
        [os.environ["MINISPORE_MINDSPORE_PYTHON"], "-m", "tests.metrics.oracle", "mindspore"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "GLOG_v": "4"},
    )
    assert run.stdout.splitlines() == text.splitlines()
