"""The error messages of saving, loading and conversion."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minispore.common import Parameter, Tensor
from minispore.nn.cell import Cell
from minispore.train import serialization
from minispore.train.serialization import (
    ckpt_to_safetensors,
    load_checkpoint,
    load_checkpoint_async,
    load_param_into_net,
    save_checkpoint,
)
from tests.helpers.refusals import Refusal, assert_refused, not_of, refusals, type_message

TABLE = Path(__file__).with_name("refusals.txt").read_text("utf-8")


class Net(Cell):
    """A network with one parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.p = parameter(1.0)


def parameter(value: object, name: str = "p") -> Parameter:
    return Parameter(Tensor(value), name=name)


def arguments_of(call: Callable[..., object]) -> dict[str, object]:
    """Return valid arguments of the function."""
    if call is save_checkpoint:
        return {"save_obj": Net(), "ckpt_file_name": "new"}
    if call is load_param_into_net:
        return {"net": Net(), "parameter_dict": {}}
    return {"file_path" if call is ckpt_to_safetensors else "ckpt_file_name": "x.ckpt"}


NAMES: dict[str, object] = {
    **vars(serialization),
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


PATH = "str, PathLike"
KEY = {"key": "bytes, None", "mode": "str"}
TYPES: dict[Callable[..., object], dict[str, str]] = {
    save_checkpoint: {
        "ckpt_file_name": PATH,
        "integrated_save": "bool",
        "async_save": "bool, str",
        "append_dict": "Mapping, None",
        "crc_check": "bool",
        **{f"enc_{name}": types for name, types in KEY.items()},
    },
    load_checkpoint: {
        "ckpt_file_name": PATH,
        "net": "Cell, None",
        "crc_check": "bool",
        "remove_redundancy": "bool",
        **{f"dec_{name}": types for name, types in KEY.items()},
    },
    load_param_into_net: {"net": "Cell", "strict_load": "bool", "remove_redundancy": "bool"},
    ckpt_to_safetensors: {
        "file_path": PATH,
        "file_name_regex": "str, None",
        "save_path": f"{PATH}, None",
        "name_map": "Mapping, None",
        "processes_num": "int",
    },
}


VALUE_ERRORS = {
    *[(save_checkpoint, name) for name in ("enc_key", "enc_mode", "crc_check")],
    *[
        (load_checkpoint, name)
        for name in ("dec_key", "dec_mode", "crc_check", "remove_redundancy")
    ],
}


@pytest.mark.parametrize("call", TYPES, ids=lambda call: call.__name__)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # no call changes a file
@given(data=st.data())
def test_type_error_names_argument_and_value(
    folder: Path, call: Callable[..., object], data: st.DataObject
) -> None:
    before = set(folder.iterdir())
    for name, types in TYPES[call].items():
        value = data.draw(not_of(types), name)
        message = type_message(call.__name__, name, types, value)
        error = ValueError if (call, name) in VALUE_ERRORS else TypeError  # as in MindSpore
        assert_refused(error, message, call, **arguments_of(call) | {name: value})
    assert set(folder.iterdir()) == before


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
