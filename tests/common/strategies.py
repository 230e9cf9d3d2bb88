"""Strategies of the tests of tensors: types, arrays of them, and indices."""

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from minispore.engine.dtypes import BOOL, DTYPES, FLOAT, DType

Arrays = NDArray[np.generic]
Draw = Callable[..., Arrays]

dtypes = st.sampled_from(DTYPES)
float_types = st.sampled_from([dtype for dtype in DTYPES if dtype.category == FLOAT])
number_types = st.sampled_from([dtype for dtype in DTYPES if dtype.category != BOOL])
shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


def arrays(
    types: st.SearchStrategy[DType] = dtypes, shapes: st.SearchStrategy[tuple[int, ...]] = shapes
) -> st.SearchStrategy[Arrays]:
    """Arrays of MindSpore's types, with all kinds of floats."""
    return types.flatmap(lambda dtype: hnp.arrays(dtype.numpy_dtype, shapes))


@st.composite
def indexed(draw: st.DrawFn, types: st.SearchStrategy[DType] = dtypes) -> tuple[Arrays, object]:
    """An array and an index of it: of integers, slices, Ellipsis, None, arrays, or a mask."""
    array: Arrays = draw(arrays(types, hnp.array_shapes(min_dims=1, max_dims=4, max_side=4)))
    kinds: list[st.SearchStrategy[object]] = [
        hnp.basic_indices(array.shape, allow_newaxis=True),
        hnp.integer_array_indices(array.shape).map(tuple),
        hnp.arrays(np.bool_, array.shape),
    ]
    return array, draw(st.one_of(kinds))
