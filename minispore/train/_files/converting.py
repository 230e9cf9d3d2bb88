"""Files of one of the two formats into the other, content untouched."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from minispore._atomic import regular
from minispore._checks import check_int, check_type
from minispore._warn import warn
from minispore.train._files import checkpoint_file, safetensors_file
from minispore.train._files.background import background
from minispore.train._files.loading import damage_named
from minispore.train._files.protobuf import WireError
from minispore.train._files.saving import write_file
from minispore.train._files.stored import Content, stored_content

_Format = Literal["ckpt", "safetensors"]


def ckpt_to_safetensors(
    file_path: str | os.PathLike[str],
    save_path: str | os.PathLike[str] | None = None,
    name_map: Mapping[str, str] | None = None,
    file_name_regex: str | None = None,
    processes_num: int = 1,
) -> None:
    """Write `.ckpt` files as `.safetensors` files of the same names.

    The bytes of each array are carried over as they are, BFloat16 included, piece by piece.

    Source: mindspore.ckpt_to_safetensors.

    Args:
        file_path: A file, or a folder: the files in its folders `rank…`, as runs of several
            processes leave them, or, where it has no such folder, those in itself.
        save_path: The folder to write to, made if it is not there; by default each file is
            written beside the one it is made from. Folders `rank…` are made in it, too.
        name_map: New names for some values, by their old ones.
        file_name_regex: Of a folder's files only those are taken in whose names this is found.
        processes_num: Has no effect.

    Raises:
        TypeError: An argument is of a wrong type.
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
    """
    _convert("ckpt", "safetensors", file_path, save_path, name_map, file_name_regex, processes_num)


def safetensors_to_ckpt(
    file_path: str | os.PathLike[str],
    save_path: str | os.PathLike[str] | None = None,
    name_map: Mapping[str, str] | None = None,
    file_name_regex: str | None = None,
    processes_num: int = 1,
) -> None:
    """Write `.safetensors` files as `.ckpt` files of the same names.

    The bytes of each array are carried over as they are, BFloat16 included, piece by piece.

    Source: mindspore.safetensors_to_ckpt.

    Args:
        file_path: As in `ckpt_to_safetensors`, as all the others.
        save_path: The folder to write to.
        name_map: New names for some values, by their old ones.
        file_name_regex: Of a folder's files only those are taken in whose names this is found.
        processes_num: Has no effect.

    Raises:
        TypeError: An argument is of a wrong type.
        ValueError: As in `ckpt_to_safetensors`.
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
    """
    _convert("safetensors", "ckpt", file_path, save_path, name_map, file_name_regex, processes_num)


def _convert(
    source: _Format,
    target: _Format,
    file_path: str | os.PathLike[str],
    save_path: str | os.PathLike[str] | None,
    name_map: Mapping[str, str] | None,
    file_name_regex: str | None,
    processes_num: int,
) -> None:
    owner = f"{source}_to_{target}"
    check_type(file_path, (str, os.PathLike), "file_path", owner)
    check_type(save_path, (str, os.PathLike), "save_path", owner, none=True)
    check_type(name_map, Mapping, "name_map", owner, none=True)
    for name in (name_map or {}).items():
        for part in name:
            check_type(part, str, "a name in name_map", owner)
    check_type(file_name_regex, str, "file_name_regex", owner, none=True)
    check_int(processes_num, "processes_num", owner, low=1)
    background.wait()
    root = os.fspath(file_path)
    paths = list(_files(root, source, owner))
    try:
        form = re.compile(file_name_regex or "")
    except re.error as error:
        raise ValueError(
            f"For '{owner}', the argument 'file_name_regex' is wrong: {error}."
        ) from error
    wanted = [p for p in paths if form.search(os.path.basename(p))]
    if not wanted:
        raise ValueError(
            f"For '{owner}', there must be a '.{source}' file in 'file_path' that "
            f"'file_name_regex' fits, but got '{root}' and {file_name_regex!r}."
        )
    top = root if os.path.isdir(root) else os.path.dirname(root)
    out = top if save_path is None else os.fspath(save_path)
    if os.path.exists(out) and not os.path.isdir(out):
        raise ValueError(f"For '{owner}', the argument 'save_path' must be a folder, not '{out}'.")
    for path in wanted:
        made = os.path.join(out, os.path.relpath(path, top))
        os.makedirs(os.path.dirname(made) or ".", exist_ok=True)
        _convert_file(path, f"{made.removesuffix(source)}{target}", target, name_map or {}, owner)


def _files(path: str, source: str, owner: str) -> Iterator[str]:
    """The files to convert, sorted by their names."""
    if os.path.isdir(path):
        inside = [os.path.join(path, name) for name in sorted(os.listdir(path))]
        ranks = [p for p in inside if os.path.basename(p).startswith("rank") and os.path.isdir(p)]
        for folder in ranks or [path]:
            names = (name for name in sorted(os.listdir(folder)) if name.endswith(f".{source}"))
            yield from filter(os.path.isfile, (os.path.join(folder, name) for name in names))
    elif not os.path.isfile(path):
        raise ValueError(f"For '{owner}', there is no file or folder '{path}'.")
    elif not path.endswith(f".{source}"):
        raise ValueError(f"For '{owner}', the file '{path}' must end with '.{source}'.")
    else:
        yield path


def _convert_file(
    path: str, made: str, target: _Format, name_map: Mapping[str, str], owner: str
) -> None:
    scan = checkpoint_file.scan if target == "safetensors" else safetensors_file.scan
    with damage_named(path), open(path, "rb", opener=regular) as file:
        entries, has_crc = scan(file)
        unused = name_map.keys() - entries.keys()
        if unused:
            warn(
                f"For '{owner}', '{path}' has no values of these names in 'name_map': "
                f"{', '.join(sorted(unused))}."
            )
        renamed = ((name_map.get(n, n), stored_content(file, e)) for n, e in entries.items())
        contents = _unique(renamed, path, owner)
        try:
            write_file(made, contents.items(), has_crc, target)
        except WireError:  # it has changed meanwhile
            raise
        except ValueError as error:
            raise ValueError(f"For '{owner}', '{path}' cannot be converted: {error}") from error


def _unique(contents: Iterable[tuple[str, Content]], path: str, owner: str) -> dict[str, Content]:
    found: dict[str, Content] = {}
    for name, content in contents:
        if found.setdefault(name, content) is not content:
            raise ValueError(
                f"For '{owner}', 'name_map' gives two values of '{path}' the name {name!r}."
            )
    return found
