"""Iterators over a pipeline: the one place where arrays become tensors."""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import numpy as np

from minispore.common.tensor import Tensor
from minispore.dataset._block import Array, Row, rows_of
from minispore.dataset._node import Node
from minispore.dataset._random import first_epoch

T = TypeVar("T")

# Rows for which nobody has asked for a batch are computed so many at a time.
_ROWS_AHEAD = 32


class DatasetIterator(Generic[T]):
    """The rows of a dataset, epoch by epoch: each `for` loop over it goes on until an epoch ends.

    Args:
        node: The end of the pipeline.
        make: What makes of a row's arrays what the user gets.
        num_epochs: After so many epochs it raises RuntimeError; -1 for never.
        epoch: The number of the epoch to begin with.
        start: The number of its row to begin with.
    """

    def __init__(
        self,
        node: Node,
        make: Callable[[Row], T],
        num_epochs: int,
        epoch: int = 0,
        start: int = 0,
    ) -> None:
        self._node = node
        self._make = make
        self._num_epochs = num_epochs
        self._next_epoch = epoch
        self._start = start
        self._first = first_epoch()
        self._rows: Iterator[Row] | None = None

    def __iter__(self) -> "DatasetIterator[T]":
        return self

    def __next__(self) -> T:
        """Return the next row of the epoch; StopIteration at its end.

        Raises:
            RuntimeError: If the last epoch has ended before.
        """
        if self._rows is None:
            if self._next_epoch == self._num_epochs:
                raise RuntimeError(
                    f"The iterator has given its {self._num_epochs} epochs; ask for more with "
                    "'num_epochs', or for any number with -1."
                )
            self._rows = self._epoch(self._next_epoch, self._start)
            self._next_epoch, self._start = self._next_epoch + 1, 0
        row = next(self._rows, None)
        if row is None:
            self._rows = None
            raise StopIteration
        return self._make(row)

    def _epoch(self, number: int, start: int) -> Iterator[Row]:
        for block in self._node.blocks(self._first.numbered(number), _ROWS_AHEAD, start):
            yield from rows_of(block)


def tensors(row: Row) -> list[Tensor]:
    """Return a row's arrays as tensors that share their memory."""
    return [Tensor.from_numpy(array) for array in row]


def arrays(row: Row) -> list[Array]:
    """Return a row's arrays, each in memory of its own order."""
    return [np.ascontiguousarray(array) if array.ndim else array for array in row]
