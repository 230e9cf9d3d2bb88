"""Save checkpoint files, synchronously or in a thread."""

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import NoneType

import numpy as np

from minispore.common import Parameter, Tensor
from minispore.engine import dtypes
from minispore.engine.array import is_ndarray
from minispore.nn.cell import Cell
from minispore.train.checkpoint import checkpoint_file, safetensors_file
from minispore.train.checkpoint.async_writer import background
from minispore.train.checkpoint.storage import Content, Value, by_unique_name
from minispore.utils.atomic import atomic_write
from minispore.utils.checks import (
    caller,
    check_function,
    check_one_of,
    check_type,
    is_mapping,
    is_sequence,
)

# As in MindSpore: the owner may read a checkpoint.
PERMISSIONS = 0o400
# Arguments of MindSpore that have no effect here.
_IGNORED = {"global_step_num", "remove_redundancy"}
_FORMATS = ("ckpt", "safetensors")
_TWICE = "For 'save_checkpoint', two parameters have"
_Values = dict[str, Tensor | Value]


def save_checkpoint(
    save_obj: Cell | Sequence[Parameter] | Sequence[Mapping[str, object]] | Mapping[str, object],
    ckpt_file_name: str | os.PathLike[str],
    integrated_save: bool = True,
    async_save: bool | str = False,
    append_dict: Mapping[str, object] | None = None,
    enc_key: bytes | None = None,
    enc_mode: str = "AES-GCM",
    choice_func: Callable[[str], bool] | None = None,
    crc_check: bool = False,
    format: str = "ckpt",
    **kwargs: object,
) -> None:
    """Write parameters to a file that MindSpore can load too.

    Writing is atomic: if the process is killed or the disk is full, the previous file remains. The
    parameters are not copied in memory, unless the file is written in a thread.

    Args:
        save_obj: A cell, whose parameters are saved under their names; a list or tuple of
            Parameters or of ``{"name": str, "data": Parameter or Tensor}``; or a dict of values by
            name, as `load_checkpoint` returns it.
        ckpt_file_name: The file; the ending of its format is added if it is missing. An
            existing file is replaced. The folder must exist; if it is removed while a thread
            writes the file, it is created again.
        integrated_save: Has no effect; it is for networks that are split over devices.
        async_save: Whether to copy the parameters and write the file in a thread: True, or
            MindSpore's "thread" or "process" (which is a thread, too). The next save waits for it;
            see `wait_for_saves`.
        append_dict: More values by name: int (stored as Int64), float (as Float32), bool,
            str, Parameter or Tensor. They replace parameters of the same name.
        enc_key: Must be None: encryption is not supported.
        enc_mode: Has no effect.
        choice_func: Returns whether to save the value of a name. By default all are saved.
        crc_check: Whether to add a checksum, by which loading detects changed content.
        format: "ckpt" or "safetensors", which cannot hold texts.
        **kwargs: MindSpore's `remove_redundancy` and `global_step_num`, which have no effect.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: Two parameters have the same name, `format` is unknown, or the format cannot
            hold a value; and, as in MindSpore, `enc_key`, `enc_mode` or `crc_check` has the wrong
            type.
        NotImplementedError: `enc_key` is not None.
        OSError: The file cannot be written.
        Exception: The error of the previous save, if a thread has written it; nothing is saved.

    Examples:
        >>> import tempfile
        >>> from minispore import nn
        >>> from minispore.train import load_checkpoint
        >>> folder = tempfile.TemporaryDirectory()
        >>> net = nn.Dense(3, 2)
        >>> save_checkpoint(net, folder.name + "/net", append_dict={"epoch": 3})
        >>> os.listdir(folder.name)
        ['net.ckpt']
        >>> load_checkpoint(folder.name + "/net.ckpt")["epoch"].item()
        3
        >>> folder.cleanup()

    Source: MindSpore's `mindspore.save_checkpoint`.
    """
    if kwargs.keys() - _IGNORED:
        names = ", ".join(map(repr, sorted(kwargs.keys() - _IGNORED)))
        raise TypeError(f"For '{caller()}', there is no argument {names}.")
    check_type(ckpt_file_name, (str, os.PathLike), "ckpt_file_name")
    check_type(integrated_save, bool, "integrated_save")
    check_storage("enc", async_save, enc_key, enc_mode, crc_check, format)
    values = _values_of(save_obj) | normalize_append_dict(append_dict)
    check_function(choice_func, "choice_func", optional=True)
    if choice_func is not None:
        values = {name: value for name, value in values.items() if choice_func(name)}
    path = os.fspath(ckpt_file_name)
    if not path or os.path.isdir(path):
        message = "The checkpoint file's name is that of a folder"
        raise IsADirectoryError(errno.EISDIR, message, path or ".")
    path = path if path.endswith(f".{format}") else f"{path}.{format}"
    # Before the arrays are copied, so that there is at most one set of copies.
    background.wait()
    if async_save:
        copies = _snapshot(values)
        full = os.path.abspath(path)  # the current folder may change before the thread writes
        folder = os.path.dirname(full)
        exists = os.path.isdir(folder)

        def write() -> None:
            try:
                write_file(full, copies.items(), crc_check, format)
            except FileNotFoundError:
                if not exists:
                    raise
                os.makedirs(folder, exist_ok=True)  # it was removed in the meantime
                write_file(full, copies.items(), crc_check, format)

        background.start(full, write)
    else:
        write_file(path, _on_host(values), crc_check, format)


def write_file(
    path: str, values: Iterable[tuple[str, Value | Content]], crc_check: bool, format_: str
) -> None:
    """Write named values to a file of the given format."""
    write = safetensors_file.write if format_ == "safetensors" else checkpoint_file.write
    with atomic_write(path, PERMISSIONS) as file:
        write(file, values, crc_check=crc_check)


def wait_for_saves() -> None:
    """Wait until the file that a thread is saving is written.

    MindSpore has no such function, only `async_ckpt_thread_status`.

    Raises:
        Exception: The error of that save. It is raised once, here or by the next save; otherwise
            it is printed when the program ends.

    Examples:
        >>> import tempfile
        >>> from minispore import nn
        >>> folder = tempfile.TemporaryDirectory()
        >>> save_checkpoint(nn.Dense(3, 2), folder.name + "/net", async_save=True)
        >>> wait_for_saves()
        >>> os.listdir(folder.name)
        ['net.ckpt']
        >>> folder.cleanup()
    """
    background.wait()


def async_ckpt_thread_status() -> bool:
    """Return whether a thread is saving a file.

    Returns:
        True until the file of the last `save_checkpoint(..., async_save=True)` is written.

    Examples:
        >>> async_ckpt_thread_status()
        False

    Source: MindSpore's `mindspore.async_ckpt_thread_status`.
    """
    return background.is_writing()


def _values_of(save_obj: object) -> _Values:
    """Return the values of a cell, list, tuple or dict by name, in its order."""
    if isinstance(save_obj, Cell):
        return by_unique_name(((item.name, item) for item in save_obj.get_parameters()), _TWICE)
    if is_sequence(save_obj):
        return by_unique_name(map(_named, save_obj), _TWICE)
    if is_mapping(save_obj):
        return {_name(name): _value(name, value) for name, value in save_obj.items()}
    raise TypeError(
        "For 'save_checkpoint', the argument 'save_obj' must be a Cell, list, tuple or dict, "
        f"but got {type(save_obj).__name__}."
    )


def normalize_append_dict(append_dict: object) -> _Values:
    """Return the values of an `append_dict` with the dtypes that MindSpore stores."""
    check_type(append_dict, (Mapping, NoneType), "append_dict")
    items = append_dict.items() if is_mapping(append_dict) else ()
    return {_name(name): _scalar(name, value) for name, value in items}


def _on_host(values: _Values) -> Iterator[tuple[str, Value]]:
    """Yield the values as numpy arrays, one at a time."""
    for name, value in values.items():
        yield name, value.asnumpy() if isinstance(value, Tensor) else value


def _snapshot(values: _Values) -> dict[str, Value]:
    """Return copies of the values."""
    return {
        name: value if isinstance(value, str) else np.array(value, order="C")
        for name, value in _on_host(values)
    }


def check_storage(
    prefix: str, async_save: object, key: object, mode: object, crc_check: object, format: object
) -> None:
    """Check the arguments that saving, loading and `CheckpointConfig` have in common."""
    check_type(async_save, (bool, str), "async_save")
    check_kind(key, (bytes, NoneType), f"{prefix}_key")
    check_kind(mode, str, f"{prefix}_mode")
    check_kind(crc_check, bool, "crc_check")
    check_one_of(format, _FORMATS, "format")
    check_one_of(async_save, (True, False, "thread", "process"), "async_save")
    if key is not None:
        raise NotImplementedError(
            f"For '{caller()}', '{prefix}_key' must be None: minispore has no encryption."
        )


def check_kind(value: object, kind: type | tuple[type, ...], name: str) -> None:
    """Raise ValueError, as MindSpore does for some arguments, if a value has another type."""
    try:
        check_type(value, kind, name)
    except TypeError as error:
        raise ValueError(str(error)) from None


def _named(item: object) -> tuple[str, Tensor]:
    if isinstance(item, Parameter):
        return item.name, item
    if is_mapping(item):
        data = item.get("data")
        if "name" in item and isinstance(data, Tensor):
            return _name(item["name"]), data
    raise TypeError(
        "For 'save_checkpoint', an element of the list 'save_obj' must be a Parameter or "
        f"{{'name': str, 'data': Parameter or Tensor}}, but got {item!r}."
    )


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"For '{caller()}', a name must be a str, but got {name!r}.")
    if not name:
        raise ValueError(f"For '{caller()}', a name must not be empty.")
    return name


def _value(name: object, value: object) -> Tensor | Value:
    if isinstance(value, Tensor | str):
        return value
    if is_ndarray(value):
        dtypes.from_array_dtype(value.dtype.newbyteorder("="))
        return value
    raise TypeError(
        f"For 'save_checkpoint', the value of {name!r} in the dict 'save_obj' must be a "
        f"Parameter, a Tensor or a str, but got {type(value).__name__}."
    )


def _scalar(name: object, value: object) -> Tensor | Value:
    """Return a value of an `append_dict`: Python's numbers as Int64, Float32 and Bool."""
    if isinstance(value, Tensor | str):
        return value
    if isinstance(value, bool):
        return np.array(value)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise ValueError(f"For '{caller()}', {name!r} must fit in int64, but got {value}.")
        return np.array(value, np.int64)
    if isinstance(value, float):
        with np.errstate(over="ignore"):
            return np.array(value).astype(np.float32)
    raise TypeError(
        f"For '{caller()}', the value of {name!r} in 'append_dict' must be an int, float, "
        f"bool, str, Parameter or Tensor, but got {type(value).__name__}."
    )
