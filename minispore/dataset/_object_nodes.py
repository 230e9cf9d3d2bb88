"""Nodes that read objects of the user: by index, in their order, and in batches of their own."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from operator import getitem

import numpy as np

from minispore.dataset._batches import Function, as_one_row, call_with_rows, concatenate
from minispore.dataset._node import (
    Block,
    EpochKey,
    NamedColumns,
    Row,
    as_element,
    call_user_code,
    rebatch,
    user_code_error,
)
from minispore.dataset.samplers import SupportsIndexing
from minispore.utils.arrays import IndexArray
from minispore.utils.checks import as_tuple, is_dict


@dataclass(frozen=True)
class ObjectSource:
    """An object of the user with `__getitem__` and `__len__`."""

    source: SupportsIndexing
    convert: Callable[[object], Row]

    @property
    def user_code(self) -> tuple[object, ...]:
        """The object."""
        return (self.source,)

    def count(self) -> int:
        """Return the length of the object."""
        return len(self.source)

    def rows(self, indices: IndexArray) -> Iterable[Block]:
        """Return the rows with these indices."""
        items = (
            call_user_code(getitem, self.source, i, code=self.source, row=i)
            for i in indices.tolist()
        )
        return rebatch(map(self.convert, items), len(indices))


@dataclass(frozen=True)
class IterableNode(NamedColumns):
    """The rows of a generator function or an iterable, in its order."""

    start: Callable[[], Iterable[object]]
    convert: Callable[[object], Row]
    num_samples: int | None
    known_size: int | None
    # Not empty after an epoch has yielded a row.
    has_yielded: list[bool] = field(default_factory=list[bool], compare=False)

    @property
    def user_code(self) -> tuple[object, ...]:
        """The generator function or the iterable."""
        return (self.start,)

    def size(self) -> int:
        """Return the length of the iterable if it has one; otherwise count its rows."""
        if self.known_size is None:
            return super().size()
        return min(self.known_size, self.num_samples or self.known_size)

    def blocks(self, key: EpochKey, max_rows: int, start: int = 0) -> Iterator[Block]:
        """Yield the rows; those before `start` are requested and discarded."""
        del key
        return rebatch(self._rows(start), max_rows)

    def _rows(self, start: int) -> Iterator[Row]:
        taken = 0
        values = self._values()
        while (not self.num_samples or taken < self.num_samples) and (row := next(values, None)):
            if taken >= start:
                yield self.convert(row[0])
            taken += 1

    def _values(self) -> Iterator[tuple[object]]:
        row = 0
        try:
            for value in self.start():
                if not row:
                    self.has_yielded[:] = [True]
                row += 1
                yield (value,)
        except Exception as error:
            raise user_code_error(self.start, error, row) from error
        if self.known_size is not None and row != self.known_size:
            raise RuntimeError(
                f"For 'GeneratorDataset', the 'source' has the length {self.known_size}, but "
                f"yielded {row} rows."
            )
        if not row and self.has_yielded:
            raise RuntimeError(
                "For 'GeneratorDataset', the 'source' yielded rows in an earlier epoch but none in "
                "this one: it is, or returns, an exhausted iterator. Give a function that makes a "
                "new iterator for each epoch, such as lambda: zip(x, y)."
            )


def as_row(
    columns: tuple[str, ...],
    types: tuple[np.dtype[np.generic], ...] | None,
    value: object,
) -> Row:
    """Return what the user's source yields as a row of checked arrays."""
    values = as_tuple(value)
    if len(columns) > 1 and is_dict(value):
        # A row of other libraries' data sets; it may have further columns.
        values = tuple([value[name] for name in columns if name in value])
    if len(values) != len(columns):
        raise RuntimeError(
            f"For 'GeneratorDataset', the source must give {len(columns)} values a row, one for "
            f"each column, but gave {len(values)}."
        )
    named = zip(columns, values, strict=True)
    subject = "For 'GeneratorDataset', a value of the column"
    row = tuple([as_element(item, f"{subject} {name!r}") for name, item in named])
    for name, array, expected in zip(columns, row, types or (), strict=False):
        # Strings have a type for each length.
        if array.dtype != expected and (array.dtype.kind, expected.kind) != ("U", "U"):
            raise RuntimeError(
                f"For 'GeneratorDataset', the column {name!r} must be of type {expected} as "
                f"'column_types' says, but the source gave {array.dtype}."
            )
    return row


@dataclass(frozen=True)
class SampledBatches(NamedColumns):
    """Batches of the rows of an object, each with the indices that a batch sampler yields."""

    store: ObjectSource
    start: Callable[[], Iterable[Iterable[int]]]
    collate: Function | None

    @property
    def user_code(self) -> tuple[object, ...]:
        """The object, the batch sampler and the function of the batch."""
        code = (self.store.source, self.start)
        return code if self.collate is None else (*code, self.collate)

    @property
    def batch_size(self) -> int:
        """-1: the batch sampler determines it."""
        return -1

    def size(self) -> int:
        """Count the batches that the batch sampler yields."""
        return sum(1 for _ in self.start())

    def blocks(self, key: EpochKey, max_rows: int, start: int = 0) -> Iterator[Block]:
        """Yield one batch per block; the rows of batches before `start` are not read."""
        del key, max_rows
        for indices in islice(self.start(), start, None):
            parts = list(self.store.rows(np.array([*indices], np.intp)))
            batch = concatenate(parts, self.names)
            if self.collate is not None:
                batch = call_with_rows(
                    "GeneratorDataset", "collate_fn", self.collate, batch, len(self.names)
                )
            yield tuple([as_one_row(column) for column in batch])
