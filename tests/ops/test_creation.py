"""Tensors of given numbers equal numpy's arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore as ms
from minispore import Tensor, ops

ends = st.integers(-9, 9)
steps = st.integers(-3, 3).filter(bool)
lengths = st.integers(0, 4)


@given(ends, ends, steps)
def test_ranges_equal_those_of_numpy(start: int, end: int, step: int) -> None:
    assert ops.arange(end).tolist() == ops.arange(end=end).tolist() == list(range(end))
    assert ops.arange(start, end).tolist() == list(range(start, end))
    assert ops.arange(start, end, step).tolist() == list(range(start, end, step))
    assert np.array_equal(ops.arange(start, end, step / 4), np.arange(start, end, step / 4))


@given(ends, ends, st.integers(1, 9))
def test_evenly_spaced_numbers_equal_those_of_numpy(start: int, end: int, count: int) -> None:
    result = ops.linspace(float(start), float(end), count).asnumpy()
    np.testing.assert_allclose(result, np.linspace(start, end, count), rtol=1e-6, atol=1e-6)


@given(lengths, lengths, ends)
def test_constant_and_unit_matrices_equal_those_of_numpy(rows: int, columns: int, n: int) -> None:
    assert np.array_equal(ops.eye(rows, columns), np.eye(rows, columns))
    assert np.array_equal(ops.eye(rows), np.eye(rows))
    for value in (n, Tensor(n), Tensor([n])):
        filled = ops.fill(ms.float32, (rows, columns), value)
        assert np.array_equal(filled, np.full((rows, columns), n, np.float32))
    if columns != 1:
        with pytest.raises(ValueError, match="^For 'fill', the argument 'value' must have one el"):
            ops.fill(ms.float32, (rows,), ops.ones(columns))
