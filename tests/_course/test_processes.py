"""Simulated processes: sums, and processes that wait for others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore._course.processes import DeadlockError, Numbers, Process, run_processes

NUMBERS = st.integers(-9, 9).map(float)


def summing(values: list[Numbers]) -> Process[list[Numbers]]:
    totals: list[Numbers] = []
    for value in values:
        total = yield value
        totals.append(total.copy())
        total += 1.0  # its own copy
    return totals


@given(st.integers(1, 4), st.data())
def test_all_reduce_is_the_sum_over_all_processes(size: int, data: st.DataObject) -> None:
    arrays = st.lists(NUMBERS, min_size=2, max_size=2).map(np.array)
    count = data.draw(st.integers(0, 3))
    lists = st.lists(arrays, min_size=count, max_size=count)
    values = data.draw(st.lists(lists, min_size=size, max_size=size))
    for totals in run_processes([summing(own_values) for own_values in values]):
        np.testing.assert_array_equal(totals, np.sum(values, axis=0))


@given(st.lists(st.integers(0, 3), min_size=2, max_size=4))
def test_process_that_waits_for_one_that_has_ended_is_a_deadlock(counts: list[int]) -> None:
    processes = [summing([np.zeros(1)] * count) for count in counts]
    if len(set(counts)) == 1:
        assert len(run_processes(processes)) == len(counts)
    else:
        message = rf"waits in all-reduce number {min(counts) + 1} for process \d, which has ended"
        with pytest.raises(DeadlockError, match=message):
            run_processes(processes)


def test_arrays_of_different_shapes_are_an_error() -> None:
    with pytest.raises(DeadlockError, match=r"number 1 have the shapes \(1,\), \(2,\)"):
        run_processes([summing([np.zeros(1)]), summing([np.zeros(2)])])
