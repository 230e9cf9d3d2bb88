"""Random order from a buffer, for any node; and an order kept the same in every epoch."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from minispore.dataset._block import Block, Row, rows_of, stacked
from minispore.dataset._node import Node, Operation
from minispore.dataset._random import Epoch

_DRAWS = 1024


@dataclass(frozen=True)
class Shuffle(Operation):
    """Rows from a buffer in random order; each row taken makes room for the next of the child.

    A buffer as large as the child gives every order with the same chance; a smaller one holds
    fewer rows in memory and moves a row less far to the front.
    """

    child: Node
    buffer_size: int

    def blocks(self, epoch: Epoch, most: int, start: int = 0) -> Iterator[Block]:
        """Yield the rows as they leave the buffer; those before `start` pass through it, too."""
        return stacked(islice(self._rows(epoch, most), start, None), most)

    def _rows(self, epoch: Epoch, most: int) -> Iterator[Row]:
        rng = epoch.generator()
        slots = _slots(rng, self.buffer_size)
        held: list[Row] = []
        for block in self.child.blocks(epoch.below(), most):
            for view in rows_of(block):
                # A copy: a view would keep its whole block alive as long as it is held.
                row = tuple([value.copy() for value in view])
                if len(held) < self.buffer_size:
                    held.append(row)
                else:
                    slot = next(slots)
                    yield held[slot]
                    held[slot] = row
        for slot in rng.permutation(len(held)).tolist():
            yield held[slot]


@dataclass(frozen=True)
class Frozen(Operation):
    """The child's rows in the order of one epoch, whatever epoch is asked for."""

    child: Node
    epoch: Epoch

    def blocks(self, epoch: Epoch, most: int, start: int = 0) -> Iterator[Block]:
        """Yield the rows of that epoch."""
        del epoch
        return self.child.blocks(self.epoch, most, start)


def _slots(rng: "np.random.Generator", size: int) -> Iterator[int]:
    while True:
        yield from rng.integers(size, size=_DRAWS).tolist()
