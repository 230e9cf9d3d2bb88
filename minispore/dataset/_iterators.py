"""Iterators over a pipeline: the one place where arrays become tensors."""

from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from typing import Generic, TypeVar, cast

import numpy as np

from minispore.common.seed import random_state, set_random_state
from minispore.common.tensor import Tensor
from minispore.dataset._block import Array, Row, rows_of
from minispore.dataset._map import watched
from minispore.dataset._node import Node
from minispore.dataset._position import described, remembering, user_code_of
from minispore.dataset._random import Epoch, first_epoch

T = TypeVar("T")

# Rows for which nobody has asked for a batch are computed so many at a time.
_ROWS_AHEAD = 32


class DatasetIterator(Generic[T]):
    """The rows of a dataset, epoch by epoch: each `for` loop over it goes on until an epoch ends.

    Args:
        node: The end of the pipeline.
        make: What makes of a row's arrays what the user gets.
        num_epochs: After so many epochs it raises RuntimeError; -1 for never.
    """

    def __init__(self, node: Node, make: Callable[[Row], T], num_epochs: int) -> None:
        self._node = node
        self._make = make
        self._num_epochs = num_epochs
        self._pipeline, self._watches = watched(node)
        self._first = first_epoch()
        self._number = 0  # of the epoch that is gone through, or comes next
        self._taken = 0  # its rows so far
        self._rows: Iterator[Row] | None = None
        self._begin: dict[str, object] = {}

    def __iter__(self) -> "DatasetIterator[T]":
        return self

    def __next__(self) -> T:
        """Return the next row of the epoch; StopIteration at its end.

        Raises:
            RuntimeError: If the last epoch has ended before.
        """
        if self._rows is None:
            if self._number == self._num_epochs:
                raise RuntimeError(
                    f"The iterator has given its {self._num_epochs} epochs; ask for more with "
                    "'num_epochs', or for any number with -1."
                )
            self._begin = self._before_epoch()
            self._rows = self._epoch(0)
        row = next(self._rows, None)
        if row is None:
            self._rows, self._taken = None, 0
            self._number += 1
            raise StopIteration
        self._taken += 1
        return self._make(row)

    def state_dict(self) -> dict[str, object]:
        """Return where it stands: what another iterator over the same pipeline needs to go on.

        Python functions and objects in the pipeline may draw from `random` or `numpy.random`. Those
        that remember anything else have to define `state_dict` and `load_state_dict` themselves.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> data = NumpySlicesDataset(list(range(100)))
            >>> rows, others = data.create_tuple_iterator(), data.create_tuple_iterator()
            >>> first = next(rows)
            >>> others.load_state_dict(rows.state_dict())
            >>> int(next(rows)[0]) == int(next(others)[0])
            True
        """
        return {
            "seed": self._first.seed,
            "seeded": self._first.seeded,
            "epoch": self._number,
            "taken": self._taken,
            "begin": self._begin if self._taken else self._before_epoch(),
            "mapped": [watch.before for watch in self._watches],
            "pipeline": described(self._node),
        }

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go to where another iterator stood.

        The epochs before count towards `num_epochs`. Rows before are not computed again, unless
        there is Python code in the pipeline: then those of the current epoch are, from the random
        state in which it began.

        Raises:
            ValueError: If the state is none, of another pipeline, or of an epoch after the last one
                of this iterator; nothing is changed then.
        """
        try:
            first = Epoch(int(cast("int", state["seed"])), seeded=bool(state["seeded"]))
            number, taken = int(cast("int", state["epoch"])), int(cast("int", state["taken"]))
            begin = dict(cast("Mapping[str, object]", state["begin"]))
            mapped = [int(rows) for rows in cast("list[int]", state["mapped"])]
            before = list(zip(self._watches, mapped, strict=True))
            pipeline = list(cast("list[str]", state["pipeline"]))
            if begin and begin.keys() != {"random", "objects"}:
                raise ValueError("its 'begin' is none")
            if min(first.seed, number, taken, *mapped) < 0:
                raise ValueError("a number below zero")
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"This is no state of a dataset's iterator: {error!r}.") from error
        _compare(pipeline, described(self._node))
        begun = number + (taken > 0)
        if 0 <= self._num_epochs < begun:
            raise ValueError(
                f"The state is that of an iterator that has begun {begun} epochs, but this one has "
                f"'num_epochs' {self._num_epochs}; the epochs before the state count too."
            )
        self._first, self._number, self._taken = first, number, taken
        for watch, rows in before:
            watch.before = rows
        self._rows = None
        if begin:
            self._return_to(begin)
        if not taken:
            return
        self._begin = begin
        if not begin:
            self._rows = self._epoch(taken)
            return
        self._rows = self._epoch(0)
        for _ in range(taken):
            if next(self._rows, None) is None:
                raise ValueError(f"The dataset has come to its end before row {taken}.")

    def _epoch(self, start: int) -> Iterator[Row]:
        for watch in self._watches:
            watch.begin_epoch(self._number + 1)
        for block in self._pipeline.blocks(self._first.numbered(self._number), _ROWS_AHEAD, start):
            yield from rows_of(block)
        for watch in self._watches:
            watch.end_epoch()

    def _before_epoch(self) -> dict[str, object]:
        """What it takes to go through the epoch once more: nothing, if it is all our own doing."""
        if not user_code_of(self._node):
            return {}
        states = [dict(item.state_dict()) for item in remembering(self._node)]
        return {"random": random_state(), "objects": states}

    def _return_to(self, begin: Mapping[str, object]) -> None:
        states = cast("list[Mapping[str, object]]", begin["objects"])
        for item, state in zip(remembering(self._node), states, strict=True):
            item.load_state_dict(state)
        set_random_state(cast("Mapping[str, object]", begin["random"]))


def _compare(pipeline: list[str], ours: list[str]) -> None:
    for saved, own in zip_longest(pipeline, ours):
        if saved != own:
            raise ValueError(
                f"The state is that of another dataset, which had {saved or 'nothing'} where this "
                f"one has {own or 'nothing'}. (Where a 'split' is not the same, a seed set before "
                "makes it so.)"
            )


def tensors(row: Row) -> list[Tensor]:
    """Return a row's arrays as tensors that share their memory."""
    return [Tensor.from_numpy(array) for array in row]


def arrays(row: Row) -> list[Array]:
    """Return a row's arrays, each in memory of its own order."""
    return [np.ascontiguousarray(array) if array.ndim else array for array in row]
