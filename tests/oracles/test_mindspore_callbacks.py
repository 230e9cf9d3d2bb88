"""A program prints the same lines with the callbacks of minispore and of MindSpore.

The lines of MindSpore 2.10 are recorded in `fixtures/callbacks.txt`. To compare them with those of
an installed MindSpore, set the path of a Python that has it:

    MINISPORE_MINDSPORE_PYTHON=path/to/python pytest tests/oracles/test_mindspore_callbacks.py
"""

import os
import sys
from pathlib import Path

import pytest

from tests.helpers.processes import run

PYTHON = os.environ.get("MINISPORE_MINDSPORE_PYTHON")
ROOT = Path(__file__).parents[2]
PRINTED = Path(__file__).parents[1] / "train" / "fixtures" / "callbacks.txt"

# Without what MindSpore does wrong, which docs/compatibility.md lists: a value of 0, a baseline, a
# patience of 0, restoring weights when nothing stopped the run, and names of values.
PROGRAM = Path(__file__).with_name("mindspore_callbacks.txt").read_text("utf-8")


def printed_by(python: str, package: str, folder: Path) -> str:
    # MindSpore writes files into the working folder.
    done = run(python, "-c", PROGRAM, package, folder=folder, environment={"PYTHONPATH": str(ROOT)})
    return done.stdout


def test_output_matches_recorded_mindspore_output(tmp_path: Path) -> None:
    assert printed_by(sys.executable, "minispore", tmp_path) == PRINTED.read_text("utf-8")


@pytest.mark.skipif(not PYTHON, reason="MINISPORE_MINDSPORE_PYTHON is not set")
def test_mindspore_output_matches_recording(tmp_path: Path) -> None:
    assert printed_by(str(PYTHON), "mindspore", tmp_path) == PRINTED.read_text("utf-8")
