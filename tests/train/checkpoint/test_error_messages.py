"""The error messages of saving, loading and conversion."""

from pathlib import Path

import numpy as np
import pytest

from minispore.common import Parameter, Tensor
from minispore.nn.cell import Cell
from minispore.train import serialization
from minispore.train.serialization import load_checkpoint_async, save_checkpoint
from tests.helpers.refusals import Refusal, refusals

TABLE = Path(__file__).with_name("refusals.txt").read_text("utf-8")


class Net(Cell):
    """A network with one parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.p = parameter(1.0)


def parameter(value: object, name: str = "p") -> Parameter:
    return Parameter(Tensor(value), name=name)


NAMES: dict[str, object] = {
    **{name: getattr(serialization, name) for name in dir(serialization)},
    "Net": Net,
    "Tensor": Tensor,
    "np": np,
    "parameter": parameter,
}


def loaded_in_background(*args: object, **options: object) -> object:
    return load_checkpoint_async(*args, **options).result()  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create the files that the tables use, and return their folder."""
    monkeypatch.chdir(tmp_path)
    save_checkpoint([parameter(1.0), parameter(2.0, "q")], "x.ckpt")
    Path("y.txt").touch()
    Path("empty.ckpt").touch()
    Path("empty").mkdir()
    Path("d.ckpt").mkdir()
    return tmp_path


@pytest.mark.parametrize("refusal", refusals(TABLE))
def test_invalid_call_names_argument_and_value(folder: Path, refusal: Refusal) -> None:
    before = set(folder.iterdir())
    message = refusal.check(NAMES)
    assert message.startswith(f"For '{refusal.call.partition('(')[0]}', ")
    if "format=" not in refusal.call:
        refusal.check(NAMES | {"load_checkpoint": loaded_in_background})
    assert set(folder.iterdir()) == before


def test_async_load_checks_the_file_name_at_once() -> None:
    reason = "^For 'load_checkpoint_async', the type of 'ckpt_file_name' must be one of str, PathLi"
    with pytest.raises(TypeError, match=reason):
        load_checkpoint_async(5)  # type: ignore[arg-type]
