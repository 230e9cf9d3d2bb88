"""Batches as nodes: of equal sizes, of padded rows, of rows of similar length, or sampled."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from minispore import dataset as ds
from minispore.dataset._node import (
    Array,
    Block,
    EpochKey,
    Node,
    Operation,
    as_argument,
    as_element,
    call_user_code,
    length,
    replaced_columns,
    same_type,
    skip_rows,
    slice_rows,
    user_code_of,
)
from minispore.utils.checks import as_tuple, check_int

Function = Callable[..., object]


# The number of batches in a block of the child, unless user code runs in it: they share the fixed
# cost of a block, which is 4 % of the tutorial's step.
PREFETCH = 4


@dataclass(frozen=True)
class BatchInfo:
    """The position of a batch, passed to `per_batch_map` and to a function for the batch size.

    Args:
        epoch_num: The number of the epoch, from 0.
        batch_num: The number of the batch in its epoch, from 0.

    Examples:
        >>> from minispore.dataset import NumpySlicesDataset
        >>> data = NumpySlicesDataset([1, 2, 3, 4, 5, 6], shuffle=False)
        >>> growing = data.batch(lambda info: info.get_batch_num() + 1)
        >>> [rows.tolist() for (rows,) in growing.create_tuple_iterator(num_epochs=1)]
        [[1], [2, 3], [4, 5, 6]]

    Source: MindSpore's `mindspore.dataset.BatchInfo`.
    """

    epoch_num: int
    batch_num: int

    def get_epoch_num(self) -> int:
        """Return the number of the epoch, from 0."""
        return self.epoch_num

    def get_batch_num(self) -> int:
        """Return the number of the batch in its epoch, from 0."""
        return self.batch_num


@dataclass(frozen=True)
class PerBatch:
    """A function of batches, the columns that it reads and the columns that it returns."""

    function: Function
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def apply(self, columns: tuple[str, ...], batch: Block, info: BatchInfo) -> Block:
        """Return the batch with the columns `inputs` replaced by `outputs`."""
        values = dict(zip(columns, batch, strict=True))
        inputs = tuple([values.pop(name) for name in self.inputs])
        count = len(self.outputs)
        new = call_with_rows("batch", "per_batch_map", self.function, inputs, count, info)
        values |= zip(self.outputs, new, strict=True)
        names = replaced_columns(columns, self.inputs, self.outputs)
        return tuple([values[name] for name in names])


@dataclass(frozen=True)
class Batch(Operation):
    """Batches of `rows` rows: each is one row with a new leading axis."""

    rows: int | Callable[[BatchInfo], int]
    drop_remainder: bool = False
    per_batch: PerBatch | None = None
    padding: "Padding | None" = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The child's columns, or what `per_batch` makes of them."""
        if self.per_batch is None:
            return self.child.columns
        return replaced_columns(self.child.columns, self.per_batch.inputs, self.per_batch.outputs)

    @property
    def batch_size(self) -> int:
        """The number of rows; -1 if a function determines it, as in MindSpore."""
        return self.rows if isinstance(self.rows, int) else -1

    @property
    def user_code(self) -> tuple[object, ...]:
        """The functions for the batch size and of the batch."""
        functions = (self.rows, self.per_batch and self.per_batch.function)
        return tuple(function for function in functions if callable(function))

    def size(self) -> int:
        """Return the number of batches."""
        if not isinstance(self.rows, int):
            return Node.size(self)
        rows = self.child.size()
        return rows // self.rows if self.drop_remainder else -(-rows // self.rows)

    def blocks(self, key: EpochKey, max_rows: int, start: int = 0) -> Iterator[Block]:
        """Yield one batch per block; the rows of batches before `start` are skipped."""
        if not isinstance(self.rows, int):
            return skip_rows(self._batches(key, 0, 1), start)
        prefetch = 1 if user_code_of(self.child) else PREFETCH
        return self._batches(key, start, self.rows, prefetch)

    def _batches(
        self, key: EpochKey, first: int, rows_each: int, prefetch: int = 1
    ) -> Iterator[Block]:
        info = BatchInfo(key.number, first)
        batch_size = self._size_of(info)
        parts: list[Block] = []
        rows = 0
        for block in self.child.blocks(key.fold_in(), rows_each * prefetch, first * rows_each):
            remaining = block
            while rows + length(remaining) >= batch_size:
                parts.append(slice_rows(remaining, 0, batch_size - rows))
                yield self._join(parts, info)
                remaining = slice_rows(remaining, batch_size - rows)
                parts, rows = [], 0
                info = BatchInfo(key.number, info.batch_num + 1)
                batch_size = self._size_of(info)
            if length(remaining):
                parts.append(remaining)
                rows += length(remaining)
        if rows and not self.drop_remainder:
            yield self._join(parts, info)

    def _size_of(self, info: BatchInfo) -> int:
        if isinstance(self.rows, int):
            return self.rows
        return check_int(call_user_code(self.rows, info), "batch_size", "batch", low=1)

    def _join(self, parts: list[Block], info: BatchInfo) -> Block:
        if self.padding is not None:
            parts = self.padding.pad(parts, self.child.columns)
        batch = concatenate(parts, self.child.columns)
        if self.per_batch is not None:
            batch = self.per_batch.apply(self.child.columns, batch, info)
        return tuple([as_one_row(column) for column in batch])


@dataclass(frozen=True)
class Padding:
    """How the rows of a batch are brought to equal shapes.

    Attributes:
        columns: The columns; None for all, with the largest lengths in the batch.
        shapes: The shape of each column, in which None is the largest length; None for all lengths.
        values: What is added to each column; None for zeros or empty strings.
    """

    columns: tuple[str, ...] | None = None
    shapes: tuple[tuple[int | None, ...] | None, ...] = ()
    values: tuple[object, ...] = ()

    def pad(
        self, parts: list[Block], columns: tuple[str, ...], largest: int | None = None
    ) -> list[Block]:
        """Return the parts of a batch with equal shapes; None in `shapes` is `largest` if given."""
        padded: list[Block] = []
        for name, pieces in zip(columns, zip(*parts, strict=True), strict=True):
            shape, value = None, None
            if self.columns is not None:
                if name not in self.columns:
                    padded.append(pieces)
                    continue
                index = self.columns.index(name)
                shape, value = self.shapes[index], self.values[index]
            rank = pieces[0].ndim - 1
            wanted = (None,) * rank if shape is None else shape
            if len(wanted) != rank or any(piece.ndim != rank + 1 for piece in pieces):
                raise RuntimeError(
                    f"For 'pad_info', the shape {list(wanted)} and the rows of the column {name!r} "
                    f"must have the same number of axes, but a row has the shape "
                    f"{pieces[0].shape[1:]}."
                )
            lengths = [max(piece.shape[i + 1] for piece in pieces) for i in range(rank)]
            if largest is not None and shape is not None:
                lengths = [largest] * rank
            target = [length if n is None else n for n, length in zip(wanted, lengths, strict=True)]
            padded.append(
                tuple([_pad_to(piece, target, _filling(value, piece, name)) for piece in pieces])
            )
        return list(zip(*padded, strict=True))


def _filling(value: object, rows: Array, column: str) -> Array:
    """Return a padding value in the type of the rows.

    Raises:
        RuntimeError: If the type cannot hold it.
    """
    if value is None:
        return np.zeros((), rows.dtype)
    given = np.asarray(value)
    if rows.dtype.kind in "US":
        return given.astype(np.result_type(rows, given))
    if given.dtype.kind in "biuf" and not given.ndim:
        with np.errstate(invalid="ignore", over="ignore"):
            filling = given.astype(rows.dtype)
        rounded = rows.dtype.kind == "f" and bool(np.isfinite(filling) or not np.isfinite(given))
        if rounded or filling == np.trunc(given):  # fractions are cut
            return filling
    raise RuntimeError(
        f"For 'pad_info', the value of the column {column!r} must be one that {rows.dtype} can "
        f"hold, but got {value!r}."
    )


def _pad_to(rows: Array, shape: Sequence[int], filling: Array) -> Array:
    """Return rows of another shape, cut off or filled with a value."""
    if rows.shape[1:] == (*shape,):
        return rows
    result = np.full((len(rows), *shape), filling, np.result_type(rows, filling))
    part = tuple([slice(min(n, old)) for n, old in zip(shape, rows.shape[1:], strict=True)])
    result[:, *part] = rows[:, *part]
    return result


@dataclass(frozen=True)
class BucketBatch(Operation):
    """Batches of rows of similar length: each bucket collects the rows of a range of lengths."""

    inputs: tuple[str, ...]
    boundaries: tuple[int, ...]
    sizes: tuple[int, ...]
    element_length: Function | None
    padding: Padding
    pad_to_boundary: bool
    drop_remainder: bool

    @property
    def user_code(self) -> tuple[object, ...]:
        """The function for the length."""
        return () if self.element_length is None else (self.element_length,)

    def size(self) -> int:
        """Count the batches, since nothing else determines their number."""
        return Node.size(self)

    def blocks(self, key: EpochKey, max_rows: int, start: int = 0) -> Iterator[Block]:
        """Yield a bucket's rows as one batch when it is full, and at the end the others."""
        return skip_rows(self._batches(key, max_rows), start)

    def _batches(self, key: EpochKey, max_rows: int) -> Iterator[Block]:
        buckets: list[list[Block]] = [[] for _ in self.sizes]
        for block, deciding in ds._operations.with_deciding_blocks(
            self.child, key.fold_in(), max_rows
        ):
            for i in range(length(block)):
                row = slice_rows(block, i, i + 1)
                number = bisect_right(self.boundaries, self._length(slice_rows(deciding, i, i + 1)))
                # A copy: a view would keep its complete block alive.
                buckets[number].append(tuple([value.copy() for value in row]))
                if len(buckets[number]) == self.sizes[number]:
                    yield self._join(buckets[number], number)
                    buckets[number] = []
        for number, bucket in enumerate(buckets):
            if bucket and not self.drop_remainder:
                yield self._join(bucket, number)

    def _length(self, row: Block) -> int:
        values = [row[self.child.columns.index(name)][0, ...] for name in self.inputs]
        if self.element_length is None:
            return len(values[0])
        result = call_user_code(self.element_length, *map(as_argument, values))
        return int(as_element(result, "For 'bucket_batch_by_length', a length").item())

    def _join(self, rows: list[Block], number: int) -> Block:
        largest = None
        if self.pad_to_boundary and any(None in (shape or ()) for shape in self.padding.shapes):
            if number == len(self.boundaries):
                raise RuntimeError(
                    "For 'bucket_batch_by_length', 'pad_to_bucket_boundary' needs rows shorter "
                    f"than the last of 'bucket_boundaries', {self.boundaries[-1]}."
                )
            largest = self.boundaries[number] - 1
        parts = self.padding.pad(rows, self.columns, largest)
        return tuple([as_one_row(column) for column in concatenate(parts, self.columns)])


def call_with_rows(
    caller: str, argument: str, function: Function, columns: Block, count: int, *info: BatchInfo
) -> Block:
    """Return the `count` columns that a function of the user makes of a batch.

    It gets a list of rows for each column.
    """
    lists = [[as_argument(column[i, ...]) for i in range(len(column))] for column in columns]
    results = as_tuple(call_user_code(function, *lists, *info))
    if len(results) != count:
        raise RuntimeError(
            f"For '{caller}', '{argument}' must return {count} columns, but returned "
            f"{len(results)}."
        )
    subject = f"For '{caller}', what the argument '{argument}' returns"
    return tuple([as_element(result, subject) for result in results])


def concatenate(parts: list[Block], columns: tuple[str, ...]) -> Block:
    if len(parts) == 1:
        return parts[0]
    for name, pieces in zip(columns, zip(*parts, strict=True), strict=True):
        for piece in pieces[1:]:
            if piece.shape[1:] != pieces[0].shape[1:] or not same_type(piece, pieces[0]):
                raise RuntimeError(
                    f"For 'batch', the rows of a batch must have the same shapes and types, but "
                    f"in the column {name!r} there are {pieces[0].dtype}{pieces[0].shape[1:]} and "
                    f"{piece.dtype}{piece.shape[1:]}."
                )
    return tuple([np.concatenate(pieces) for pieces in zip(*parts, strict=True)])


def as_one_row(column: Array) -> Array:
    """Return the rows of a column as one row; dictionaries as one dictionary of batches.

    A column without axes is the dictionary that a function of the user made of a batch.
    """
    if column.dtype.kind != "O" or not column.ndim:
        return column[np.newaxis]
    return as_element(_join_dictionaries(column.tolist()), "")[np.newaxis]


def _join_dictionaries(items: Sequence[Mapping[str, object]]) -> dict[str, object]:
    joined: dict[str, object] = {}
    for item in items:
        if item.keys() != items[0].keys():
            raise RuntimeError(
                "For 'batch', the dictionaries of a batch must have the same keys, but have "
                f"{list(items[0])} and {list(item)}."
            )
    for key in items[0]:
        subject = f"For 'batch', the value of the key {key!r}"
        values = [as_element(item[key], subject) for item in items]
        if any(value.shape != values[0].shape for value in values):
            raise RuntimeError(
                f"{subject} must have the same shape in all rows of a batch, but has the shapes "
                f"{[value.shape for value in values]}."
            )
        joined[key] = as_argument(as_one_row(np.stack(values))[0, ...])
    return joined
