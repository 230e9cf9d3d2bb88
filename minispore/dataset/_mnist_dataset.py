"""The images and labels of MNIST's files, and of files in the same format."""

from collections.abc import Sequence
from functools import partial
from itertools import starmap
from pathlib import Path

import numpy as np

from minispore.dataset._labelled_images_dataset import FileSource, LabelledImagesDataset
from minispore.dataset._node import Array
from minispore.dataset.idx import MNIST_NAMES, read_idx, read_idx_shape
from minispore.utils.checks import caller

_SIDE = 28
_CLASSES = 10


class MnistDataset(LabelledImagesDataset):
    """MNIST's images and labels: "image" of shape (28, 28, 1), uint8, and "label" (), uint32.

    The files are MNIST's own, plain or gzipped: `train-images-idx3-ubyte`,
    `train-labels-idx1-ubyte`, `t10k-images-idx3-ubyte` and `t10k-labels-idx1-ubyte`, with or
    without `.gz`, or with a dot before `idx`.

    Args:
        dataset_dir: The folder.
        usage: "train", "test", or "all" for both, or the one that is there, test first; None for
            "all".
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

    def _find(self, folder: Path, usage: str) -> FileSource:
        names = [MNIST_NAMES[part] for part in (("test", "train") if usage == "all" else (usage,))]
        pairs: list[tuple[Path, Path]] = []
        for images, labels in ((_find_file(folder, name) for name in pair) for pair in names):
            if images and labels:
                pairs.append((images, labels))
            elif images or labels:
                there, missing = ("images", "labels") if images else ("labels", "images")
                raise RuntimeError(
                    f"For '{caller()}', the folder '{folder}' has the {there} '{images or labels}' "
                    f"but not their {missing}."
                )
        if not pairs:
            listed = " or ".join(f"'{images}'" for images, _ in names)
            raise RuntimeError(
                f"For '{caller()}', there is no {listed}, plain or with .gz, in the folder "
                f"'{folder}'."
            )
        return FileSource(sum(_count_images(*pair) for pair in pairs), partial(_read_pairs, pairs))


class FashionMnistDataset(MnistDataset):
    """Fashion-MNIST's images of clothes and labels, in files with the names of MNIST's.

    Columns are "image" of shape (28, 28, 1), uint8, and "label" (), uint32.

    Args:
        dataset_dir: The folder.
        usage: "train", "test", or "all" for both, or the one that is there, test first; None for
            "all".
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
        >>> path = digits.write(folder.name, train=20, test=10)  # other images in this format
        >>> FashionMnistDataset(path, "test").get_dataset_size()
        10
        >>> folder.cleanup()

    Source: MindSpore's `mindspore.dataset.FashionMnistDataset`.
    """


def _find_file(folder: Path, name: str) -> Path | None:
    names = (name, name.replace("-idx", ".idx"))
    paths = (folder / f"{name}{ending}" for name in names for ending in ("", ".gz"))
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


def _read_pairs(pairs: Sequence[tuple[Path, Path]]) -> tuple[Array, Array]:
    if len(pairs) == 1:
        return _read_pair(*pairs[0])
    images, labels = zip(*starmap(_read_pair, pairs), strict=True)
    return np.concatenate(images), np.concatenate(labels)


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
