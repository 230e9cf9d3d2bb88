"""MNIST's files: finding the pairs of images and labels in a folder, and reading them checked."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from minispore.dataset._block import Array, Block
from minispore.dataset._idx import read_idx, read_idx_shape

_PREFIXES = {"train": ("train",), "test": ("t10k",), "all": ("t10k", "train")}
_SIDE = 28
_CLASSES = 10


@dataclass(frozen=True)
class MnistStore:
    """The images and labels of some pairs of files, read when rows are first asked for."""

    pairs: tuple[tuple[Path, Path], ...]

    def count(self) -> int:
        """Return the number of images, from the headers alone."""
        return self._count

    def rows(self, indices: npt.NDArray[np.intp]) -> Iterable[Block]:
        """Return the images (n, 28, 28, 1) and labels (n) of these numbers, copied."""
        images, labels = self._arrays
        yield images.take(indices, axis=0), labels.take(indices)

    @cached_property
    def _count(self) -> int:
        return sum(_count(images, labels) for images, labels in self.pairs)

    @cached_property
    def _arrays(self) -> tuple[Array, Array]:
        read = [_read(images, labels) for images, labels in self.pairs]
        if len(read) == 1:
            return read[0]
        return np.concatenate([r[0] for r in read]), np.concatenate([r[1] for r in read])


def find_mnist(folder: Path, usage: str) -> MnistStore:
    """Return the store of the files in a folder that `usage` names.

    Raises:
        ValueError: If there is no such folder.
        RuntimeError: If it has no such files, or images without labels or labels without images.
    """
    if not folder.is_dir():
        raise ValueError(
            f"For 'MnistDataset', the argument 'dataset_dir' must be a folder, but '{folder}' is "
            "none or cannot be read."
        )
    pairs: list[tuple[Path, Path]] = []
    for prefix in _PREFIXES[usage]:
        images = _find(folder, f"{prefix}-images-idx3-ubyte")
        labels = _find(folder, f"{prefix}-labels-idx1-ubyte")
        if images and labels:
            pairs.append((images, labels))
        elif images or labels:
            there, missing = ("images", "labels") if images else ("labels", "images")
            raise RuntimeError(
                f"For 'MnistDataset', the folder '{folder}' has the {there} '{images or labels}' "
                f"but not their {missing}."
            )
    if not pairs:
        names = " or ".join(f"'{prefix}-images-idx3-ubyte'" for prefix in _PREFIXES[usage])
        raise RuntimeError(
            f"For 'MnistDataset', there is no {names}, plain or with .gz, in the folder '{folder}'."
        )
    return MnistStore(tuple(pairs))


def _find(folder: Path, name: str) -> Path | None:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    return None


def _count(images: Path, labels: Path) -> int:
    shape, others = read_idx_shape(images), read_idx_shape(labels)
    if shape[1:] != (_SIDE, _SIDE):
        raise RuntimeError(f"'{images}' must hold images of 28 x 28, but its shape is {shape}.")
    if len(others) != 1:
        raise RuntimeError(f"'{labels}' must hold one label an image, but its shape is {others}.")
    if shape[0] != others[0]:
        raise RuntimeError(
            f"'{images}' holds {shape[0]} images, but '{labels}' holds {others[0]} labels."
        )
    return shape[0]


def _read(images: Path, labels: Path) -> tuple[Array, Array]:
    count = _count(images, labels)
    pixels, digits = read_idx(images), read_idx(labels)
    if pixels.size != count * _SIDE * _SIDE or digits.size != count:
        raise RuntimeError(f"'{images}' or '{labels}' changed while it was read.")
    if count and digits.max() >= _CLASSES:
        at = int((digits >= _CLASSES).argmax())
        raise RuntimeError(
            f"'{labels}' must hold labels from 0 to 9, but label number {at} is {digits[at]}."
        )
    return pixels.reshape(count, _SIDE, _SIDE, 1), digits.astype(np.uint32)
