"""Save and load parameters: MindSpore's functions, its file formats, names and defaults."""

import errno
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from minispore._atomic import replacing
from minispore._checks import check_type
from minispore.common import Parameter, Tensor
from minispore.nn.cell import Cell
from minispore.train import _checkpoint_file, _safetensors_file
from minispore.train._checkpoint_file import Value
from minispore.train._load_into_net import load_param_into_net
from minispore.train._named_values import appended, check_storage, on_host, values_of
from minispore.train._protobuf import WireError

__all__ = ["load_checkpoint", "load_param_into_net", "save_checkpoint"]

# What MindSpore gives its checkpoints: to be read by their owner, and not to be written.
_PERMISSIONS = 0o400
_Choice = Callable[[str], bool]


def save_checkpoint(
    save_obj: Cell | Sequence[Parameter] | Sequence[Mapping[str, object]] | Mapping[str, object],
    ckpt_file_name: str | os.PathLike[str],
    integrated_save: bool = True,
    async_save: bool | str = False,
    append_dict: Mapping[str, object] | None = None,
    enc_key: bytes | None = None,
    enc_mode: str = "AES-GCM",
    choice_func: _Choice | None = None,
    crc_check: bool = False,
    format: str = "ckpt",
    **kwargs: object,
) -> None:
    """Write parameters to a file that MindSpore, too, can load.

    The file is there whole or not at all: a kill or a full disk leaves the one before it. No second
    copy of the parameters is made in memory.

    Source: mindspore.save_checkpoint.

    Args:
        save_obj: A cell, whose parameters are saved under their names; a list or tuple of
            Parameters or of ``{"name": str, "data": Parameter or Tensor}``; or a dict of values by
            name, as `load_checkpoint` returns it.
        ckpt_file_name: The file; the ending of its format is added where it is missing. An
            existing file is replaced. The folder must exist.
        integrated_save: Only for a network split over devices; has no effect.
        async_save: Must be False.
        append_dict: More values by name: int (stored as Int64), float (as Float32), bool,
            str, Parameter or Tensor. They take the place of parameters of the same name.
        enc_key: Must be None: encryption is not supported.
        enc_mode: Without a key it has no effect.
        choice_func: Gets a name and says whether to save it. By default all are saved.
        crc_check: Whether to end the file with a check sum, by which every changed byte is found
            on loading.
        format: "ckpt" or "safetensors" (which needs the package `safetensors`, and holds no texts).
        **kwargs: None are known.

    Raises:
        TypeError: An argument is of a wrong type.
        ValueError: Two parameters have the same name; an unknown `format`; a value that the file
            cannot hold.
        NotImplementedError: Encryption or asynchronous saving is asked for.
        OSError: The file cannot be written.

    Examples:
        >>> import tempfile
        >>> from minispore import nn
        >>> folder = tempfile.TemporaryDirectory()
        >>> net = nn.Dense(3, 2)
        >>> save_checkpoint(net, folder.name + "/net", append_dict={"epoch": 3})
        >>> os.listdir(folder.name)
        ['net.ckpt']
        >>> load_checkpoint(folder.name + "/net.ckpt")["epoch"].item()
        3
        >>> folder.cleanup()
    """
    owner = "save_checkpoint"
    if kwargs:
        raise TypeError(f"For '{owner}', there is no argument {', '.join(map(repr, kwargs))}.")
    check_type(ckpt_file_name, (str, os.PathLike), "ckpt_file_name", owner)
    check_type(integrated_save, bool, "integrated_save", owner)
    check_storage(owner, async_save, enc_key, enc_mode, crc_check, format)
    values = values_of(save_obj) | appended(append_dict)
    if choice_func is not None:
        values = {name: value for name, value in values.items() if choice_func(name)}
    path = os.fspath(ckpt_file_name)
    if not path or os.path.isdir(path):
        what = "The checkpoint file's name is that of a folder"
        raise IsADirectoryError(errno.EISDIR, what, path or ".")
    path = path if path.endswith(f".{format}") else f"{path}.{format}"
    with replacing(path, _PERMISSIONS) as file:
        if format == "safetensors":
            _safetensors_file.write(file, on_host(values))
        else:
            _checkpoint_file.write(file, on_host(values), crc_check=crc_check)


def load_checkpoint(
    ckpt_file_name: str | os.PathLike[str],
    net: Cell | None = None,
    strict_load: bool = False,
    filter_prefix: str | Sequence[str] | None = None,
    dec_key: bytes | None = None,
    dec_mode: str = "AES-GCM",
    specify_prefix: str | Sequence[str] | None = None,
    choice_func: _Choice | None = None,
    crc_check: bool = False,
    remove_redundancy: bool = False,
    format: str = "ckpt",
) -> dict[str, Parameter | str]:
    """Read a file that `save_checkpoint`, here or in MindSpore, has written.

    A check sum, where the file has one, is always checked. Without it all damage is found but
    changed bytes inside a parameter's content, and a cut exactly between two values.

    Source: mindspore.load_checkpoint.

    Args:
        ckpt_file_name: The file, with its ending.
        net: A network to set, by `load_param_into_net`.
        strict_load: As in `load_param_into_net`.
        filter_prefix: Values whose names begin so are not loaded.
        dec_key: Must be None: encryption is not supported.
        dec_mode: Without a key it has no effect.
        specify_prefix: Only values whose names begin so are loaded.
        choice_func: Gets a name and says whether to load it; of no effect beside a prefix.
        crc_check: Whether to warn where the file has no check sum.
        remove_redundancy: Only for a run of several processes; has no effect.
        format: "ckpt" or "safetensors".

    Returns:
        The values by name, in the file's order: Parameters, and the texts of an `append_dict`.

    Raises:
        TypeError: An argument is of a wrong type.
        ValueError: The file does not exist, is damaged or encrypted, or nothing was chosen; its
            ending is not that of `format`.
        NotImplementedError: Decryption is asked for.
        RuntimeError: A value does not fit in `net`, which is then unchanged.

    Examples:
        >>> import tempfile
        >>> from minispore import nn
        >>> folder = tempfile.TemporaryDirectory()
        >>> save_checkpoint(nn.Dense(3, 2), folder.name + "/net.ckpt")
        >>> load_checkpoint(folder.name + "/net.ckpt", choice_func=lambda name: name == "bias")
        {'bias': Parameter (name=bias, shape=(2,), dtype=Float32, requires_grad=True)}
        >>> folder.cleanup()
    """
    owner = "load_checkpoint"
    check_type(ckpt_file_name, (str, os.PathLike), "ckpt_file_name", owner)
    check_type(net, Cell, "net", owner, none=True)
    check_storage(owner, False, dec_key, dec_mode, crc_check, format)
    check_type(remove_redundancy, bool, "remove_redundancy", owner)
    path = os.fspath(ckpt_file_name)
    choose = _choice(specify_prefix, filter_prefix, choice_func)
    values = _read(path, choose, crc_check, format)
    if not values:
        raise ValueError(
            f"For '{owner}', no value is loaded from the checkpoint file '{path}': it has none, or "
            "'specify_prefix', 'filter_prefix' or 'choice_func' choose none."
        )
    loaded: dict[str, Parameter | str] = {}
    for name in list(values):
        # A Parameter has memory of its own: each array goes as soon as it is copied.
        loaded[name] = _loaded(name, values.pop(name))
    if net is not None:
        missing, _ = load_param_into_net(net, loaded, strict_load, remove_redundancy)
        if missing:
            _warn(f"'{path}' does not hold these parameters of the net: {', '.join(missing)}", 3)
    return loaded


def _choice(specify: object, drop: object, choice_func: _Choice | None) -> _Choice:
    """Which names to load: the prefixes, where there are any, replace the function."""
    if specify is None and drop is None:
        return choice_func if choice_func is not None else lambda _: True
    wanted = ("",) if specify is None else _prefixes(specify, "specify_prefix")
    unwanted = () if drop is None else _prefixes(drop, "filter_prefix")
    return lambda name: name.startswith(wanted) and not name.startswith(unwanted)


def _prefixes(value: object, argument: str) -> tuple[str, ...]:
    several = isinstance(value, list | tuple)
    items = tuple(cast("Sequence[object]", value)) if several else (value,)
    prefixes = tuple(item for item in items if isinstance(item, str))
    if len(prefixes) < len(items):
        raise TypeError(
            f"For 'load_checkpoint', the argument '{argument}' must be a str, or a list or tuple "
            f"of str, but got {value!r}."
        )
    if not prefixes or "" in prefixes:
        raise ValueError(f"For 'load_checkpoint', the argument '{argument}' must not be empty.")
    return prefixes


def _read(path: str, choose: _Choice, crc_check: bool, format_: str) -> dict[str, Value]:
    if not path.endswith(f".{format_}"):
        raise ValueError(
            f"For 'load_checkpoint', the name of a file of the format {format_!r} must end with "
            f"'.{format_}', but got '{path}'."
        )
    if not os.path.isfile(path):
        what = "is a folder" if os.path.isdir(path) else "does not exist"
        raise ValueError(f"For 'load_checkpoint', the checkpoint file '{path}' {what}.")
    if format_ == "safetensors":
        return _safetensors_file.read(path, choose)
    try:
        with open(path, "rb") as file:
            values, has_crc = _checkpoint_file.read(file, choose)
    except WireError as error:
        raise ValueError(f"Failed to read the checkpoint file '{path}': {error}.") from error
    if "" in values:
        raise ValueError(f"The checkpoint file '{path}' has a value without a name.")
    if crc_check and not has_crc:
        _warn(f"the checkpoint file '{path}' has no check sum", 4)
    return values


def _loaded(name: str, value: Value) -> Parameter | str:
    return value if isinstance(value, str) else Parameter(Tensor.from_numpy(value), name)


def _warn(text: str, level: int) -> None:
    warnings.warn(f"For 'load_checkpoint', {text}.", stacklevel=level)
