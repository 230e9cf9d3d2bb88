"""One process of a data-parallel training."""

from collections.abc import Callable, Generator, Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.float64]


class StepCallback(Protocol):
    """A callback; if it is `chief_only`, only process 0 calls it."""

    chief_only: bool

    def on_step_end(self, step: int, w: Numbers) -> bool:
        """Handle a step; return whether to stop."""
        ...


def train(
    rank: int,
    size: int,
    batches: Sequence[Numbers],
    w: Numbers,
    rate: float,
    gradient: Callable[[Numbers, Numbers], Numbers],
    callbacks: Sequence[StepCallback] = (),
) -> Generator[Numbers, Numbers, Numbers]:
    """Train in process `rank` of `size`, and return the weights."""
    w = yield w if rank == 0 else np.zeros_like(w)
    for step, batch in enumerate(batches, 1):
        rows = batch[rank::size]
        total = gradient(w, rows) * len(rows) if len(rows) else np.zeros_like(w)
        *sums, count = yield np.array([*total, len(rows)])
        w = w - rate * np.array(sums) / count
        stop = False
        for callback in callbacks:
            if rank == 0 or not callback.chief_only:
                stop = callback.on_step_end(step, w) or stop
        requests = yield np.array([float(stop)])
        if requests[0]:
            break
    return w
