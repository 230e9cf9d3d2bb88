"""mypy accepts the files of this folder, and finds each error that they expect."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


@pytest.mark.full
def test_mypy_finds_the_expected_types_and_errors(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    command = ["-m", "mypy", f"--cache-dir={tmp_path}", str(FOLDER)]
    run = subprocess.run(
        [sys.executable, *command],
        cwd=FOLDER.parents[1],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert run.returncode == 0, run.stdout
