"""Simulated processes: generators that communicate by all-reduce, without MPI."""

from collections.abc import Generator, Sequence
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

R = TypeVar("R")

Numbers: TypeAlias = NDArray[np.float64]
# `total = yield values` contributes an array to an all-reduce, and receives the sum.
Process: TypeAlias = Generator[Numbers, Numbers, R]


class DeadlockError(RuntimeError):
    """A process waits for others that do not take part in its all-reduce."""


def run_processes(processes: Sequence[Process[R]]) -> list[R]:
    """Run processes until they have ended, and return what each has returned.

    Args:
        processes: A generator for each process. `total = yield values` is an all-reduce: `total` is
            the sum of the `values` of all processes.

    Raises:
        DeadlockError: Some processes have ended, and others wait for them; or the arrays of an
            all-reduce have different shapes.

    Examples:
        >>> def process(rank):
        ...     total = yield np.array([rank, 1.0])
        ...     return total.tolist()
        >>> run_processes([process(0), process(1), process(2)])
        [[3.0, 3.0], [3.0, 3.0], [3.0, 3.0]]
    """
    results: dict[int, R] = {}
    total: Numbers | None = None
    count = 0
    while True:
        contributed: dict[int, Numbers] = {}
        for rank, process in enumerate(processes):
            try:
                values = next(process) if total is None else process.send(total.copy())
                contributed[rank] = np.asarray(values, np.float64)
            except StopIteration as end:
                results[rank] = end.value
        if not contributed:
            return [results[rank] for rank in range(len(processes))]
        count += 1
        if results:
            raise DeadlockError(
                f"process {min(contributed)} waits in all-reduce number {count} for process "
                f"{min(results)}, which has ended"
            )
        shapes = [values.shape for values in contributed.values()]
        if len(set(shapes)) > 1:
            raise DeadlockError(
                f"the arrays in all-reduce number {count} have the shapes "
                f"{', '.join(map(str, shapes))}"
            )
        total = np.sum(list(contributed.values()), axis=0)
