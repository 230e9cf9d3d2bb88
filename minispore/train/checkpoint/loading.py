"""Load checkpoint files, synchronously or in a thread."""

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from io import BufferedIOBase
from types import NoneType
from typing import Final

from minispore.common import Parameter
from minispore.nn.cell import Cell
from minispore.ops.parameter import parameter_from_memory
from minispore.ops.tensors import tensor_of
from minispore.train.checkpoint import checkpoint_file, safetensors_file
from minispore.train.checkpoint.async_writer import BackgroundCall, background
from minispore.train.checkpoint.load_into_net import load_param_into_net
from minispore.train.checkpoint.protobuf import WireError, shortened
from minispore.train.checkpoint.saving import check_kind, check_storage
from minispore.train.checkpoint.storage import Location, load
from minispore.utils.atomic import open_regular_file
from minispore.utils.checks import as_items, caller, check_bool, check_type, type_error
from minispore.utils.threads import start_or_run
from minispore.utils.warn import warn_at_caller

Choice = Callable[[str], bool]
Loaded = dict[str, Parameter | str]

_OTHER_FORMATS: Final = {
    b"PK\x03\x04": "a zip archive, which torch.save, Lightning, Keras and numpy.savez write",
    b"\x80": "a pickle, which old versions of torch.save write",
    b"\x89HDF": "an HDF5 file, which Keras writes",
    b"\x93NUMPY": "an array of numpy.save",
}


def load_checkpoint(
    ckpt_file_name: str | os.PathLike[str],
    net: Cell | None = None,
    strict_load: bool = False,
    filter_prefix: str | Sequence[str] | None = None,
    dec_key: bytes | None = None,
    dec_mode: str = "AES-GCM",
    specify_prefix: str | Sequence[str] | None = None,
    choice_func: Choice | None = None,
    crc_check: bool = False,
    remove_redundancy: bool = False,
    format: str = "ckpt",
) -> dict[str, Parameter | str]:
    """Read a file that `save_checkpoint` of minispore or MindSpore has written.

    A checksum, if the file has one, is always checked. Without it, all damage is detected except
    for changed bytes inside a parameter's content, and a file that was cut between two values.

    Args:
        ckpt_file_name: The file, with its ending.
        net: A network to load the values into, by `load_param_into_net`.
        strict_load: Whether names and types must be the same, as for `load_param_into_net`.
        filter_prefix: A prefix, or several; values whose names begin with one are not loaded.
        dec_key: Must be None: encryption is not supported.
        dec_mode: Has no effect.
        specify_prefix: A prefix, or several; only values whose names begin with one are loaded.
        choice_func: Returns whether to load the value of a name; ignored if there is a prefix.
        crc_check: Whether to warn if the file has no checksum.
        remove_redundancy: Has no effect.
        format: "ckpt" or "safetensors".

    Returns:
        The values by name, in the file's order: Parameters, and the texts of an `append_dict`.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: The file does not exist, is damaged or encrypted, or no value was chosen; its
            ending is not that of `format`; and, as in MindSpore, `dec_key`, `dec_mode`,
            `choice_func`, `crc_check` or `remove_redundancy` has the wrong type.
        NotImplementedError: `dec_key` is not None.
        RuntimeError: A value does not fit `net`, which is then unchanged.

    Examples:
        >>> import tempfile
        >>> from minispore import nn
        >>> from minispore.train import save_checkpoint
        >>> folder = tempfile.TemporaryDirectory()
        >>> save_checkpoint(nn.Dense(3, 2), folder.name + "/net.ckpt")
        >>> load_checkpoint(folder.name + "/net.ckpt", choice_func=lambda name: name == "bias")
        {'bias': Parameter (name=bias, shape=(2,), dtype=Float32, requires_grad=True)}
        >>> folder.cleanup()

    Source: MindSpore's `mindspore.load_checkpoint`.
    """
    check_type(ckpt_file_name, (str, os.PathLike), "ckpt_file_name")
    check_type(net, (Cell, NoneType), "net")
    check_storage("dec", False, dec_key, dec_mode, crc_check, format)
    check_kind(remove_redundancy, bool, "remove_redundancy")
    check_bool(strict_load, "strict_load")
    if not (choice_func is None or callable(choice_func)):
        raise type_error(choice_func, "choice_func", "be a function or None", ValueError)
    path = os.fspath(ckpt_file_name)
    choose = _choice(specify_prefix, filter_prefix, choice_func)
    loaded = _read(path, choose, crc_check, format)
    if not loaded:
        raise ValueError(
            f"For '{caller()}', no value is loaded from the checkpoint file '{path}': it has none, "
            "or 'specify_prefix', 'filter_prefix' or 'choice_func' exclude all."
        )
    if net is not None:
        try:
            missing, _ = load_param_into_net(net, loaded, strict_load)
        except RuntimeError as error:
            error.add_note(f"They are those of the checkpoint file '{path}'.")
            raise
        if missing:
            names = ", ".join(missing)
            warn_at_caller(
                f"For '{caller()}', '{path}' does not hold these parameters of the net: {names}."
            )
    return loaded


def _choice(specify: object, drop: object, choice_func: Choice | None) -> Choice:
    """Return the function that chooses names: by the prefixes, or, without them, `choice_func`."""
    if specify is None and drop is None:
        return choice_func if choice_func is not None else lambda _: True
    included = ("",) if specify is None else _prefixes(specify, "specify_prefix")
    excluded = () if drop is None else _prefixes(drop, "filter_prefix")
    return lambda name: name.startswith(included) and not name.startswith(excluded)


def _prefixes(value: object, argument: str) -> tuple[str, ...]:
    several = as_items(value)
    items = (value,) if several is None else several
    prefixes = tuple(item for item in items if isinstance(item, str))
    if len(prefixes) < len(items):
        raise TypeError(
            f"For 'load_checkpoint', the argument '{argument}' must be a str, or a list or tuple "
            f"of str, but got {value!r}."
        )
    if not prefixes or "" in prefixes:
        raise ValueError(f"For 'load_checkpoint', the argument '{argument}' must not be empty.")
    return prefixes


def _read(path: str, choose: Choice, crc_check: bool, format_: str) -> Loaded:
    if not path.endswith(f".{format_}"):
        raise ValueError(
            f"For '{caller()}', the name of a file of the format {format_!r} must end with "
            f"'.{format_}', but got '{path}'."
        )
    background.wait_for(path)
    if not os.path.isfile(path):
        problem = "does not exist"
        if os.path.exists(path):
            problem = "is a folder" if os.path.isdir(path) else "is not a regular file"
        raise ValueError(f"For '{caller()}', the checkpoint file '{path}' {problem}.")
    with open_checkpoint(path, format_) as (file, locations, has_crc):
        if "" in locations:
            raise WireError("it has a value without a name")
        loaded = {
            name: _load(file, name, location)
            for name, location in locations.items()
            if choose(name)
        }
    if crc_check and not has_crc:
        warn_at_caller(f"For '{caller()}', the checkpoint file '{path}' has no checksum.")
    return loaded


def _load(file: BufferedIOBase, name: str, location: Location) -> Parameter | str:
    value = load(file, name, location)
    return value if isinstance(value, str) else parameter_from_memory(tensor_of(value), name)


@contextmanager
def open_checkpoint(
    path: str, format_: str
) -> Generator[tuple[BufferedIOBase, dict[str, Location], bool], None, None]:
    """Open a checkpoint file, and return the file, its locations, and whether it has a checksum.

    Raises:
        ValueError: The file is damaged, which may be noticed in the block, as a WireError.
    """
    scan = safetensors_file.scan if format_ == "safetensors" else checkpoint_file.scan
    with open(path, "rb", opener=open_regular_file) as file:
        try:
            yield file, *scan(file)
        except WireError as error:
            file.seek(0)
            other = _other_format(file.read(60), format_)
            why = f"it is {other}" if other else shortened(str(error))
            raise ValueError(f"Failed to read the checkpoint file '{path}': {why}.") from error


def _other_format(beginning: bytes, format_: str) -> str | None:
    """Return what the file with this beginning is, if it is of another known format."""
    for mark, name in _OTHER_FORMATS.items():
        if beginning.startswith(mark):
            return f"{name}; read it with that library, and save the arrays by save_checkpoint"
    if beginning[:1] == b"\n" or beginning[8:9] == b"{":
        actual = "ckpt" if beginning[:1] == b"\n" else "safetensors"
        return None if format_ == actual else f"a file of the format '{actual}'"
    text = beginning.decode(errors="ignore")
    is_text = "".join(text.split()).isprintable() and len(text.encode()) > len(beginning) - 4
    return f"a text that begins with {text[:30]!r}" if is_text and text else None


class ParamDictFuture:
    """The result of `load_checkpoint_async`, which a thread reads."""

    def __init__(self, read: Callable[[], Loaded]) -> None:
        """Start the thread."""
        self._pid = os.getpid()
        # A daemon: the end of the program does not wait for it.
        self._call = BackgroundCall("loading", read, daemon=True)
        start_or_run(self._call)

    def result(self) -> dict[str, Parameter | str]:
        """Wait for the thread; return the values, or raise the error, of `load_checkpoint`."""
        if self._pid != os.getpid() and not self._call.done.is_set():
            self._call.run()  # a forked process has no such thread
        self._call.done.wait()
        if self._call.error is not None:
            raise self._call.error
        return self._call.value


def load_checkpoint_async(
    ckpt_file_name: str | os.PathLike[str],
    net: Cell | None = None,
    strict_load: bool = False,
    filter_prefix: str | Sequence[str] | None = None,
    dec_key: bytes | None = None,
    dec_mode: str = "AES-GCM",
    specify_prefix: str | Sequence[str] | None = None,
    choice_func: Choice | None = None,
) -> ParamDictFuture:
    """Call `load_checkpoint` in a thread.

    Do not use `net` before `result()` has returned.

    Args:
        ckpt_file_name: The file, with its ending.
        net: A network to load the values into, as for `load_checkpoint`.
        strict_load: Whether names and types must be the same.
        filter_prefix: Values whose names begin with it are not loaded.
        dec_key: Must be None: encryption is not supported.
        dec_mode: Has no effect.
        specify_prefix: Only values whose names begin with it are loaded.
        choice_func: Returns whether to load the value of a name.

    Returns:
        An object whose method `result()` waits for the thread, and returns what `load_checkpoint`
        returns or raises what it raises.

    Raises:
        TypeError: `ckpt_file_name` is not a path.

    Examples:
        >>> import tempfile
        >>> from minispore import nn
        >>> from minispore.train import save_checkpoint
        >>> folder = tempfile.TemporaryDirectory()
        >>> save_checkpoint(nn.Dense(3, 2), folder.name + "/net")
        >>> future = load_checkpoint_async(folder.name + "/net.ckpt")
        >>> list(future.result())
        ['weight', 'bias']
        >>> folder.cleanup()

    Source: MindSpore's `mindspore.load_checkpoint_async`.
    """
    check_type(ckpt_file_name, (str, os.PathLike), "ckpt_file_name")
    path = os.path.abspath(ckpt_file_name)  # the current folder may change before the thread reads
    return ParamDictFuture(
        lambda: load_checkpoint(
            path, net, strict_load, filter_prefix, dec_key, dec_mode, specify_prefix, choice_func
        )
    )
