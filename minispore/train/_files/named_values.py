"""What is to be saved, and how: MindSpore's forms of both, checked."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from minispore import _dtype as dtypes
from minispore._checks import check_one_of, check_type
from minispore.common import Parameter, Tensor
from minispore.nn.cell import Cell
from minispore.train._files.stored import Value

FORMATS = ("ckpt", "safetensors")
Values = dict[str, Tensor | Value]


def values_of(save_obj: object) -> Values:
    """Names and values of a cell, list, tuple or dict, in its order."""
    if isinstance(save_obj, Cell):
        return _unique((parameter.name, parameter) for parameter in save_obj.get_parameters())
    if isinstance(save_obj, list | tuple):
        return _unique(_named(item) for item in cast("Sequence[object]", save_obj))
    if isinstance(save_obj, Mapping):
        pairs = cast("Mapping[object, object]", save_obj)
        return {_name(name): _value(name, value) for name, value in pairs.items()}
    raise TypeError(
        "For 'save_checkpoint', the argument 'save_obj' must be a Cell, list, tuple or dict, "
        f"but got {type(save_obj).__name__}."
    )


def appended(append_dict: object, owner: str = "save_checkpoint") -> Values:
    """The values of an `append_dict`, with the dtypes that MindSpore stores them in."""
    check_type(append_dict, Mapping, "append_dict", owner, none=True)
    items = cast("Mapping[object, object]", append_dict or {}).items()
    return {_name(name, owner): _scalar(name, value, owner) for name, value in items}


def on_host(values: Values) -> Iterator[tuple[str, Value]]:
    """The values as numpy arrays, one at a time."""
    for name, value in values.items():
        yield name, value.asnumpy() if isinstance(value, Tensor) else value


def snapshot(values: Values) -> dict[str, Value]:
    """The values as they are now, in memory of their own."""
    return {
        name: value if isinstance(value, str) else np.array(value, order="C")
        for name, value in on_host(values)
    }


def check_storage(
    owner: str,
    async_save: object,
    key: object,
    mode: object,
    crc_check: object,
    format: object,
) -> None:
    """Check what saving, loading and `CheckpointConfig` have in common; refuse what is missing."""
    prefix = "dec" if owner == "load_checkpoint" else "enc"
    check_type(async_save, (bool, str), "async_save", owner)
    check_type(key, bytes, f"{prefix}_key", owner, none=True)
    check_type(mode, str, f"{prefix}_mode", owner)
    check_type(crc_check, bool, "crc_check", owner)
    check_one_of(format, FORMATS, "format", owner)
    check_one_of(async_save, (True, False, "thread", "process"), "async_save", owner)
    if key is not None:
        raise NotImplementedError(
            f"For '{owner}', '{prefix}_key' must be None: minispore has no encryption."
        )


def _unique(items: Iterable[tuple[str, Tensor]]) -> Values:
    """The items as a dict; two values of one name would lose one of them."""
    found: Values = {}
    for name, value in items:
        if found.setdefault(name, value) is not value:
            raise ValueError(f"For 'save_checkpoint', two parameters have the name {name!r}.")
    return found


def _named(item: object) -> tuple[str, Tensor]:
    if isinstance(item, Parameter):
        return item.name, item
    if isinstance(item, Mapping):
        pair = cast("Mapping[object, object]", item)
        data = pair.get("data")
        if "name" in pair and isinstance(data, Tensor):
            return _name(pair["name"]), data
    raise TypeError(
        "For 'save_checkpoint', an element of the list 'save_obj' must be a Parameter or "
        f"{{'name': str, 'data': Parameter or Tensor}}, but got {item!r}."
    )


def _name(name: object, owner: str = "save_checkpoint") -> str:
    if not isinstance(name, str):
        raise TypeError(f"For '{owner}', a name must be a str, but got {name!r}.")
    if not name:
        raise ValueError(f"For '{owner}', a name must not be empty.")
    return name


def _value(name: object, value: object) -> Tensor | Value:
    if isinstance(value, Tensor | str):
        return value
    if isinstance(value, np.ndarray):
        array = cast("npt.NDArray[np.generic]", value)
        dtypes.of(array.dtype.newbyteorder("="))
        return array
    raise TypeError(
        f"For 'save_checkpoint', the value of {name!r} in the dict 'save_obj' must be a "
        f"Parameter, a Tensor or a str, but got {type(value).__name__}."
    )


def _scalar(name: object, value: object, owner: str) -> Tensor | Value:
    """A value of an `append_dict`: Python's numbers as Int64, Float32 and Bool."""
    if isinstance(value, Tensor | str):
        return value
    if isinstance(value, bool):
        return np.array(value)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise ValueError(f"For '{owner}', {name!r} must fit in int64, but got {value}.")
        return np.array(value, np.int64)
    if isinstance(value, float):
        with np.errstate(over="ignore"):
            return np.array(value).astype(np.float32)
    raise TypeError(
        f"For '{owner}', the value of {name!r} in 'append_dict' must be an int, float, "
        f"bool, str, Parameter or Tensor, but got {type(value).__name__}."
    )
