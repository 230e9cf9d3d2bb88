"""Expressions have the outcomes that MindSpore gives them, except where another is meant.

The outcomes are kept in `oracle.txt`. Where MINISPORE_MINDSPORE_PYTHON names a Python that has
MindSpore, it is also asked whether it still gives them.
"""

import os
import subprocess
from pathlib import Path

import pytest

from minispore.common import context, seed

from .oracle import FILE, Entry, outcome, read

ENTRIES = list(read(FILE.read_text("utf-8").splitlines()))


@pytest.fixture(autouse=True)
def _own_context_and_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "_settings", dict(context._settings))
    monkeypatch.setattr(seed, "_seed", [None])
    monkeypatch.setattr(seed, "_streams", {})


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.expression)
def test_outcome(entry: Entry) -> None:
    assert outcome("minispore", entry.expression) == entry.ours


def test_the_file_is_read_to_its_end() -> None:
    lines = FILE.read_text("utf-8").splitlines()
    at_the_margin = [line for line in lines if line and line[0] not in "# "]
    assert [entry.expression for entry in ENTRIES] == at_the_margin
    assert len(ENTRIES) > 1000
    assert all(entry.theirs for entry in ENTRIES)


def test_a_difference_is_written_down_only_where_there_is_one() -> None:
    differences = sum("    here: " in line for line in FILE.read_text("utf-8").splitlines())
    assert differences == sum(entry.ours != entry.theirs for entry in ENTRIES)


@pytest.mark.skipif(
    "MINISPORE_MINDSPORE_PYTHON" not in os.environ, reason="no MINISPORE_MINDSPORE_PYTHON"
)
def test_mindspore_gives_these_outcomes() -> None:
    text = FILE.read_text("utf-8")
    script = str(Path(__file__).with_name("oracle.py"))
    run = subprocess.run(
        [os.environ["MINISPORE_MINDSPORE_PYTHON"], script, "mindspore"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "GLOG_v": "4"},
    )
    assert run.stdout.splitlines() == text.splitlines()
