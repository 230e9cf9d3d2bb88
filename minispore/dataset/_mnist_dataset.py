"""MnistDataset: the images and labels of MNIST's files."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from minispore.dataset._dataset import check_workers
from minispore.dataset._node import Array, Block
from minispore.dataset._source_datasets import AnySampler, MappableDataset
from minispore.dataset._sources import MapStyleNode
from minispore.dataset.idx import MNIST_NAMES, read_idx, read_idx_shape
from minispore.dataset.samplers import choose_sampler
from minispore.utils.checks import check_one_of, check_type

_SIDE = 28
_CLASSES = 10


class MnistDataset(MappableDataset):
    """MNIST's images and labels: "image" of shape (28, 28, 1), uint8, and "label" (), uint32.

    The files are MNIST's own, plain or gzipped: `train-images-idx3-ubyte`,
    `train-labels-idx1-ubyte`, `t10k-images-idx3-ubyte` and `t10k-labels-idx1-ubyte`, with or
    without `.gz`.

    Args:
        dataset_dir: The folder.
        usage: "train", "test", or "all" for both, test first; None for "all".
        num_samples: The maximum number of rows of an epoch; None for all.
        num_parallel_workers: Accepted without effect: all work is done in the calling thread.
        shuffle: Whether each epoch has another random order; None for True.
        sampler: Chooses rows, instead of `num_samples`, `shuffle` and shards.
        num_shards: The number of processes among which the rows are divided.
        shard_id: The index of this process, from 0.
        cache: Must be None: MindSpore's cache server is not supported.

    Raises:
        ValueError: If there is no such folder.
        RuntimeError: If arguments contradict one another, or a file is missing or damaged.

    Examples:
        >>> import tempfile
        >>> from minispore.dataset import digits
        >>> folder = tempfile.TemporaryDirectory()
        >>> data = MnistDataset(digits.write(folder.name, train=20, test=10), "train")
        >>> data.get_dataset_size(), data.output_shapes()
        (20, [[28, 28, 1], []])
        >>> folder.cleanup()

    Source: MindSpore's `mindspore.dataset.MnistDataset`.
    """

    def __init__(
        self,
        dataset_dir: str | os.PathLike[str],
        usage: str | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        sampler: AnySampler | None = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: None = None,
    ) -> None:
        caller = "MnistDataset"
        check_type(dataset_dir, (str, os.PathLike), "dataset_dir")
        check_type(usage, str, "usage", allow_none=True)
        check_one_of(usage or "all", ("train", "test", "all"), "usage")
        check_workers(num_parallel_workers, caller)
        if cache is not None:
            raise TypeError(
                f"For '{caller}', the argument 'cache' must be None, but got {cache!r}."
            )
        chosen = choose_sampler(
            sampler, shuffle, num_samples, num_shards, shard_id, caller, RuntimeError
        )
        store = find_mnist(Path(dataset_dir), usage or "all")
        super().__init__(MapStyleNode(("image", "label"), store, chosen))


@dataclass(frozen=True)
class MnistSource:
    """The images and labels of pairs of MNIST's files, read when the first row is."""

    pairs: tuple[tuple[Path, Path], ...]
    images: int

    def count(self) -> int:
        """Return the number of images."""
        return self.images

    def rows(self, indices: npt.NDArray[np.intp]) -> Iterable[Block]:
        """Return the images (n, 28, 28, 1) and labels (n,) with these indices, copied."""
        images, labels = self._arrays
        yield images.take(indices, axis=0), labels.take(indices)

    @cached_property
    def _arrays(self) -> tuple[Array, Array]:
        pairs = [_read_pair(images, labels) for images, labels in self.pairs]
        if len(pairs) == 1:
            return pairs[0]
        images, labels = zip(*pairs, strict=True)
        return np.concatenate(images), np.concatenate(labels)


def find_mnist(folder: Path, usage: str) -> MnistSource:
    """Return the source of the files in a folder that `usage` selects.

    Raises:
        ValueError: If there is no such folder.
        RuntimeError: If it has no such files, or images without labels or labels without images,
            or their headers do not fit.
    """
    if not folder.is_dir():
        raise ValueError(
            f"For 'MnistDataset', the argument 'dataset_dir' must be a folder, but '{folder}' is "
            "none or cannot be read."
        )
    names = [MNIST_NAMES[part] for part in (("test", "train") if usage == "all" else (usage,))]
    pairs: list[tuple[Path, Path]] = []
    for images, labels in ((_find(folder, name) for name in pair) for pair in names):
        if images and labels:
            pairs.append((images, labels))
        elif images or labels:
            there, missing = ("images", "labels") if images else ("labels", "images")
            raise RuntimeError(
                f"For 'MnistDataset', the folder '{folder}' has the {there} '{images or labels}' "
                f"but not their {missing}."
            )
    if not pairs:
        listed = " or ".join(f"'{images}'" for images, _ in names)
        raise RuntimeError(
            f"For 'MnistDataset', there is no {listed}, plain or with .gz, in the folder "
            f"'{folder}'."
        )
    return MnistSource(tuple(pairs), sum(_count_images(*pair) for pair in pairs))


def _find(folder: Path, name: str) -> Path | None:
    paths = (folder / name, folder / f"{name}.gz")
    return next((path for path in paths if path.is_file()), None)


def _count_images(images: Path, labels: Path) -> int:
    shape, label_shape = read_idx_shape(images), read_idx_shape(labels)
    if shape[1:] != (_SIDE, _SIDE):
        raise RuntimeError(f"'{images}' must hold images of 28 x 28, but its shape is {shape}.")
    if len(label_shape) != 1:
        raise RuntimeError(
            f"'{labels}' must hold one label an image, but its shape is {label_shape}."
        )
    if shape[0] != label_shape[0]:
        raise RuntimeError(
            f"'{images}' holds {shape[0]} images, but '{labels}' holds {label_shape[0]} labels."
        )
    return shape[0]


def _read_pair(images: Path, labels: Path) -> tuple[Array, Array]:
    count = _count_images(images, labels)
    pixels, digits = read_idx(images), read_idx(labels)
    if pixels.size != count * _SIDE * _SIDE or digits.size != count:
        raise RuntimeError(f"'{images}' or '{labels}' changed while it was read.")
    if count and digits.max() >= _CLASSES:
        index = int((digits >= _CLASSES).argmax())
        raise RuntimeError(
            f"'{labels}' must hold labels from 0 to 9, but label number {index} is {digits[index]}."
        )
    return pixels.reshape(count, _SIDE, _SIDE, 1), digits.astype(np.uint32)
