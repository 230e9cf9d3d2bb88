"""Load parameters: what `load_checkpoint` reads, at once or in the background."""

import os
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from io import BufferedIOBase
from typing import cast

from minispore._atomic import regular
from minispore._checks import check_type
from minispore._threads import start
from minispore._warn import warn
from minispore.common import Parameter
from minispore.common.parameter import parameter_in
from minispore.common.tensor import host_tensor
from minispore.nn.cell import Cell
from minispore.train._files import checkpoint_file, safetensors_file
from minispore.train._files.background import background
from minispore.train._files.load_into_net import load_param_into_net
from minispore.train._files.named_values import check_storage
from minispore.train._files.protobuf import WireError, shortened
from minispore.train._files.stored import Entry, load

Choice = Callable[[str], bool]
Loaded = dict[str, Parameter | str]
_OWNER = "load_checkpoint"


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
        >>> from minispore.train import save_checkpoint
        >>> folder = tempfile.TemporaryDirectory()
        >>> save_checkpoint(nn.Dense(3, 2), folder.name + "/net.ckpt")
        >>> load_checkpoint(folder.name + "/net.ckpt", choice_func=lambda name: name == "bias")
        {'bias': Parameter (name=bias, shape=(2,), dtype=Float32, requires_grad=True)}
        >>> folder.cleanup()
    """
    check_type(ckpt_file_name, (str, os.PathLike), "ckpt_file_name", _OWNER)
    check_type(net, Cell, "net", _OWNER, none=True)
    check_storage(_OWNER, False, dec_key, dec_mode, crc_check, format)
    check_type(remove_redundancy, bool, "remove_redundancy", _OWNER)
    path = os.fspath(ckpt_file_name)
    choose = _choice(specify_prefix, filter_prefix, choice_func)
    loaded = _read(path, choose, crc_check, format)
    if not loaded:
        raise ValueError(
            f"For '{_OWNER}', no value is loaded from the checkpoint file '{path}': it has none, "
            "or 'specify_prefix', 'filter_prefix' or 'choice_func' choose none."
        )
    if net is not None:
        try:
            missing, _ = load_param_into_net(net, loaded, strict_load)
        except RuntimeError as error:
            error.add_note(f"They are those of the checkpoint file '{path}'.")
            raise
        if missing:
            names = ", ".join(missing)
            warn(f"For '{_OWNER}', '{path}' does not hold these parameters of the net: {names}.")
    return loaded


def _choice(specify: object, drop: object, choice_func: Choice | None) -> Choice:
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


def _read(path: str, choose: Choice, crc_check: bool, format_: str) -> Loaded:
    if not path.endswith(f".{format_}"):
        raise ValueError(
            f"For '{_OWNER}', the name of a file of the format {format_!r} must end with "
            f"'.{format_}', but got '{path}'."
        )
    background.settle(path)
    if not os.path.isfile(path):
        what = "does not exist"
        if os.path.exists(path):
            what = "is a folder" if os.path.isdir(path) else "is not a regular file"
        raise ValueError(f"For '{_OWNER}', the checkpoint file '{path}' {what}.")
    scan = safetensors_file.scan if format_ == "safetensors" else checkpoint_file.scan
    with damage_named(path), open(path, "rb", opener=regular) as file:
        entries, has_crc = scan(file)
        if "" in entries:
            raise WireError("it has a value without a name")
        loaded = {name: _load(file, name, entry) for name, entry in entries.items() if choose(name)}
    if crc_check and not has_crc:
        warn(f"For '{_OWNER}', the checkpoint file '{path}' has no check sum.")
    return loaded


def _load(file: BufferedIOBase, name: str, entry: Entry) -> Parameter | str:
    value = load(file, name, entry)
    return value if isinstance(value, str) else parameter_in(host_tensor(value), name)


@contextmanager
def damage_named(path: str) -> Generator[None, None, None]:
    """Make of a WireError inside the block the ValueError that names the file."""
    try:
        yield
    except WireError as error:
        why = shortened(str(error))
        raise ValueError(f"Failed to read the checkpoint file '{path}': {why}.") from error


class ParamDictFuture:
    """What `load_checkpoint_async` is reading."""

    def __init__(self, read: Callable[[], Loaded]) -> None:
        """Start reading."""
        self._pid = os.getpid()
        self._read: Callable[[], Loaded] | None = read
        self._loaded: Loaded  # once it is done
        self._error: BaseException | None = None
        self._done = threading.Event()  # a `join` that was interrupted could not be repeated
        # A program that ends does not wait for what it no longer wants.
        start(threading.Thread(target=self._run, name="loading", daemon=True))

    def result(self) -> dict[str, Parameter | str]:
        """Wait until the file is read; its values, or the error that `load_checkpoint` raises."""
        if self._pid != os.getpid() and not self._done.is_set():
            self._run()  # a forked process has no thread that reads
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._loaded

    def _run(self) -> None:
        assert self._read is not None
        try:
            self._loaded = self._read()
        except BaseException as error:
            self._error = error
        self._done.set()
        self._read = None


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
    """Read a file in the background, by `load_checkpoint`, whose arguments these are.

    Until `result()` has returned, `net` and, if an error comes, its parameters are not to be used.

    Source: mindspore.load_checkpoint_async.

    Returns:
        An object whose method `result()` waits and returns what `load_checkpoint` does, or raises
        what it raises.

    Raises:
        TypeError: `ckpt_file_name` is no path.

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
    """
    check_type(ckpt_file_name, (str, os.PathLike), "ckpt_file_name", "load_checkpoint_async")
    path = os.path.abspath(ckpt_file_name)  # the program may change its folder meanwhile
    return ParamDictFuture(
        lambda: load_checkpoint(
            path, net, strict_load, filter_prefix, dec_key, dec_mode, specify_prefix, choice_func
        )
    )
