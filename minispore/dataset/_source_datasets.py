"""Datasets of arrays and of Python objects."""

import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import replace
from functools import partial
from itertools import tee
from pathlib import Path
from types import FunctionType, NoneType
from typing import cast

import numpy as np

from minispore.common.dtype import as_dtype, string
from minispore.dataset._batches import SampledBatches
from minispore.dataset._dataset import Dataset, Names, as_names, check_workers, count_workers
from minispore.dataset._node import Array, Node, as_element, initial_key
from minispore.dataset._sources import (
    ArraySource,
    FileSource,
    IterableNode,
    MapStyleNode,
    ObjectSource,
    TextColumn,
    as_row,
)
from minispore.dataset.iterators import arrays
from minispore.dataset.samplers import (
    BuiltinSampler,
    IndexIterable,
    Sampler,
    SupportsIndexing,
    as_sampler,
    choose_sampler,
)
from minispore.utils.arrays import AnyArray, IndexArray
from minispore.utils.checks import (
    as_items,
    as_tuple,
    caller,
    check_int,
    check_one_of,
    check_type,
    describe_value,
    is_dict,
    is_iterable,
    is_sequence,
)

AnySampler = BuiltinSampler | Sampler | Iterable[int] | IndexIterable


class MappableDataset(Dataset):
    """Base class of sources; `dataset[i]` is row `i` of the first epoch, a tuple of arrays.

    Args:
        node: The source node, which the subclasses construct.

    Examples:
        >>> from minispore.dataset import NumpySlicesDataset
        >>> data = NumpySlicesDataset({"x": [1, 2], "y": [3, 4]}, shuffle=False)
        >>> [column.tolist() for column in data[-1]]
        [2, 4]

    Source: MindSpore's `mindspore.dataset.MappableDataset`.
    """

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self._first_epoch: IndexArray | None = None

    def __getitem__(self, index: int) -> tuple[Array, ...]:
        node = self._map_style_node()
        if self._first_epoch is None:
            self._first_epoch = node.indices(initial_key())
        count = len(self._first_epoch)
        number = check_int(index, "index")
        if not -count <= number < count:
            raise IndexError(
                f"For '{type(self).__name__}', there is no row {number}; it has {count} rows."
            )
        block = next(iter(node.store.rows(self._first_epoch[[number]])))
        return tuple(arrays(tuple([column[0, ...] for column in block])))

    def use_sampler(self, new_sampler: AnySampler) -> None:
        """Replace the sampler of this dataset, beginning with the next iterator.

        Args:
            new_sampler: A sampler, or an iterable of row indices.

        Raises:
            TypeError: If the source is not map-style.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> data = NumpySlicesDataset([5, 6, 7])
            >>> data.use_sampler([2, 0])
            >>> [int(x) for (x,) in data]
            [7, 5]
        """
        sampler = as_sampler(new_sampler)
        self._node = replace(self._map_style_node(), sampler=sampler)
        self._known_size = self._first_epoch = None

    def _map_style_node(self) -> MapStyleNode:
        if not isinstance(self._node, MapStyleNode):
            raise TypeError(
                f"This {type(self).__name__}'s source has no '__getitem__' and '__len__', so "
                "its rows cannot be chosen by index."
            )
        return self._node


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


def check_absent(value: object, name: str) -> None:
    """Raise TypeError unless an argument that is not supported is None."""
    if value is not None:
        raise TypeError(f"For '{caller()}', the argument '{name}' must be None, but got {value!r}.")


class NumpySlicesDataset(MappableDataset):
    """The slices of arrays along their first axis.

    Args:
        data: An array or a list for one column, a tuple of them for several columns, or a
            dictionary from column names to them.
        column_names: Names of the columns; None for the keys of the dictionary, or column_0, ...
        num_samples: The maximum number of rows of an epoch; None for all.
        num_parallel_workers: Accepted without effect: all work is done in the calling thread.
        shuffle: Whether each epoch has another random order; None for True.
        sampler: Chooses rows, instead of `num_samples`, `shuffle` and shards.
        num_shards: The number of processes among which the rows are divided.
        shard_id: The index of this process, from 0.

    Raises:
        TypeError: If a list has strings among other values.
        ValueError: If columns differ in length, or arguments contradict one another.

    Examples:
        >>> data = NumpySlicesDataset({"x": [1.5, 2.5], "y": [3, 4]}, shuffle=False)
        >>> [[x.item(), y.item()] for x, y in data]
        [[1.5, 3], [2.5, 4]]

    Source: MindSpore's `mindspore.dataset.NumpySlicesDataset`.
    """

    def __init__(
        self,
        data: AnyArray | Sequence[object] | Mapping[str, object],
        column_names: Names | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = 1,
        shuffle: bool | None = None,
        sampler: AnySampler | None = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        check_workers(num_parallel_workers)
        chosen = choose_sampler(sampler, shuffle, num_samples, num_shards, shard_id)
        arrays, keys = _columns(data)
        names = keys if column_names is None else as_names(column_names, "column_names")
        if len(names) != len(arrays):
            raise ValueError(
                f"For '{caller()}', 'column_names' must be {len(arrays)} names, but got "
                f"{len(names)}."
            )
        super().__init__(MapStyleNode(names, ArraySource(arrays), chosen))


class GeneratorDataset(MappableDataset):
    """Rows from a Python source: each is a tuple of one value for each column, or one value.

    Args:
        source: A function that returns an iterator (a generator function), an iterable, or an
            object with `__getitem__` and `__len__`. Only the last is map-style: it can be
            shuffled, sampled, sharded and indexed. The rows of an iterator that can be used only
            once, such as a zip or a generator, are kept in memory for the next epoch; those of a
            function are not.
        column_names: Names of the columns.
        column_types: Their types, which are checked in each row, `minispore.string` for strings;
            None for any.
        schema: Must be None: MindSpore's schema files are not supported.
        num_samples: The maximum number of rows of an epoch; None for all.
        num_parallel_workers: The number of processes that read a map-style source without
            `batch_sampler`; None for that of `dataset.config`.
        shuffle: Whether each epoch has another random order; None for True if the source is
            map-style, and otherwise False.
        sampler: Chooses rows, instead of `num_samples`, `shuffle` and shards.
        num_shards: The number of processes among which the rows are divided.
        shard_id: The index of this process, from 0.
        python_multiprocessing: Whether more than one `num_parallel_workers` are processes, with the
            conditions of `Dataset.map`; otherwise all work is done in the calling thread.
        max_rowsize: Accepted without effect.
        batch_sampler: Chooses the rows of each batch, instead of the other samplers: an iterable of
            lists of row indices. The dataset then consists of batches.
        collate_fn: A function of the rows of a batch (a list of arrays for each column), which
            returns the batch's value of each column. It needs `batch_sampler`.

    Raises:
        ValueError: If a source that is not map-style is to be sampled or sharded, or arguments
            contradict one another.
        RuntimeError: On iteration, if the source fails, or yields values that do not fit
            `column_names` and `column_types`, or no row after an epoch with some, or an iterable
            more or fewer rows than its length.

    Examples:
        >>> def squares():
        ...     for i in range(3):
        ...         yield i, i * i
        >>> data = GeneratorDataset(squares, ["number", "square"])
        >>> [int(row["square"]) for row in data.create_dict_iterator(num_epochs=1)]
        [0, 1, 4]

    Source: MindSpore's `mindspore.dataset.GeneratorDataset`.
    """

    def __init__(
        self,
        source: SupportsIndexing | Iterable[object] | Callable[[], Iterable[object]],
        column_names: Names | None = None,
        column_types: Sequence[object] | None = None,
        schema: None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = 1,
        shuffle: bool | None = None,
        sampler: AnySampler | None = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        python_multiprocessing: bool = True,
        max_rowsize: int | None = None,
        batch_sampler: Iterable[Iterable[int]] | SupportsIndexing | None = None,
        collate_fn: Callable[..., object] | None = None,
    ) -> None:
        del max_rowsize
        workers = count_workers(num_parallel_workers, python_multiprocessing)
        if schema is not None or column_names is None:
            raise ValueError(
                f"For '{caller()}', the argument 'column_names' must name the columns, and "
                "'schema' must be None."
            )
        names = as_names(column_names, "column_names")
        types = None if column_types is None else _as_dtypes(column_types, names)
        convert = partial(as_row, names, types)
        chosen = choose_sampler(sampler, shuffle, num_samples, num_shards, shard_id)
        if batch_sampler is not None:
            others = (sampler, shuffle, num_samples, num_shards, shard_id)
            alone = all(other is None for other in others)
            if not alone or not isinstance(source, SupportsIndexing):
                raise ValueError(
                    f"For '{caller()}', 'batch_sampler' needs a 'source' with '__getitem__' and "
                    "'__len__', and no 'sampler', 'shuffle', 'num_samples' or shards."
                )
            store = ObjectSource(source, convert)
            batches = _as_batches(batch_sampler, len(source))
            super().__init__(SampledBatches(names, store, batches, collate_fn))
            return
        if collate_fn is not None:
            raise ValueError(f"For '{caller()}', 'collate_fn' needs 'batch_sampler'.")
        if isinstance(source, SupportsIndexing):
            super().__init__(MapStyleNode(names, ObjectSource(source, convert), chosen, workers))
            return
        for name, value in (("sampler", sampler), ("num_shards", num_shards)):
            if value is not None:
                raise ValueError(
                    f"For '{caller()}', the argument '{name}' needs a 'source' with '__getitem__' "
                    f"and '__len__', but got {source!r}."
                )
        size = len(source) if isinstance(source, Sized) else None
        super().__init__(IterableNode(names, _as_restartable(source), convert, num_samples, size))


def _columns(data: object) -> tuple[tuple[Array | TextColumn, ...], tuple[str, ...]]:
    """Return the arrays in the argument `data`, and their default names."""
    _refuse_table(data)
    check_type(data, (list, tuple, dict, np.ndarray), "data")
    keys: tuple[str, ...] = ()
    columns = as_tuple(data)
    if is_dict(data):
        keys = as_names(list(data), "data") if data else ()
        columns = tuple(data.values())
    subject = "For 'NumpySlicesDataset', a column of the argument 'data'"
    arrays = tuple([_as_column(column, subject) for column in columns])
    if not arrays or any(not array.ndim or not len(array) for array in arrays):
        raise ValueError(
            "For 'NumpySlicesDataset', the argument 'data' must have rows, but has none."
        )
    lengths = [len(array) for array in arrays]
    if len(set(lengths)) > 1:
        raise ValueError(
            "For 'NumpySlicesDataset', the columns of the argument 'data' must have the same "
            f"length, but got {lengths}."
        )
    return arrays, keys or tuple([f"column_{i}" for i in range(len(arrays))])


def _refuse_table(data: object) -> None:
    if hasattr(data, "__array__") and not isinstance(data, np.ndarray):
        # One of pandas, for example, whose repr is long.
        convert = "dict(data)" if hasattr(data, "columns") else "numpy.asarray(data)"
        raise TypeError(
            "For 'NumpySlicesDataset', the argument 'data' must be a list, tuple, dict or array, "
            f"such as {convert} of this {type(data).__name__}."
        )


def _as_column(values: object, subject: str) -> Array | TextColumn:
    """Return a column as an array, of objects if it is a list of dictionaries, or as texts."""
    if is_sequence(values) and values and all(isinstance(value, dict) for value in values):
        return np.array(values, np.object_)
    items = as_items(values) or ()
    texts = [item for item in items if isinstance(item, str)]
    if texts and len(texts) < len(items):
        raise TypeError(
            f"{subject} must have no strings among other values, but got {describe_value(values)}."
        )
    if texts:
        return TextColumn(texts)
    return as_element(values, subject)


def _as_batches(batch_sampler: object, count: int) -> Callable[[], Iterable[Iterable[int]]]:
    """Return a function that returns an iterator over the indices of batches."""
    if isinstance(batch_sampler, Sampler):
        batch_sampler.dataset_size = count
    if isinstance(batch_sampler, SupportsIndexing) and not isinstance(batch_sampler, Iterable):
        indexable = batch_sampler
        return lambda: [cast("Iterable[int]", indexable[i]) for i in range(len(indexable))]
    if not hasattr(batch_sampler, "__iter__"):
        raise TypeError(
            "For 'GeneratorDataset', the argument 'batch_sampler' must be an iterable of lists of "
            f"row indices, but got {batch_sampler!r}."
        )
    return cast("Callable[[], Iterable[Iterable[int]]]", _as_restartable(batch_sampler))


def _as_restartable(source: object) -> Callable[[], Iterable[object]]:
    """Return a function that returns an iterator over all rows, whenever it is called."""
    if is_iterable(source):
        if not isinstance(source, Iterator) or _is_restartable(source):
            return source.__iter__
        # It can be iterated over only once, so its rows are kept for the next epoch.
        (rows,) = tee(source, 1)

        def replay() -> Iterator[object]:
            nonlocal rows
            rows, again = tee(rows)
            return again

        return replay
    if callable(source):
        return cast(Callable[[], Iterable[object]], source)
    raise TypeError(
        "For 'GeneratorDataset', the argument 'source' must be a function that returns an "
        f"iterator, an iterable, or an object with '__getitem__' and '__len__', but got {source!r}."
    )


def _is_restartable(source: Iterator[object]) -> bool:
    """Return whether `iter(source)` may restart: only if a Python class defines `__iter__`.

    zip, map, files, generators and other iterators written in C continue instead.
    """
    method = type(source).__iter__
    return isinstance(method, FunctionType) and method is not Iterator[object].__iter__


def _as_dtypes(types: Sequence[object], names: tuple[str, ...]) -> tuple[np.dtype[np.generic], ...]:
    check_type(types, (list, tuple), "column_types")
    if len(types) != len(names):
        raise ValueError(
            f"For '{caller()}', 'column_types' must be {len(names)} types, one for each column, "
            f"but got {len(types)}."
        )
    return tuple(
        [
            np.dtype(string) if kind is string else as_dtype(kind, "column_types").numpy_dtype
            for kind in types
        ]
    )
