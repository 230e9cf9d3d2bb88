"""The data set of a generator, an iterable, or an object with an index."""

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from functools import partial
from itertools import tee
from types import FunctionType
from typing import cast

import numpy as np

from minispore.dataset._dataset import Names, as_names, count_workers
from minispore.dataset._object_nodes import IterableNode, ObjectSource, SampledBatches, as_row
from minispore.dataset._source_datasets import AnySampler, MappableDataset
from minispore.dataset._sources import MapStyleNode
from minispore.dataset.samplers import (
    Sampler,
    SupportsIndexing,
    choose_sampler,
)
from minispore.engine.dtypes import as_dtype, string
from minispore.utils.checks import (
    caller,
    check_type,
    is_iterable,
)


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
