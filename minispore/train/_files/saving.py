"""Save parameters: what `save_checkpoint` takes, and where it goes."""

import errno
import os
from collections.abc import Callable, Iterable, Mapping, Sequence

from minispore._atomic import replacing
from minispore._checks import check_type
from minispore.common import Parameter
from minispore.nn.cell import Cell
from minispore.train._files import checkpoint_file, safetensors_file
from minispore.train._files.background import background
from minispore.train._files.named_values import (
    appended,
    check_storage,
    on_host,
    snapshot,
    values_of,
)
from minispore.train._files.stored import Content, Value

# What MindSpore gives its checkpoints: to be read by their owner, and not to be written.
PERMISSIONS = 0o400
_OWNER = "save_checkpoint"
# What MindSpore takes beyond its signature; of use only with several processes, or none at all.
_IGNORED = {"global_step_num", "remove_redundancy"}


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
    """Write parameters to a file that MindSpore, too, can load.

    The file is there whole or not at all: a kill or a full disk leaves the one before it. No second
    copy of the parameters is made in memory, unless the file is written in the background.

    Source: mindspore.save_checkpoint.

    Args:
        save_obj: A cell, whose parameters are saved under their names; a list or tuple of
            Parameters or of ``{"name": str, "data": Parameter or Tensor}``; or a dict of values by
            name, as `load_checkpoint` returns it.
        ckpt_file_name: The file; the ending of its format is added where it is missing. An
            existing file is replaced. The folder must exist; one that is removed while the file is
            written in the background is made again.
        integrated_save: Only for a network split over devices; has no effect.
        async_save: Whether to write in the background what the parameters are now: True, or
            MindSpore's "thread" or "process" (which is a thread, too). The next save waits for it;
            see `wait_for_saves`.
        append_dict: More values by name: int (stored as Int64), float (as Float32), bool,
            str, Parameter or Tensor. They take the place of parameters of the same name.
        enc_key: Must be None: encryption is not supported.
        enc_mode: Without a key it has no effect.
        choice_func: Gets a name and says whether to save it. By default all are saved.
        crc_check: Whether to give the file a check sum, by which changed content is found on
            loading.
        format: "ckpt" or "safetensors" (which holds no texts).
        **kwargs: MindSpore's `remove_redundancy` and `global_step_num`, which have no effect.

    Raises:
        TypeError: An argument is of a wrong type.
        ValueError: Two parameters have the same name; an unknown `format`; a value that the file
            cannot hold.
        NotImplementedError: Encryption is asked for.
        OSError: The file cannot be written.
        Exception: What went wrong with the save before this one, if that was in the background;
            this one has then not been done.

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
    """
    if kwargs.keys() - _IGNORED:
        names = ", ".join(map(repr, sorted(kwargs.keys() - _IGNORED)))
        raise TypeError(f"For '{_OWNER}', there is no argument {names}.")
    check_type(ckpt_file_name, (str, os.PathLike), "ckpt_file_name", _OWNER)
    check_type(integrated_save, bool, "integrated_save", _OWNER)
    check_storage(_OWNER, async_save, enc_key, enc_mode, crc_check, format)
    values = values_of(save_obj) | appended(append_dict)
    if choice_func is not None:
        values = {name: value for name, value in values.items() if choice_func(name)}
    path = os.fspath(ckpt_file_name)
    if not path or os.path.isdir(path):
        what = "The checkpoint file's name is that of a folder"
        raise IsADirectoryError(errno.EISDIR, what, path or ".")
    path = path if path.endswith(f".{format}") else f"{path}.{format}"
    # Before the arrays are copied: at most one set of copies is there at a time.
    background.wait()
    if async_save:
        copies = snapshot(values)
        full = os.path.abspath(path)  # the program may change its folder meanwhile
        folder = os.path.dirname(full)
        exists = os.path.isdir(folder)

        def write() -> None:
            try:
                write_file(full, copies.items(), crc_check, format)
            except FileNotFoundError:
                if not exists:
                    raise
                os.makedirs(folder, exist_ok=True)  # it was removed meanwhile
                write_file(full, copies.items(), crc_check, format)

        background.start(full, write)
    else:
        write_file(path, on_host(values), crc_check, format)


def write_file(
    path: str, values: Iterable[tuple[str, Value | Content]], crc_check: bool, format_: str
) -> None:
    """Write named values to a file of one of the formats."""
    with replacing(path, PERMISSIONS) as file:
        if format_ == "safetensors":
            safetensors_file.write(file, values, crc_check=crc_check)
        else:
            checkpoint_file.write(file, values, crc_check=crc_check)


def wait_for_saves() -> None:
    """Wait until the file that is being saved in the background is written.

    minispore's own; MindSpore has only `async_ckpt_thread_status`.

    Raises:
        Exception: What went wrong with that file. It is raised once: here, by the next save, or,
            if neither comes, printed with its traceback when the program ends.

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
    """Whether a file is being saved in the background.

    Source: mindspore.async_ckpt_thread_status.

    Examples:
        >>> async_ckpt_thread_status()
        False
    """
    return background.busy()
