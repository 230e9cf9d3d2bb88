"""The PyTorch program of the page for users of other frameworks."""

from pathlib import Path
from typing import cast

import pytest

from tests.docs.test_coming_from import run


def test_pytorch_loop_stops_and_saves_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cast("int", run("PyTorch")["epoch"]) < 50
    assert (tmp_path / "best.pt").is_file()
