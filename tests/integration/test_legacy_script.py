"""A script in MindSpore's older style runs with the package renamed, and prints the same."""

import contextlib
import io
import os
from pathlib import Path

import pytest

from tests.helpers.processes import run

# In the style of the older model zoo: with operation objects, its own loss and training step, and
# MindSpore's import paths.
SCRIPT = Path(__file__).with_name("legacy_script.txt").read_text("utf-8")
PYTHON = os.environ.get("MINISPORE_MINDSPORE_PYTHON", "")
PRINTED = """\
step 1 1.0986
step 2 1.1046
step 3 1.0874
step 4 1.0665
step 5 1.0930
step 6 1.0318
[]
0.0
[0.315 0.163]
[0 0] (2, 4, 2)
"""


@pytest.fixture
def _in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_in_its_folder")
def test_mindspore_script_runs_with_package_renamed() -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(SCRIPT.replace("mindspore", "minispore"), "<script>", "exec"), {})
    assert out.getvalue() == PRINTED


@pytest.mark.usefixtures("_in_its_folder")
@pytest.mark.skipif(not PYTHON, reason="no MINISPORE_MINDSPORE_PYTHON")
def test_mindspore_prints_the_same(tmp_path: Path) -> None:
    # MindSpore's compiler reads the source of functions.
    file = tmp_path / "script.py"
    file.write_text(SCRIPT, "utf-8")
    assert run(PYTHON, file, environment={"GLOG_v": "4"}).stdout == PRINTED
