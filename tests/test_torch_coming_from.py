"""The PyTorch program of the page for those who come from elsewhere runs."""

from pathlib import Path
from typing import cast

import pytest

from .test_coming_from import run


def test_pytorchs_loop_ends_and_keeps_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cast("int", run("PyTorch")["epoch"]) < 50
    assert (tmp_path / "best.pt").is_file()
