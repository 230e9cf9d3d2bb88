"""Source nodes: map-style, with rows by index, and iterable-style."""

from array import array as number_array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol, runtime_checkable

import numpy as np

from minispore.dataset._node import Array, Block, EpochKey, NamedColumns
from minispore.dataset.samplers import BuiltinSampler, IterSampler, PKSampler
from minispore.utils.arrays import IndexArray, Int64Array, UInt8Array

# The most characters of a column in a block, for each of which numpy has 4 bytes.
_MAX_CHARACTERS: Final = 2**20


@runtime_checkable
class MapStyleSource(Protocol):
    """Rows that can be read by index."""

    def count(self) -> int:
        """Return the number of rows."""
        ...

    def rows(self, indices: IndexArray) -> Iterable[Block]:
        """Return the rows with these indices, copied."""
        ...


@runtime_checkable
class LabelledSource(MapStyleSource, Protocol):
    """Rows that can be read by index, and whose labels can be read without the images."""

    def labels(self, column: int) -> Array:
        """Return the labels of all rows in the column number `column`."""
        ...


@dataclass(frozen=True)
class MapStyleNode(NamedColumns):
    """The rows of a map-style source that a sampler chooses."""

    store: MapStyleSource
    sampler: BuiltinSampler
    # Processes that read an object; None for the iterating thread.
    workers: int | None = field(default=None, repr=False)

    @property
    def user_code(self) -> tuple[object, ...]:
        """The source and the sampler, if they are objects of the user."""
        of_source: tuple[object, ...] = getattr(self.store, "user_code", ())
        return (
            (*of_source, self.sampler.sampler)
            if isinstance(self.sampler, IterSampler)
            else of_source
        )

    def __post_init__(self) -> None:
        """Check that the source has the labels that the sampler needs."""
        if isinstance(self.sampler, PKSampler):
            self._labels(self.sampler)

    def size(self) -> int:
        """Return the number of rows that the sampler chooses."""
        return len(self.indices(EpochKey(0, seeded=True)))

    def indices(self, key: EpochKey) -> IndexArray:
        """Return the indices of the rows that the sampler chooses for an epoch."""
        if isinstance(self.sampler, PKSampler):
            return self.sampler.indices_by_label(self._labels(self.sampler)(), key)
        return self.sampler.epoch_indices(self.store.count(), key)

    def _labels(self, sampler: PKSampler) -> Callable[[], Array]:
        if sampler.class_column in self.names and isinstance(self.store, LabelledSource):
            return partial(self.store.labels, self.names.index(sampler.class_column))
        raise ValueError(
            f"For 'PKSampler', the argument 'class_column' must be a column of labels in a data "
            f"set of images, but got {sampler.class_column!r}; the columns are {self.names}."
        )

    def blocks(self, key: EpochKey, max_rows: int, start: int = 0) -> Iterator[Block]:
        """Yield the chosen rows; those before `start` are not read."""
        indices = self.indices(key)
        parts = (indices[i : i + max_rows] for i in range(start, len(indices), max_rows))
        for blocks in self.read(parts):
            yield from blocks

    def read(self, parts: Iterator[IndexArray]) -> Iterator[Iterable[Block]]:
        """Yield the rows with the indices of each part."""
        return map(self.store.rows, parts)


class TextColumn:
    """Strings in the memory of their UTF-8; an array has for each the room of the longest.

    Args:
        texts: The first strings.
    """

    ndim: Final = 1

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._content = bytearray()
        self._ends = number_array("q", [0])
        self.extend(texts)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def extend(self, texts: Iterable[str]) -> None:
        """Append strings."""
        for text in texts:
            self._content += text.encode("utf-8", "surrogatepass")
            self._ends.append(len(self._content))

    @property
    def memory(self) -> tuple[UInt8Array, Int64Array]:
        """The UTF-8 of all strings, and where in it each one ends, after a 0."""
        return np.frombuffer(self._content, np.uint8), np.frombuffer(self._ends, np.int64)

    def lengths(self, indices: IndexArray) -> Int64Array:
        """Return the number of bytes of the strings with these indices."""
        _, ends = self.memory
        return ends[indices + 1] - ends[indices]

    def take(self, indices: IndexArray, axis: int = 0) -> Array:
        """Return the strings with these indices as an array."""
        del axis
        ends, content = self.memory[1], memoryview(self._content)
        pairs = zip(ends[indices].tolist(), ends[indices + 1].tolist(), strict=True)
        return np.array([str(content[i:j], "utf-8", "surrogatepass") for i, j in pairs], np.str_)


@dataclass(frozen=True)
class ArraySource:
    """Columns in memory."""

    arrays: tuple[Array | TextColumn, ...]

    def count(self) -> int:
        """Return the number of rows."""
        return len(self.arrays[0])

    def rows(self, indices: IndexArray) -> Iterable[Block]:
        """Return the rows with these indices, copied; several blocks if strings are long."""
        texts = [column for column in self.arrays if isinstance(column, TextColumn)]
        longest = max([1, *(int(column.lengths(indices).max(initial=1)) for column in texts)])
        count = max(1, _MAX_CHARACTERS // longest)
        for i in range(0, len(indices), count):
            part = indices[i : i + count]
            yield tuple([column.take(part, axis=0) for column in self.arrays])
