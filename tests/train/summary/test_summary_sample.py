"""Which elements of a parameter a histogram is made of."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Parameter, Tensor
from minispore.train.callback._summary_collector import _sample

MOST = 3904


@given(st.integers(1, 5 * MOST))
@example(100)
@example(MOST)
@example(MOST + 1)
@example(3 * MOST + 60)
def test_all_elements_of_a_small_one_and_runs_of_a_large_one(size: int) -> None:
    parameter = Parameter(Tensor(np.arange(size, dtype=np.float32)), name="p")
    found = _sample(parameter).reshape(-1).astype(np.int64)
    assert not np.shares_memory(_sample(parameter), parameter.asnumpy())
    assert found.size == min(size, MOST)
    if size <= MOST:
        assert np.array_equal(found, np.arange(size))
    else:
        runs = found.reshape(61, 64)
        assert (np.diff(runs) == 1).all()
        assert (np.diff(runs[:, 0]) == size // 61).all()
