"""The base class of data sets of images and labels in files."""

import os
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import NoneType

from minispore.dataset._dataset import check_workers
from minispore.dataset._node import Array, Block
from minispore.dataset._source_datasets import AnySampler, MappableDataset, check_absent
from minispore.dataset._sources import MapStyleNode
from minispore.dataset.samplers import (
    choose_sampler,
)
from minispore.utils.arrays import IndexArray
from minispore.utils.checks import (
    caller,
    check_one_of,
    check_type,
)


@dataclass(frozen=True)
class FileSource:
    """Columns in files, read when the first row is: images, and after them labels."""

    length: int
    load: Callable[[], tuple[Array, ...]]

    def count(self) -> int:
        """Return the number of rows."""
        return self.length

    def labels(self, column: int) -> Array:
        """Return the labels of all rows in the column number `column`."""
        return self._arrays[column]

    def rows(self, indices: IndexArray) -> Iterable[Block]:
        """Return the rows with these indices, copied."""
        yield tuple([array.take(indices, axis=0) for array in self._arrays])

    @cached_property
    def _arrays(self) -> tuple[Array, ...]:
        return self.load()


class LabelledImagesDataset(MappableDataset):
    """Base class of images and labels in a folder of files for "train" and "test"."""

    _names: tuple[str, ...] = ("image", "label")

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
        check_type(usage, (str, NoneType), "usage")
        check_one_of(usage or "all", ("train", "test", "all"), "usage")
        check_workers(num_parallel_workers)
        check_absent(cache, "cache")
        chosen = choose_sampler(sampler, shuffle, num_samples, num_shards, shard_id, RuntimeError)
        store = self._find(as_folder(dataset_dir), usage or "all")
        super().__init__(MapStyleNode(self._names, store, chosen))

    @abstractmethod
    def _find(self, folder: Path, usage: str) -> FileSource:
        """Return the images and labels in the files of a folder that `usage` selects."""


def as_folder(path: str | os.PathLike[str]) -> Path:
    """Return the argument `dataset_dir` as a path.

    Raises:
        ValueError: If there is no such folder.
    """
    check_type(path, (str, os.PathLike), "dataset_dir")
    folder = Path(path)
    if not folder.is_dir():
        raise ValueError(
            f"For '{caller()}', the argument 'dataset_dir' must be a folder, but '{folder}' is "
            "none or cannot be read."
        )
    return folder
