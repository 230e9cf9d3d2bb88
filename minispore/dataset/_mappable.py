"""Datasets whose rows can be had by number: MNIST's, arrays, and objects with `__getitem__`."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from minispore._checks import check_int, check_one_of, check_type
from minispore.dataset._arguments import Names, check_workers, column_names
from minispore.dataset._block import Array, as_element, as_tuple
from minispore.dataset._dataset import Dataset
from minispore.dataset._mnist_files import find_mnist
from minispore.dataset._sources import ArrayStore, StoreNode
from minispore.dataset.samplers import BuiltinSampler, RowNumbers, Sampler, choose_sampler

AnySampler = BuiltinSampler | Sampler | Iterable[int] | RowNumbers


class MappableDataset(Dataset):
    """A source; where its rows can be had by number, `dataset[i]` is row `i`, a tuple of arrays.

    The number counts as the source does, whatever the sampler.
    """

    def __getitem__(self, index: int) -> tuple[Array, ...]:
        store = self._stored().store
        count = store.count()
        number = check_int(index, "index", type(self).__name__)
        if not -count <= number < count:
            raise IndexError(
                f"For '{type(self).__name__}', there is no row {number}; it has {count} rows."
            )
        block = next(iter(store.rows(np.array([number % count]))))
        return tuple([column[0, ...] for column in block])

    def use_sampler(self, new_sampler: AnySampler) -> None:
        """Choose rows by another sampler from the next iterator on, in this dataset itself.

        Raises:
            TypeError: If it is neither a sampler nor an iterable of row numbers, or the source has
                no rows by number.
        """
        sampler = choose_sampler(new_sampler, None, None, None, None, "use_sampler")
        self._node = replace(self._stored(), sampler=sampler)
        self._known_size = None

    def _stored(self) -> StoreNode:
        if not isinstance(self._node, StoreNode):
            raise TypeError(
                f"This {type(self).__name__}'s source has no '__getitem__' and '__len__', so it "
                "has no rows by number."
            )
        return self._node


class MnistDataset(MappableDataset):
    """MNIST: the columns "image" (28, 28, 1) of uint8 and "label" () of uint32.

    The files are MNIST's own, plain or gzipped: `train-images-idx3-ubyte`,
    `train-labels-idx1-ubyte`, `t10k-images-idx3-ubyte` and `t10k-labels-idx1-ubyte`, with or
    without `.gz`.
    Source: https://www.mindspore.cn/docs/en/master/api_python/dataset/mindspore.dataset.MnistDataset.html

    Args:
        dataset_dir: The folder.
        usage: "train", "test", or "all" (None, too): what there is of both, test first.
        num_samples: At most so many rows an epoch; None for all.
        num_parallel_workers: Accepted; the work is done in the calling thread.
        shuffle: Whether each epoch comes in another random order; None for yes.
        sampler: Chooses rows in place of `num_samples`, `shuffle` and shards.
        num_shards: Of how many processes each takes its share.
        shard_id: Which share this is, from 0.
        cache: None; MindSpore's cache server is not offered.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If there is no such folder, or an argument is out of range.
        RuntimeError: If arguments contradict one another, the files are not there, or one is
            damaged: its name is in the message.
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
        owner = "MnistDataset"
        check_type(dataset_dir, (str, os.PathLike), "dataset_dir", owner)
        check_type(usage, str, "usage", owner, none=True)
        check_one_of(usage or "all", ("train", "test", "all"), "usage", owner)
        check_workers(num_parallel_workers, owner)
        if cache is not None:
            raise TypeError(f"For '{owner}', the argument 'cache' must be None, but got {cache!r}.")
        chosen = choose_sampler(
            sampler, shuffle, num_samples, num_shards, shard_id, owner, RuntimeError
        )
        store = find_mnist(Path(dataset_dir), usage or "all")
        store.count()
        super().__init__(StoreNode(("image", "label"), store, chosen))


class NumpySlicesDataset(MappableDataset):
    """Rows cut from arrays along their first axis.

    Source: https://www.mindspore.cn/docs/en/master/api_python/dataset/mindspore.dataset.NumpySlicesDataset.html

    Args:
        data: An array or a list (one column), a tuple of them (a column each), or a dictionary from
            column names to them.
        column_names: Names of the columns; None for the dictionary's keys, or column_0, column_1, …
        num_samples: At most so many rows an epoch; None for all.
        num_parallel_workers: Accepted; the work is done in the calling thread.
        shuffle: Whether each epoch comes in another random order; None for yes.
        sampler: Chooses rows in place of `num_samples`, `shuffle` and shards.
        num_shards: Of how many processes each takes its share.
        shard_id: Which share this is, from 0.

    Raises:
        TypeError: If an argument has the wrong type, or the data are no numbers.
        ValueError: If there are no data, columns differ in length, or there are not as many names
            as columns; if arguments contradict one another.

    Examples:
        >>> data = NumpySlicesDataset({"x": [1.5, 2.5], "y": [3, 4]}, shuffle=False)
        >>> data[1]
        (array(2.5), array(4))
    """

    def __init__(
        self,
        data: npt.NDArray[np.generic] | Sequence[object] | Mapping[str, object],
        column_names: Names | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = 1,
        shuffle: bool | None = None,
        sampler: AnySampler | None = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        owner = "NumpySlicesDataset"
        check_workers(num_parallel_workers, owner)
        chosen = choose_sampler(sampler, shuffle, num_samples, num_shards, shard_id, owner)
        arrays, keys = _columns(data)
        names = keys if column_names is None else _names(column_names, owner)
        if len(names) != len(arrays):
            raise ValueError(
                f"For '{owner}', 'column_names' must be {len(arrays)} names, but got {len(names)}."
            )
        super().__init__(StoreNode(names, ArrayStore(arrays), chosen))


def _names(names: Names, owner: str) -> tuple[str, ...]:
    return column_names(names, "column_names", owner)


def _columns(data: object) -> tuple[tuple[Array, ...], tuple[str, ...]]:
    """Return the arrays of `NumpySlicesDataset`'s data, and the names that they have by default."""
    check_type(data, (list, tuple, dict, np.ndarray), "data", "NumpySlicesDataset")
    keys: tuple[str, ...] = ()
    columns = as_tuple(data)
    if isinstance(data, dict):
        named = cast(dict[str, object], data)
        keys = column_names(list(named), "data", "NumpySlicesDataset") if named else ()
        columns = tuple(named.values())
    what = "For 'NumpySlicesDataset', a column of the argument 'data'"
    arrays = tuple([as_element(column, what) for column in columns])
    if not arrays or any(not array.ndim or not len(array) for array in arrays):
        raise ValueError(
            "For 'NumpySlicesDataset', the argument 'data' must have rows, but has none."
        )
    if len({len(array) for array in arrays}) > 1:
        lengths = [len(array) for array in arrays]
        raise ValueError(
            "For 'NumpySlicesDataset', the columns of the argument 'data' must have the same "
            f"length, but got {lengths}."
        )
    return arrays, keys or tuple([f"column_{i}" for i in range(len(arrays))])
