"""The digits as MNIST's four files in a folder, written once and found there ever after.

A marker beside the files says what they were made from. It says `whole` only from the moment that
all four are in place, and is taken back before any of them is touched; so a folder that a kill left
half-written is never taken for a whole one, and files that no marker of ours speaks for are never
overwritten.
"""

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from minispore._atomic import regular, replacing
from minispore._checks import check_int, check_type
from minispore.dataset._idx import idx_bytes
from minispore.dataset.digits._generate import MAX_COUNT, generate

MARKER: Final = "minispore-digits.json"
"""The name of the marker's file."""

_VERSION = 1  # raised when the same parameters give other images
_PREFIXES = {"train": "train", "test": "t10k"}


class _Recipe(NamedTuple):
    """What determines the files."""

    train: int
    test: int
    seed: int
    version: int = _VERSION


def write(
    directory: str | os.PathLike[str],
    train: int = 60_000,
    test: int = 10_000,
    seed: int = 0,
) -> Path:
    """Write generated digits into a folder as MNIST's four files, if they are not there yet.

    `MnistDataset` (and anything else that reads MNIST) reads the folder. A call with the parameters
    of an earlier one changes nothing; other parameters replace the files. MNIST's size takes about
    ten seconds.

    Args:
        directory: The folder; made if it is missing. Other files in it are left alone.
        train: How many training images.
        test: How many test images.
        seed: As for `generate`.

    Returns:
        The folder.

    Raises:
        TypeError: If an argument is of the wrong type.
        ValueError: If a count is less than 1 or above 2,147,483,647, or `seed` less than 0.
        FileExistsError: If there are MNIST files in the folder that this function did not write.
        OSError: If the folder cannot be written to.

    Examples:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> for file in sorted(write(folder.name, train=20, test=10).iterdir()):
        ...     print(file.name, file.stat().st_size)
        minispore-digits.json 66
        t10k-images-idx3-ubyte 7856
        t10k-labels-idx1-ubyte 18
        train-images-idx3-ubyte 15696
        train-labels-idx1-ubyte 28
        >>> folder.cleanup()
    """
    check_type(directory, (str, os.PathLike), "directory", "write")
    recipe = _Recipe(
        check_int(train, "train", "write", low=1, high=MAX_COUNT),
        check_int(test, "test", "write", low=1, high=MAX_COUNT),
        check_int(seed, "seed", "write", low=0),
    )
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    if _is_whole(folder, recipe):
        return folder
    _refuse_foreign_files(folder)
    with ExitStack() as files:
        for usage in _PREFIXES:
            _write_usage(folder, usage, recipe, files)
        # From here on a kill leaves no old labels beside new images, and no marker for either.
        _mark(folder, recipe, whole=False)
        for name in _files(recipe):
            (folder / name).unlink(missing_ok=True)
    _mark(folder, recipe, whole=True)
    return folder


def _names(usage: str) -> tuple[str, str]:
    prefix = _PREFIXES[usage]
    return f"{prefix}-images-idx3-ubyte", f"{prefix}-labels-idx1-ubyte"


def _write_usage(folder: Path, usage: str, recipe: _Recipe, files: ExitStack) -> None:
    """Write two of the files, which come to their places when `files` is left."""
    count = recipe.train if usage == "train" else recipe.test
    for name, array in zip(_names(usage), generate(count, recipe.seed, usage), strict=True):
        file = files.enter_context(replacing(folder / name))
        file.writelines(idx_bytes(array))
        file.flush()  # a full disk shows before anything is changed


def _files(recipe: _Recipe) -> dict[str, int]:
    """The four files' names and lengths in bytes."""
    lengths: dict[str, int] = {}
    for usage, count in (("train", recipe.train), ("test", recipe.test)):
        images, labels = _names(usage)
        lengths[images] = 16 + 28 * 28 * count
        lengths[labels] = 8 + count
    return lengths


def _marker_text(recipe: _Recipe, *, whole: bool) -> bytes:
    import json

    return json.dumps({**recipe._asdict(), "whole": whole}).encode() + b"\n"


def _mark(folder: Path, recipe: _Recipe, *, whole: bool) -> None:
    with replacing(folder / MARKER) as file:
        file.write(_marker_text(recipe, whole=whole))


def _is_whole(folder: Path, recipe: _Recipe) -> bool:
    """Whether the marker tells of these very files and they have the right lengths."""
    try:
        with open(folder / MARKER, "rb", opener=regular) as marker:
            if marker.read() != _marker_text(recipe, whole=True):
                return False
    except FileNotFoundError:
        return False
    return all(
        (folder / name).is_file() and (folder / name).stat().st_size == length
        for name, length in _files(recipe).items()
    )


def _refuse_foreign_files(folder: Path) -> None:
    if (folder / MARKER).exists():
        return
    for usage in _PREFIXES:
        for name in _names(usage):
            for file in (folder / name, folder / f"{name}.gz"):
                if file.exists():
                    raise FileExistsError(
                        f"For 'write', the argument 'directory' must be a folder without other "
                        f"MNIST files, but '{file}' exists."
                    )
