"""SummaryCollector: the elements of a parameter in a histogram."""

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
def test_small_parameter_is_complete_and_large_sampled(size: int) -> None:
    parameter = Parameter(Tensor(np.arange(size, dtype=np.float32)), name="p")
    result = _sample(parameter).reshape(-1).astype(np.int64)
    assert not np.shares_memory(_sample(parameter), parameter.asnumpy())
    assert result.size == min(size, MOST)
    if size <= MOST:
        assert np.array_equal(result, np.arange(size))
    else:
        runs = result.reshape(61, 64)
        assert (np.diff(runs) == 1).all()
        assert (np.diff(runs[:, 0]) == size // 61).all()
