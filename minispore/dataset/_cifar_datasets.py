"""The images and labels of CIFAR-10's and CIFAR-100's files, in their binary version.

A file is a sequence of rows without a header: one byte for each label, and 3 x 32 x 32 bytes of the
image, channel by channel. Source: https://www.cs.toronto.edu/~kriz/cifar.html
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from minispore.dataset._labelled_images_dataset import FileSource, LabelledImagesDataset
from minispore.dataset._node import Array
from minispore.utils.arrays import UInt8Array
from minispore.utils.atomic import open_regular_file
from minispore.utils.checks import caller

_IMAGE: Final = (3, 32, 32)


class Cifar10Dataset(LabelledImagesDataset):
    """CIFAR-10's images and labels: "image" of shape (32, 32, 3), uint8, and "label" (), uint32.

    The files are those of CIFAR-10's binary version: `data_batch_1.bin` to `data_batch_5.bin` and
    `test_batch.bin`.

    Args:
        dataset_dir: The folder.
        usage: "train", "test", or "all" for both, or the one that is there, train first; None for
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
        RuntimeError: If arguments contradict one another, or files are missing or damaged.

    Examples:
        >>> import pathlib, tempfile
        >>> import numpy as np
        >>> folder = tempfile.TemporaryDirectory()
        >>> rows = np.zeros((5, 1 + 3 * 32 * 32), np.uint8)  # a label and an image in each row
        >>> _ = pathlib.Path(folder.name, "test_batch.bin").write_bytes(rows.tobytes())
        >>> data = Cifar10Dataset(folder.name, "test")
        >>> data.get_dataset_size(), data.output_shapes()
        (5, [[32, 32, 3], []])
        >>> folder.cleanup()

    Source: MindSpore's `mindspore.dataset.Cifar10Dataset`.
    """

    # The number of classes of each label, and the names of the files.
    _classes: tuple[int, ...] = (10,)
    _train: tuple[str, ...] = tuple([f"data_batch_{i}.bin" for i in range(1, 6)])
    _test: tuple[str, ...] = ("test_batch.bin",)

    def _find(self, folder: Path, usage: str) -> FileSource:
        names = {"train": self._train, "test": self._test}
        parts = [names[usage]] if usage in names else list(names.values())
        there = [part for part in parts if any((folder / name).is_file() for name in part)]
        paths = sorted(folder / name for part in there or parts for name in part)
        for path in paths:
            if not path.is_file():
                raise RuntimeError(
                    f"For '{caller()}', there is no '{path.name}' in the folder '{folder}'. Unpack "
                    "the archive of the binary version in it."
                )
        row = len(self._classes) + np.prod(_IMAGE, dtype=int)
        rows: list[int] = []
        for path in paths:
            count, excess = divmod(path.stat().st_size, row)
            if excess:
                raise RuntimeError(
                    f"'{path}' must have {row} bytes for each row, but has {excess} bytes too many."
                )
            rows.append(count)
        return FileSource(sum(rows), partial(_read, paths, rows, self._classes))


class Cifar100Dataset(Cifar10Dataset):
    """CIFAR-100's images (32, 32, 3), uint8, and their "coarse_label" and "fine_label" (), uint32.

    The files are those of CIFAR-100's binary version: `train.bin` and `test.bin`.

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
        RuntimeError: If arguments contradict one another, or files are missing or damaged.

    Examples:
        >>> import pathlib, tempfile
        >>> import numpy as np
        >>> folder = tempfile.TemporaryDirectory()
        >>> rows = np.zeros((5, 2 + 3 * 32 * 32), np.uint8)  # two labels and an image in each row
        >>> _ = pathlib.Path(folder.name, "test.bin").write_bytes(rows.tobytes())
        >>> Cifar100Dataset(folder.name, "test").get_col_names()
        ['image', 'coarse_label', 'fine_label']
        >>> folder.cleanup()

    Source: MindSpore's `mindspore.dataset.Cifar100Dataset`.
    """

    _names = ("image", "coarse_label", "fine_label")
    _classes = (20, 100)
    _train = ("train.bin",)
    _test = ("test.bin",)


def _read(
    paths: Sequence[Path], rows: Sequence[int], classes: tuple[int, ...]
) -> tuple[Array, ...]:
    """Return the images (n, 32, 32, 3) and the labels (n,) in files."""
    parts = [_read_file(path, count, classes) for path, count in zip(paths, rows, strict=True)]
    table = parts[0] if len(parts) == 1 else np.concatenate(parts)
    images = table[:, len(classes) :].reshape(-1, *_IMAGE).transpose(0, 2, 3, 1)
    labels = [table[:, i].astype(np.uint32) for i in range(len(classes))]
    return np.ascontiguousarray(images), *labels


def _read_file(path: Path, rows: int, classes: tuple[int, ...]) -> UInt8Array:
    with open(path, "rb", opener=open_regular_file) as file:
        content = np.frombuffer(file.read(), np.uint8)
    if content.size != rows * (len(classes) + np.prod(_IMAGE, dtype=int)):
        raise RuntimeError(f"'{path}' changed while it was read.")
    table = content.reshape(rows, -1)
    for i, count in enumerate(classes):
        wrong = np.flatnonzero(table[:, i] >= count)
        if len(wrong):
            raise RuntimeError(
                f"'{path}' must hold labels from 0 to {count - 1}, but label number {wrong[0]} is "
                f"{table[wrong[0], i]}."
            )
    return table
