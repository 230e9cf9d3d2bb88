"""mypy accepts the files of this folder, and finds each error that they expect."""

from pathlib import Path

import pytest

from tests.helpers.processes import run_python

FOLDER = Path(__file__).parent


@pytest.mark.full
def test_mypy_finds_the_expected_types_and_errors(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    run_python("-m", "mypy", f"--cache-dir={tmp_path}", FOLDER, folder=FOLDER.parents[1])
