"""The exact error messages of saving, loading and conversion."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minispore.common import Parameter, Tensor
from minispore.nn.cell import Cell
from minispore.train.serialization import (
    ckpt_to_safetensors,
    load_checkpoint,
    load_checkpoint_async,
    load_param_into_net,
    save_checkpoint,
)
from tests.helpers.refusals import assert_refused, not_of, type_message

Row = tuple[dict[str, object], type[Exception], str]


class Net(Cell):
    """A network with one parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.p = parameter(1.0)


def parameter(value: object, name: str = "p") -> Parameter:
    return Parameter(Tensor(value), name=name)


def ending(form: str, name: str) -> str:
    return f"the name of a file of the format '{form}' must end with '.{form}', but got '{name}'."


def nothing(name: str) -> str:
    return (
        f"no value is loaded from the checkpoint file '{name}': it has none, or 'specify_prefix', "
        "'filter_prefix' or 'choice_func' exclude all."
    )


def prefixes(name: str, actual: str) -> str:
    return f"the argument '{name}' must be a str, or a list or tuple of str, but got {actual}."


ONE = Tensor(1)
OBJECT = "the argument 'save_obj' must be a Cell, list, tuple or dict, but got "
IN_DICT = "the value of 'x' in the dict 'save_obj' must be a Parameter, a Tensor or a str, but got "
ELEMENT = (
    "an element of the list 'save_obj' must be a Parameter or "
    "{'name': str, 'data': Parameter or Tensor}, but got "
)
APPENDED = (
    "the value of 'k' in 'append_dict' must be an int, float, bool, str, Parameter or Tensor, "
    "but got "
)
WAYS = "the argument 'async_save' must be one of True, False, 'thread', 'process', but got "
FORMATS = "the argument 'format' must be one of 'ckpt', 'safetensors', but got 'pt'."
SAVING: list[Row] = [
    ({"save_obj": None}, TypeError, f"{OBJECT}NoneType."),
    ({"save_obj": ONE}, TypeError, f"{OBJECT}Tensor."),
    ({"save_obj": [1]}, TypeError, f"{ELEMENT}1."),
    ({"save_obj": [ONE]}, TypeError, f"{ELEMENT}{ONE!r}."),
    ({"save_obj": [{"data": ONE}]}, TypeError, f"{ELEMENT}{{'data': {ONE!r}}}."),
    ({"save_obj": [{"name": "x", "data": 3}]}, TypeError, f"{ELEMENT}{{'name': 'x', 'data': 3}}."),
    ({"save_obj": [{"name": 3, "data": ONE}]}, TypeError, "a name must be a str, but got 3."),
    ({"save_obj": [{"name": "", "data": ONE}]}, ValueError, "a name must not be empty."),
    ({"save_obj": {3: ONE}}, TypeError, "a name must be a str, but got 3."),
    ({"save_obj": {"": ONE}}, ValueError, "a name must not be empty."),
    ({"save_obj": {"x": 3}}, TypeError, f"{IN_DICT}int."),
    ({"save_obj": [parameter(1), parameter(2)]}, ValueError, "two parameters have the name 'p'."),
    ({"async_save": "later"}, ValueError, f"{WAYS}'later'."),
    ({"append_dict": {"k": None}}, TypeError, f"{APPENDED}NoneType."),
    ({"append_dict": {"k": np.float32(1)}}, TypeError, f"{APPENDED}float32."),
    ({"append_dict": {3: 3}}, TypeError, "a name must be a str, but got 3."),
    ({"append_dict": {"": 1}}, ValueError, "a name must not be empty."),
    ({"append_dict": {"k": 2**63}}, ValueError, f"'k' must fit in int64, but got {2**63}."),
    (
        {"append_dict": {"k": -(2**63) - 1}},
        ValueError,
        f"'k' must fit in int64, but got {-(2**63) - 1}.",
    ),
    (
        {"enc_key": b"16"},
        NotImplementedError,
        "'enc_key' must be None: minispore has no encryption.",
    ),
    ({"format": "pt"}, ValueError, FORMATS),
    ({"z": 3, "a": 3, "global_step_num": 3}, TypeError, "there is no argument 'a', 'z'."),
]
LOADING: list[Row] = [
    ({"ckpt_file_name": "no.ckpt"}, ValueError, "the checkpoint file 'no.ckpt' does not exist."),
    ({"ckpt_file_name": "d.ckpt"}, ValueError, "the checkpoint file 'd.ckpt' is a folder."),
    ({"ckpt_file_name": "x"}, ValueError, ending("ckpt", "x")),
    ({"format": "safetensors"}, ValueError, ending("safetensors", "x.ckpt")),
    ({"ckpt_file_name": "empty.ckpt"}, ValueError, nothing("empty.ckpt")),
    ({"specify_prefix": "zzz"}, ValueError, nothing("x.ckpt")),
    ({"choice_func": str.isupper}, ValueError, nothing("x.ckpt")),
    ({"filter_prefix": 3}, TypeError, prefixes("filter_prefix", "3")),
    ({"specify_prefix": ["a", 3]}, TypeError, prefixes("specify_prefix", "['a', 3]")),
    ({"specify_prefix": ""}, ValueError, "the argument 'specify_prefix' must not be empty."),
    ({"specify_prefix": ("a", "")}, ValueError, "the argument 'specify_prefix' must not be empty."),
    ({"filter_prefix": []}, ValueError, "the argument 'filter_prefix' must not be empty."),
    (
        {"dec_key": b"16"},
        NotImplementedError,
        "'dec_key' must be None: minispore has no encryption.",
    ),
    ({"format": "pt"}, ValueError, FORMATS),
]
BY_NAME = "the argument 'parameter_dict' must hold Parameters by name, but got "
INTO_NET: list[Row] = [
    (
        {"parameter_dict": [1]},
        TypeError,
        "the argument 'parameter_dict' must be a dict, but got list.",
    ),
    ({"parameter_dict": {"a": ONE}}, TypeError, f"{BY_NAME}'a': Tensor."),
    ({"parameter_dict": {3: parameter(1)}}, TypeError, f"{BY_NAME}3: Parameter."),
]
FITTING = "there must be a '.ckpt' file in 'file_path' that 'file_name_regex' matches, but got "
REGEX = "the argument 'file_name_regex' is not a regular expression: "
CONVERTING: list[Row] = [
    ({"file_path": "no"}, ValueError, "there is no file or folder 'no'."),
    ({"file_path": "y.txt"}, ValueError, "the file 'y.txt' must end with '.ckpt'."),
    ({"file_path": "empty"}, ValueError, f"{FITTING}'empty' and None."),
    ({"file_name_regex": "z"}, ValueError, f"{FITTING}'x.ckpt' and 'z'."),
    (
        {"file_name_regex": "("},
        ValueError,
        f"{REGEX}missing ), unterminated subpattern at position 0.",
    ),
    ({"save_path": "y.txt"}, ValueError, "the argument 'save_path' must be a folder, not 'y.txt'."),
    (
        {"name_map": {"a": 3}},
        TypeError,
        type_message("ckpt_to_safetensors", "a name in name_map", "str", 3)[
            len("For 'ckpt_to_safetensors', ") :
        ],
    ),
    (
        {"name_map": {3: "a"}},
        TypeError,
        type_message("ckpt_to_safetensors", "a name in name_map", "str", 3)[
            len("For 'ckpt_to_safetensors', ") :
        ],
    ),
    ({"name_map": {"p": "q"}}, ValueError, "'name_map' gives two values of 'x.ckpt' the name 'q'."),
    (
        {"processes_num": 0},
        ValueError,
        "the argument 'processes_num' must be at least 1, but got 0.",
    ),
]


def arguments_of(call: Callable[..., object]) -> dict[str, object]:
    """Return valid arguments of the function."""
    if call is save_checkpoint:
        return {"save_obj": Net(), "ckpt_file_name": "new"}
    if call is load_param_into_net:
        return {"net": Net(), "parameter_dict": {}}
    return {"file_path" if call is ckpt_to_safetensors else "ckpt_file_name": "x.ckpt"}


def rows() -> list[tuple[Callable[..., object], dict[str, object], type[Exception], str]]:
    tables: dict[Callable[..., object], list[Row]] = {
        save_checkpoint: SAVING,
        load_checkpoint: LOADING,
        load_param_into_net: INTO_NET,
        ckpt_to_safetensors: CONVERTING,
    }
    return [(call, *row) for call, table in tables.items() for row in table]


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


@pytest.mark.parametrize(("call", "changes", "error", "message"), rows())
def test_invalid_call_raises_exact_message(
    folder: Path,
    call: Callable[..., object],
    changes: dict[str, object],
    error: type[Exception],
    message: str,
) -> None:
    before = set(folder.iterdir())
    message = f"For '{call.__name__}', {message}"
    assert_refused(error, message, call, **arguments_of(call) | changes)
    assert set(folder.iterdir()) == before


def test_async_load_raises_same_errors(folder: Path) -> None:
    others = {"crc_check", "remove_redundancy", "format"}
    for changes, error, message in LOADING:
        if not changes.keys() & others:
            future = load_checkpoint_async(**(arguments_of(load_checkpoint) | changes))  # type: ignore[arg-type]
            with pytest.raises(error) as caught:
                future.result()
            said = str(caught.value).replace(f"{folder}{os.sep}", "")
            assert said == f"For 'load_checkpoint', {message}"
    reason = "^For 'load_checkpoint_async', the type of 'ckpt_file_name' must be one of str, PathLi"
    with pytest.raises(TypeError, match=reason):
        load_checkpoint_async(5)  # type: ignore[arg-type]
