"""Batching: every so many rows become one row, with a new leading axis."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from minispore._checks import check_int
from minispore.dataset._block import Block, as_element, as_tuple, cut, dropped, length
from minispore.dataset._node import Node, Operation, replaced_columns, require_distinct
from minispore.dataset._position import user_code_of
from minispore.dataset._random import Epoch
from minispore.dataset._sources import user_code_failed

# Batches that are made of one block of the child's, where that is all the package's own doing: they
# share what a block costs beside its rows, which is 4 % of the tutorial's step.
AHEAD = 4


@dataclass(frozen=True)
class BatchInfo:
    """What `per_batch_map` and a batch size of the user's are told: which batch this is."""

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
    """A function of whole batches, the columns that it reads and those that it makes."""

    function: Callable[..., object]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def apply(self, columns: tuple[str, ...], batch: Block, info: BatchInfo) -> Block:
        """Return the batch's columns with `outputs` in the place of `inputs`."""
        values = dict(zip(columns, batch, strict=True))
        lists = [
            [value[i, ...] for i in range(len(value))] for value in map(values.pop, self.inputs)
        ]
        try:
            result = self.function(*lists, info)
        except Exception as error:
            raise user_code_failed(self.function, error) from error
        made = as_tuple(result)
        if len(made) != len(self.outputs):
            raise RuntimeError(
                f"For 'batch', 'per_batch_map' must return {len(self.outputs)} columns, but "
                f"returned {len(made)}."
            )
        what = "For 'batch', what the argument 'per_batch_map' returns"
        for name, item in zip(self.outputs, made, strict=True):
            values[name] = as_element(item, what)
        names = replaced_columns(columns, self.inputs, self.outputs)
        return tuple([values[name] for name in names])


@dataclass(frozen=True)
class Batch(Operation):
    """Every `rows` rows as one."""

    child: Node
    rows: int | Callable[[BatchInfo], int] = field(metadata={"in_each_shard": True})
    drop_remainder: bool = False
    per_batch: PerBatch | None = None

    def __post_init__(self) -> None:
        """Refuse columns of the same name."""
        require_distinct(self.columns, "batch")

    @property
    def columns(self) -> tuple[str, ...]:
        """The child's columns, or what `per_batch` makes of them."""
        if self.per_batch is None:
            return self.child.columns
        return replaced_columns(self.child.columns, self.per_batch.inputs, self.per_batch.outputs)

    @property
    def batch_size(self) -> int:
        """The number of rows; -1 where a function decides, as MindSpore."""
        return self.rows if isinstance(self.rows, int) else -1

    @property
    def user_code(self) -> tuple[object, ...]:
        """The functions for the batch size and of the batch."""
        size = () if isinstance(self.rows, int) else (self.rows,)
        return size if self.per_batch is None else (*size, self.per_batch.function)

    def size(self) -> int:
        """Return the number of batches."""
        if not isinstance(self.rows, int):
            return Node.size(self)
        rows = self.child.size()
        return rows // self.rows if self.drop_remainder else -(-rows // self.rows)

    def blocks(self, epoch: Epoch, most: int, start: int = 0) -> Iterator[Block]:
        """Yield one batch a block; those before `start` are skipped in the child."""
        if not isinstance(self.rows, int):
            return dropped(self._batches(epoch, 0, 1), start)
        ahead = 1 if user_code_of(self.child) else AHEAD
        return self._batches(epoch, start, self.rows, ahead)

    def _batches(self, epoch: Epoch, first: int, rows_each: int, ahead: int = 1) -> Iterator[Block]:
        number = first
        info = BatchInfo(epoch.number, number)
        wanted = self._wanted(info)
        held: list[Block] = []
        rows = 0
        for block in self.child.blocks(epoch.below(), rows_each * ahead, first * rows_each):
            rest = block
            while rows + length(rest) >= wanted:
                held.append(cut(rest, 0, wanted - rows))
                yield self._finish(held, info)
                rest = cut(rest, wanted - rows)
                held, rows, number = [], 0, number + 1
                info = BatchInfo(epoch.number, number)
                wanted = self._wanted(info)
            if length(rest):
                held.append(rest)
                rows += length(rest)
        if rows and not self.drop_remainder:
            yield self._finish(held, info)

    def _wanted(self, info: BatchInfo) -> int:
        if isinstance(self.rows, int):
            return self.rows
        try:
            size = self.rows(info)
        except Exception as error:
            raise user_code_failed(self.rows, error) from error
        return check_int(size, "batch_size", "batch", low=1)

    def _finish(self, parts: list[Block], info: BatchInfo) -> Block:
        batch = parts[0] if len(parts) == 1 else _joined(parts, self.child.columns)
        if self.per_batch is not None:
            batch = self.per_batch.apply(self.child.columns, batch, info)
        return tuple([column[np.newaxis] for column in batch])


def _joined(parts: list[Block], columns: tuple[str, ...]) -> Block:
    for name, pieces in zip(columns, zip(*parts, strict=True), strict=True):
        for piece in pieces[1:]:
            if piece.shape[1:] != pieces[0].shape[1:] or piece.dtype != pieces[0].dtype:
                raise RuntimeError(
                    f"For 'batch', the rows of a batch must have the same shapes and types, but "
                    f"in the column {name!r} there are {pieces[0].dtype}{pieces[0].shape[1:]} and "
                    f"{piece.dtype}{piece.shape[1:]}."
                )
    return tuple([np.concatenate(pieces) for pieces in zip(*parts, strict=True)])
