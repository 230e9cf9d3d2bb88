"""The leaves of a pipeline: rows by number from a store, or rows as an iterable gives them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from minispore.dataset._block import Array, Block, Row, as_element, as_tuple, stacked
from minispore.dataset._node import Node
from minispore.dataset._random import Epoch
from minispore.dataset.samplers import BuiltinSampler, IterSampler


@runtime_checkable
class SupportsIndexing(Protocol):
    """An object with a length and rows by number."""

    def __getitem__(self, index: int, /) -> object:
        """Return row number `index`: a value, or a tuple of one value for each column."""
        ...

    def __len__(self) -> int:
        """Return the number of rows."""
        ...


@runtime_checkable
class Store(Protocol):
    """Rows that can be had by number."""

    def count(self) -> int:
        """Return the number of rows."""
        ...

    def rows(self, indices: npt.NDArray[np.intp]) -> Iterable[Block]:
        """Return the rows of these numbers, copied."""
        ...


@dataclass(frozen=True)
class StoreNode(Node):
    """The rows of a store that a sampler chooses."""

    names: tuple[str, ...]
    store: Store
    sampler: BuiltinSampler

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the store's columns."""
        return self.names

    @property
    def user_code(self) -> tuple[object, ...]:
        """The object that rows come from, and the sampler, if they are the user's."""
        source = (self.store.source,) if isinstance(self.store, ObjectStore) else ()
        return (*source, self.sampler.sampler) if isinstance(self.sampler, IterSampler) else source

    def size(self) -> int:
        """Return the number of rows that the sampler takes."""
        return len(self.sampler.order(self.store.count(), Epoch(0, seeded=True)))

    def blocks(self, epoch: Epoch, most: int, start: int = 0) -> Iterator[Block]:
        """Yield the chosen rows; those before `start` are not touched."""
        order = self.sampler.order(self.store.count(), epoch)
        for i in range(start, len(order), most):
            yield from self.store.rows(order[i : i + most])


@dataclass(frozen=True)
class ArrayStore:
    """Columns that lie in memory."""

    arrays: tuple[Array, ...]

    def count(self) -> int:
        """Return the number of rows."""
        return len(self.arrays[0])

    def rows(self, indices: npt.NDArray[np.intp]) -> Iterable[Block]:
        """Return the rows of these numbers, copied."""
        yield tuple([array.take(indices, axis=0) for array in self.arrays])


@dataclass(frozen=True)
class ObjectStore:
    """An object of the user's with `__getitem__` and `__len__`."""

    source: SupportsIndexing
    convert: Callable[[object], Row]

    def count(self) -> int:
        """Return the object's length."""
        return len(self.source)

    def rows(self, indices: npt.NDArray[np.intp]) -> Iterable[Block]:
        """Return the rows of these numbers."""
        return stacked((self.convert(self._get(i)) for i in indices.tolist()), len(indices))

    def _get(self, index: int) -> object:
        try:
            return self.source[index]
        except Exception as error:
            raise user_code_failed(self.source, error) from error


@dataclass(frozen=True)
class IterableNode(Node):
    """The rows of a generator function or an iterable, in its order."""

    names: tuple[str, ...]
    start: Callable[[], Iterable[object]]
    convert: Callable[[object], Row]
    num_samples: int | None
    known_size: int | None = field(default=None)
    # Not empty once a pass has given a row.
    given: list[bool] = field(default_factory=list[bool], compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names that the user gave."""
        return self.names

    @property
    def user_code(self) -> tuple[object, ...]:
        """The generator function or the iterable."""
        return (self.start,)

    def size(self) -> int:
        """Return the iterable's length if it has one; otherwise count."""
        if self.known_size is None:
            return super().size()
        return min(self.known_size, self.num_samples or self.known_size)

    def blocks(self, epoch: Epoch, most: int, start: int = 0) -> Iterator[Block]:
        """Yield the rows; those before `start` are asked for and thrown away."""
        del epoch
        return stacked(self._rows(start), most)

    def _rows(self, start: int) -> Iterator[Row]:
        taken = 0
        values = self._values()
        while (not self.num_samples or taken < self.num_samples) and (row := next(values, None)):
            if taken >= start:
                yield self.convert(row[0])
            taken += 1

    def _values(self) -> Iterator[tuple[object]]:
        empty = True
        try:
            for value in self.start():
                if empty:
                    empty, self.given[:] = False, [True]
                yield (value,)
        except Exception as error:
            raise user_code_failed(self.start, error) from error
        if empty and self.given:
            raise RuntimeError(
                "For 'GeneratorDataset', the 'source' gave rows before, but none in this pass: it "
                "is, or returns, an iterator that was used up. Give a function that makes a new "
                "iterator for each pass, such as lambda: zip(x, y)."
            )


def row_converter(
    columns: tuple[str, ...], types: tuple[np.dtype[np.generic], ...] | None, owner: str
) -> Callable[[object], Row]:
    """Return what makes a row of what the user's source gives: a tuple of values, or one value."""

    def convert(value: object) -> Row:
        values = as_tuple(value)
        if len(values) != len(columns):
            raise RuntimeError(
                f"For '{owner}', the source must give {len(columns)} values a row, one for each "
                f"column, but gave {len(values)}."
            )
        row = tuple(
            [
                as_element(item, f"For '{owner}', a value of the column {name!r}")
                for name, item in zip(columns, values, strict=True)
            ]
        )
        for name, array, wanted in zip(columns, row, types or (), strict=False):
            if array.dtype != wanted:
                raise RuntimeError(
                    f"For '{owner}', the column {name!r} must be of type {wanted} as "
                    f"'column_types' says, but the source gave {array.dtype}."
                )
        return row

    return convert


def user_code_failed(code: object, error: Exception) -> RuntimeError:
    """Return the error for an exception inside a function or an object of the user's."""
    name = getattr(code, "__qualname__", type(code).__qualname__)
    return RuntimeError(
        f"The Python code of '{name}' in the dataset's pipeline failed: "
        f"{type(error).__name__}: {error}"
    )
