"""The measured peak: that of the fastest product in the time given, by a clock of our own."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from minispore.train.callback import _flops_collector
from minispore.train.callback._flops_collector import flops_of_product, measured_peak


class Machine:
    """Products that take the times given, the last one for ever; and the clock they go by."""

    def __init__(self, times: list[float]) -> None:
        self.times = times
        self.now = 1000.0
        self.made: list[tuple[tuple[int, ...], np.dtype[np.generic]]] = []

    def matmul(self, x: NDArray[np.generic], y: NDArray[np.generic]) -> None:
        self.now += self.times[min(len(self.made), len(self.times) - 1)]
        assert x.shape == y.shape
        self.made.append((x.shape, x.dtype))


# Binary fractions, so that sums of times are exact.
durations = st.lists(st.sampled_from([2.0**-n for n in range(3, 9)]), min_size=1, max_size=8)


@given(durations, st.sampled_from([8, 512]), st.sampled_from([0.0, 0.25, 1.0]))
def test_the_fastest_product_counts(times: list[float], size: int, seconds: float) -> None:
    machine = Machine(times)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_flops_collector, "perf_counter", lambda: machine.now)
        patch.setattr(np, "matmul", machine.matmul)
        peak = measured_peak(size, seconds)
    assert set(machine.made) == {((size, size), np.dtype(np.float32))}
    taken = [times[min(i, len(times) - 1)] for i in range(len(machine.made))]
    assert peak == flops_of_product((size, size), (size, size)) / min(taken)
    # One product at least, and none is begun after the time.
    assert len(taken) == 1 or math.fsum(taken[:-1]) < seconds
    assert math.fsum(taken) >= seconds


def test_a_tenth_of_a_second_and_matrices_of_512_rows() -> None:
    machine = Machine([0.03125])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_flops_collector, "perf_counter", lambda: machine.now)
        patch.setattr(np, "matmul", machine.matmul)
        assert measured_peak() == 2 * 512**3 * 32
    assert len(machine.made) == 4
