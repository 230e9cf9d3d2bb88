"""Datasets from the user's own Python objects: generators, iterables, and indexable objects."""

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from itertools import tee
from types import FunctionType
from typing import cast

import numpy as np

from minispore._checks import check_type
from minispore.common.dtype import as_dtype
from minispore.dataset._arguments import Names, check_workers, column_names
from minispore.dataset._mappable import AnySampler, MappableDataset
from minispore.dataset._sources import (
    IterableNode,
    ObjectStore,
    StoreNode,
    SupportsIndexing,
    row_converter,
)
from minispore.dataset.samplers import choose_sampler

_OWNER = "GeneratorDataset"


class GeneratorDataset(MappableDataset):
    """Rows from a Python source: each is a tuple of one value for each column, or one value.

    Source: https://www.mindspore.cn/docs/en/master/api_python/dataset/mindspore.dataset.GeneratorDataset.html

    Args:
        source: A function that returns an iterator (a generator function), an iterable, or an
            object with `__getitem__` and `__len__`. Only the last can be shuffled, sampled, shared
            in shards and indexed. Of an iterator that can be used only once, such as a zip or a
            generator, all rows are kept for the next epoch; a function needs no memory for that.
        column_names: Names of the columns.
        column_types: Their types, checked on every row; None for whatever comes.
        schema: None; MindSpore's schema files are not offered.
        num_samples: At most so many rows an epoch; None for all.
        num_parallel_workers: Accepted; the work is done in the calling thread.
        shuffle: Whether each epoch comes in another random order; None for yes where the source has
            rows by number, and no where it has not.
        sampler: Chooses rows in place of `num_samples`, `shuffle` and shards.
        num_shards: Of how many processes each takes its share.
        shard_id: Which share this is, from 0.
        python_multiprocessing: Accepted like `num_parallel_workers`.
        max_rowsize: Accepted likewise.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If there are no column names, or the source has no rows by number and is to be
            sampled or shared in shards; if arguments contradict one another.
        RuntimeError: On iteration, if the source fails or gives something else than `column_names`
            and `column_types` say, or no row after it gave some in an earlier pass.

    Examples:
        >>> def squares():
        ...     for i in range(3):
        ...         yield i, i * i
        >>> data = GeneratorDataset(squares, ["number", "square"])
        >>> [int(row["square"]) for row in data.create_dict_iterator(num_epochs=1)]
        [0, 1, 4]
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
    ) -> None:
        del python_multiprocessing, max_rowsize
        check_workers(num_parallel_workers, _OWNER)
        if schema is not None or column_names is None:
            raise ValueError(
                f"For '{_OWNER}', the argument 'column_names' must name the columns, and 'schema' "
                "must be None."
            )
        names = _names(column_names)
        types = None if column_types is None else _types(column_types, names)
        convert = row_converter(names, types, _OWNER)
        chosen = choose_sampler(sampler, shuffle, num_samples, num_shards, shard_id, _OWNER)
        if isinstance(source, SupportsIndexing):
            super().__init__(StoreNode(names, ObjectStore(source, convert), chosen))
            return
        for name, value in (("sampler", sampler), ("num_shards", num_shards)):
            if value is not None:
                raise ValueError(
                    f"For '{_OWNER}', the argument '{name}' needs a 'source' with '__getitem__' "
                    f"and '__len__', but got {source!r}."
                )
        super().__init__(IterableNode(names, _starter(source), convert, num_samples, _size(source)))


def _starter(source: object) -> Callable[[], Iterable[object]]:
    """Return what gives the source's rows anew for each epoch."""
    if isinstance(source, Iterator) and not _starts_again(cast("Iterator[object]", source)):
        # It can be gone through only once, so what it gave is kept for the next epoch.
        kept = list(tee(cast(Iterator[object], source), 1))

        def replay() -> Iterator[object]:
            kept[0], again = tee(kept[0])
            return again

        return replay
    if isinstance(source, Iterable):
        return cast(Iterable[object], source).__iter__
    if callable(source):
        return cast(Callable[[], Iterable[object]], source)
    raise TypeError(
        f"For '{_OWNER}', the argument 'source' must be a function that returns an iterator, an "
        f"iterable, or an object with '__getitem__' and '__len__', but got {source!r}."
    )


def _starts_again(source: Iterator[object]) -> bool:
    """Whether `iter(source)` may go back to the start: only where a class of a program says how.

    zip, map, files, generators and what else is written in C goes on from where it is.
    """
    method = type(source).__iter__
    return isinstance(method, FunctionType) and method is not Iterator[object].__iter__


def _size(source: object) -> int | None:
    return len(source) if isinstance(source, Sized) else None


def _names(names: Names) -> tuple[str, ...]:
    return column_names(names, "column_names", _OWNER)


def _types(types: Sequence[object], names: tuple[str, ...]) -> tuple[np.dtype[np.generic], ...]:
    check_type(types, (list, tuple), "column_types", _OWNER)
    if len(types) != len(names):
        raise ValueError(
            f"For '{_OWNER}', 'column_types' must be {len(names)} types, one for each column, but "
            f"got {len(types)}."
        )
    return tuple([as_dtype(type_, _OWNER, "column_types").numpy_dtype for type_ in types])
