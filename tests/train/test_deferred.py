"""Values put aside come back as they were, in their order, and once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from minispore import Tensor
from minispore.train.callback._deferred import Deferred

DTYPES: list[type[np.generic]] = [np.float32, np.float64, np.int32]
dtypes = st.sampled_from(DTYPES)


def arrays(dtype: type[np.generic]) -> st.SearchStrategy[NDArray[np.generic]]:
    shapes = hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3)
    return hnp.arrays(dtype, shapes, elements=st.integers(-9, 9))


alike = dtypes.flatmap(lambda dtype: st.lists(arrays(dtype), min_size=2, max_size=5))
mixed = st.lists(dtypes.flatmap(arrays), max_size=5)


@given(alike | mixed)
def test_what_was_put_aside_comes_back_once(values: list[NDArray[np.generic]]) -> None:
    kept: Deferred[int] = Deferred()
    for i, value in enumerate(values):
        kept.add(i, Tensor(value))
        assert not kept.full
    found = kept.fetch()
    assert [tag for tag, _ in found] == list(range(len(values)))
    for (_, array), value in zip(found, values, strict=True):
        np.testing.assert_array_equal(array, value)
        assert (array.shape, array.dtype) == (value.shape, value.dtype)
    assert kept.fetch() == []


def test_it_is_full_in_the_end_and_can_be_emptied() -> None:
    kept: Deferred[int] = Deferred()
    for i in range(1000):
        assert not kept.full
        kept.add(i, Tensor(1.0))
    assert kept.full
    kept.clear()
    assert not kept.full
    assert kept.fetch() == []
