"""The example scripts run as a person would run them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.name)
def test_an_example_runs_without_a_warning(script: Path, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    if script.name == "tutorial.py":
        check_tutorial(run.stdout, tmp_path / "tutorial")


def check_tutorial(printed: str, folder: Path) -> None:
    files = {file.name for file in folder.iterdir() if file.is_file()}
    assert {"digits-1_100.ckpt", "digits-1_188.ckpt", "digits-graph.meta", "best.ckpt"} <= files
    assert re.search(r"^epoch: 1 step: 50, loss is \d\.\d+$", printed, re.MULTILINE)
    assert re.search(
        r"^Eval result: epoch 2, metrics: {'accuracy': 0\.\d+}$", printed, re.MULTILINE
    )
    assert "time is up in epoch " in printed
    assert set(re.findall(r"saved (\S+)", printed)) == {f for f in files if f.startswith("low-")}
    best = re.search(r"the best network reads (\d+\.\d)%", printed)
    assert best
    assert float(best[1]) > 80
