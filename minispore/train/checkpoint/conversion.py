"""Conversion between the two checkpoint formats, with unchanged content."""

import os
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from types import NoneType

from minispore.train.checkpoint.async_writer import background
from minispore.train.checkpoint.loading import open_checkpoint
from minispore.train.checkpoint.protobuf import WireError
from minispore.train.checkpoint.saving import write_file
from minispore.train.checkpoint.storage import by_unique_name, stored_content
from minispore.utils.checks import caller, check_int, check_type
from minispore.utils.warn import warn_at_caller


def ckpt_to_safetensors(
    file_path: str | os.PathLike[str],
    save_path: str | os.PathLike[str] | None = None,
    name_map: Mapping[str, str] | None = None,
    file_name_regex: str | None = None,
    processes_num: int = 1,
) -> None:
    """Convert `.ckpt` files to `.safetensors` files of the same names.

    The bytes of each array are copied unchanged, BFloat16 included, piece by piece.

    Args:
        file_path: A file, or a folder. Of a folder, the files in its folders `rank…` are
            converted, as runs of several processes write them, or, without such folders, its own.
        save_path: The folder to write to, which is created if necessary, as are folders `rank…` in
            it; by default each file is written to the folder of its source.
        name_map: New names of some values, by their present names.
        file_name_regex: Only files of a folder whose names contain a match are converted.
        processes_num: Has no effect.

    Raises:
        ValueError: There is no such file or folder, or no file to convert in it; a file is damaged
            or of another format; it has a text, which `.safetensors` cannot hold; or `name_map`
            gives two values the same name.
        OSError: A file cannot be written.

    Examples:
        >>> import tempfile
        >>> from minispore import nn
        >>> from minispore.train import load_checkpoint, save_checkpoint
        >>> folder = tempfile.TemporaryDirectory()
        >>> save_checkpoint(nn.Dense(3, 2), folder.name + "/net.ckpt")
        >>> ckpt_to_safetensors(folder.name + "/net.ckpt", name_map={"weight": "w"})
        >>> list(load_checkpoint(folder.name + "/net.safetensors", format="safetensors"))
        ['bias', 'w']
        >>> folder.cleanup()

    Source: MindSpore's `mindspore.ckpt_to_safetensors`.
    """
    _convert("ckpt", "safetensors", file_path, save_path, name_map, file_name_regex, processes_num)


def safetensors_to_ckpt(
    file_path: str | os.PathLike[str],
    save_path: str | os.PathLike[str] | None = None,
    name_map: Mapping[str, str] | None = None,
    file_name_regex: str | None = None,
    processes_num: int = 1,
) -> None:
    """Convert `.safetensors` files to `.ckpt` files of the same names.

    The bytes of each array are copied unchanged, BFloat16 included, piece by piece.

    Args:
        file_path: A file or a folder, as for `ckpt_to_safetensors`.
        save_path: The folder to write to; by default that of each source.
        name_map: New names of some values, by their present names.
        file_name_regex: Only files of a folder whose names contain a match are converted.
        processes_num: Has no effect.

    Raises:
        ValueError: As for `ckpt_to_safetensors`.
        OSError: A file cannot be written.

    Examples:
        >>> import tempfile
        >>> from minispore import nn
        >>> from minispore.train import load_checkpoint, save_checkpoint
        >>> folder = tempfile.TemporaryDirectory()
        >>> save_checkpoint(nn.Dense(3, 2), folder.name + "/net", format="safetensors")
        >>> safetensors_to_ckpt(folder.name + "/net.safetensors", folder.name + "/converted")
        >>> list(load_checkpoint(folder.name + "/converted/net.ckpt"))
        ['bias', 'weight']
        >>> folder.cleanup()

    Source: MindSpore's `mindspore.safetensors_to_ckpt`.
    """
    _convert("safetensors", "ckpt", file_path, save_path, name_map, file_name_regex, processes_num)


def _convert(
    source: str,
    target: str,
    file_path: str | os.PathLike[str],
    save_path: str | os.PathLike[str] | None,
    name_map: Mapping[str, str] | None,
    file_name_regex: str | None,
    processes_num: int,
) -> None:
    check_type(file_path, (str, os.PathLike), "file_path")
    check_type(save_path, (str, os.PathLike, NoneType), "save_path")
    check_type(name_map, (Mapping, NoneType), "name_map")
    for name in chain.from_iterable((name_map or {}).items()):
        check_type(name, str, "a name in name_map")
    check_type(file_name_regex, (str, NoneType), "file_name_regex")
    check_int(processes_num, "processes_num", low=1)
    background.wait()
    root = os.fspath(file_path)
    paths = list(_files(root, source))
    try:
        pattern = re.compile(file_name_regex or "")
    except re.error as error:
        raise ValueError(
            f"For '{caller()}', the argument 'file_name_regex' is not a regular expression: "
            f"{error}."
        ) from error
    selected = [p for p in paths if pattern.search(os.path.basename(p))]
    if not selected:
        raise ValueError(
            f"For '{caller()}', there must be a '.{source}' file in 'file_path' that "
            f"'file_name_regex' matches, but got '{root}' and {file_name_regex!r}."
        )
    top = root if os.path.isdir(root) else os.path.dirname(root)
    out = top if save_path is None else os.fspath(save_path)
    if os.path.exists(out) and not os.path.isdir(out):
        raise ValueError(
            f"For '{caller()}', the argument 'save_path' must be a folder, not '{out}'."
        )
    for path in selected:
        new = os.path.join(out, os.path.relpath(path, top)).removesuffix(source) + target
        os.makedirs(os.path.dirname(new) or ".", exist_ok=True)
        _convert_file(path, new, source, target, name_map or {})


def _files(path: str, source: str) -> Iterator[str]:
    """Yield the files to convert, sorted by name."""
    if os.path.isdir(path):
        inside = [os.path.join(path, name) for name in sorted(os.listdir(path))]
        ranks = [p for p in inside if os.path.basename(p).startswith("rank") and os.path.isdir(p)]
        for folder in ranks or [path]:
            names = (name for name in sorted(os.listdir(folder)) if name.endswith(f".{source}"))
            yield from filter(os.path.isfile, (os.path.join(folder, name) for name in names))
    elif not os.path.isfile(path):
        raise ValueError(f"For '{caller()}', there is no file or folder '{path}'.")
    elif not path.endswith(f".{source}"):
        raise ValueError(f"For '{caller()}', the file '{path}' must end with '.{source}'.")
    else:
        yield path


def _convert_file(
    path: str, new_path: str, source: str, target: str, names: Mapping[str, str]
) -> None:
    with open_checkpoint(path, source) as (file, locations, has_crc):
        unused = names.keys() - locations.keys()
        if unused:
            warn_at_caller(
                f"For '{caller()}', '{path}' has no values of these names in 'name_map': "
                f"{', '.join(sorted(unused))}."
            )
        contents = by_unique_name(
            ((names.get(n, n), stored_content(file, x)) for n, x in locations.items()),
            f"For '{caller()}', 'name_map' gives two values of '{path}'",
        )
        try:
            write_file(new_path, contents.items(), has_crc, target)
        except WireError:  # the file was changed while it was read
            raise
        except ValueError as error:
            raise ValueError(f"For '{caller()}', '{path}' cannot be converted: {error}") from error
