"""Write the digits as MNIST's four files, unless the folder has them already.

A marker file stores the parameters of the files. Its entry `whole` is true only while all four are
complete: it is written last, and reset before a file is changed. So a folder that is incomplete
after a kill is detected, and files without a marker are never overwritten.
"""

import os
from collections.abc import Callable
from contextlib import ExitStack
from itertools import chain, product
from pathlib import Path
from typing import Final

from minispore.dataset.digits._generate import MAX_COUNT, generate
from minispore.dataset.idx import MNIST_NAMES, idx_bytes
from minispore.utils.atomic import atomic_write, open_regular_file
from minispore.utils.checks import check_function, check_int, check_type

MARKER: Final = "minispore-digits.json"
"""The name of the marker file."""

_VERSION = 1  # increased when equal parameters give other images


# The parameters that determine the files: train, test, seed and version.
_Params = dict[str, int]


def write(
    directory: str | os.PathLike[str],
    train: int = 60_000,
    test: int = 10_000,
    seed: int = 0,
    progress: Callable[[int], object] | None = None,
) -> Path:
    """Write generated digits to a folder as MNIST's four files, unless it has them already.

    `MnistDataset` reads the folder. A second call with equal parameters changes nothing; other
    parameters replace the files. The default numbers of images take about ten seconds.

    Args:
        directory: The folder, which is created if it is missing. Other files in it stay.
        train: The number of training images, from 1 to 2,147,483,647.
        test: The number of test images.
        seed: The seed, at least 0, as for `generate`.
        progress: A function that is called with a number of images after they are drawn.

    Returns:
        The folder.

    Raises:
        FileExistsError: If the folder has MNIST files that this function did not write.
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
    check_type(directory, (str, os.PathLike), "directory")
    check_function(progress, "progress", optional=True)
    params = {
        "train": check_int(train, "train", low=1, high=MAX_COUNT),
        "test": check_int(test, "test", low=1, high=MAX_COUNT),
        "seed": check_int(seed, "seed", low=0),
        "version": _VERSION,
    }
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    if _is_complete(folder, params):
        return folder
    _refuse_foreign_files(folder)
    with ExitStack() as files:
        for usage, names in MNIST_NAMES.items():
            arrays = generate(params[usage], seed, usage, progress)
            for name, array in zip(names, arrays, strict=True):
                # It gets its final name when `files` is closed.
                file = files.enter_context(atomic_write(folder / name))
                file.writelines(idx_bytes(array))
                file.flush()  # a full disk is detected before anything changes
        # A kill from here on never leaves old labels with new images.
        _write_marker(folder, params, whole=False)
        for name in _files(params):
            (folder / name).unlink(missing_ok=True)
    _write_marker(folder, params, whole=True)
    return folder


def _files(params: _Params) -> dict[str, int]:
    """Return the names of the four files and their lengths in bytes."""
    lengths: dict[str, int] = {}
    for usage, (images, labels) in MNIST_NAMES.items():
        lengths |= {images: 16 + 28 * 28 * params[usage], labels: 8 + params[usage]}
    return lengths


def _marker_text(params: _Params, *, whole: bool) -> bytes:
    import json

    return json.dumps({**params, "whole": whole}).encode() + b"\n"


def _write_marker(folder: Path, params: _Params, *, whole: bool) -> None:
    with atomic_write(folder / MARKER) as file:
        file.write(_marker_text(params, whole=whole))


def _is_complete(folder: Path, params: _Params) -> bool:
    """Return whether the marker has these parameters and the files have the expected lengths."""
    try:
        with open(folder / MARKER, "rb", opener=open_regular_file) as marker:
            if marker.read() != _marker_text(params, whole=True):
                return False
    except FileNotFoundError:
        return False
    return all(
        (folder / name).is_file() and (folder / name).stat().st_size == length
        for name, length in _files(params).items()
    )


def _refuse_foreign_files(folder: Path) -> None:
    if (folder / MARKER).exists():
        return
    for name, suffix in product(chain(*MNIST_NAMES.values()), ("", ".gz")):
        file = folder / f"{name}{suffix}"
        if file.exists():
            raise FileExistsError(
                f"For 'write', the argument 'directory' must be a folder without other MNIST "
                f"files, but '{file}' exists."
            )
