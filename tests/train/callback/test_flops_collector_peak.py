"""The measured peak: that of the fastest matrix product, with a simulated clock."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from minispore.train.callback import _flops_collector
from minispore.train.callback._flops_collector import matmul_flops, measure_peak_flops


class Machine:
    """Matrix products with given durations, of which the last repeats, and their clock."""

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
def test_peak_is_that_of_fastest_product(times: list[float], size: int, seconds: float) -> None:
    machine = Machine(times)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_flops_collector, "perf_counter", lambda: machine.now)
        patch.setattr(np, "matmul", machine.matmul)
        peak = measure_peak_flops(size, seconds)
    assert set(machine.made) == {((size, size), np.dtype(np.float32))}
    taken = [times[min(i, len(times) - 1)] for i in range(len(machine.made))]
    assert peak == matmul_flops((size, size), (size, size)) / min(taken)
    # At least one product, and none begins after the time limit.
    assert len(taken) == 1 or math.fsum(taken[:-1]) < seconds
    assert math.fsum(taken) >= seconds


def test_peak_measurement_defaults() -> None:
    machine = Machine([0.03125])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_flops_collector, "perf_counter", lambda: machine.now)
        patch.setattr(np, "matmul", machine.matmul)
        assert measure_peak_flops() == 2 * 512**3 * 32
    assert len(machine.made) == 4
