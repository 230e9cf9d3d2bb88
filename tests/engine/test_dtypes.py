"""Data types: one object for each, their names, and type promotion."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given

import minispore as ms
from minispore.common.dtype import (
    DType,
    as_dtype,
    dtype_to_nptype,
    dtype_to_pytype,
    from_array_dtype,
    promote,
    pytype_to_dtype,
)
from minispore.testing import strategies as mst

dtypes = mst.dtypes()


def outcome(x: DType | None, y: DType | None) -> DType | None:
    """Return the promoted type of two types; None if there is none."""
    if x is None or y is None:
        return None
    try:
        return promote(x, y)
    except TypeError:
        return None


@given(dtypes, dtypes)
def test_promotion_is_commutative(x: DType, y: DType) -> None:
    assert outcome(x, y) is outcome(y, x)


@given(dtypes, dtypes)
def test_promotion_is_an_upper_bound(x: DType, y: DType) -> None:
    common = outcome(x, y)
    assert outcome(x, x) is x
    if common is not None:
        assert common.category == max(x.category, y.category)
        assert outcome(common, x) is common


@given(dtypes, dtypes, dtypes)
def test_promotion_is_associative_within_a_category(x: DType, y: DType, z: DType) -> None:
    if x.category == y.category == z.category:
        assert outcome(outcome(x, y), z) is outcome(x, outcome(y, z))


def test_promotion_without_common_type_raises_type_error() -> None:
    with pytest.raises(TypeError, match=r"int64.*uint64.*no common integer type"):
        promote(ms.int64, ms.uint64)


@given(dtypes)
def test_all_names_of_a_dtype_are_one_object(dtype: DType) -> None:
    names = (dtype, dtype.name, dtype.numpy_dtype, dtype_to_nptype(dtype))
    assert all(as_dtype(name, "test") is dtype for name in names)
    assert from_array_dtype(dtype.numpy_dtype) is dtype
    assert pytype_to_dtype(dtype_to_nptype(dtype)) is dtype
    assert pytype_to_dtype(dtype_to_pytype(dtype)).category == dtype.category


@given(dtypes)
def test_copying_and_pickling_return_the_same_object(dtype: DType) -> None:
    assert copy.copy(dtype) is dtype
    assert copy.deepcopy({"dtype": dtype})["dtype"] is dtype
    assert pickle.loads(pickle.dumps(dtype)) is dtype


@pytest.mark.parametrize("value", ["float31", 3, None, np.complex64, "complex64", list, [1]])
def test_unknown_dtype_raises_type_error(value: object) -> None:
    with pytest.raises(TypeError, match="the argument 'dtype' must be a data type"):
        as_dtype(value)


def test_non_native_byte_order_raises_type_error() -> None:
    with pytest.raises(TypeError, match=">f4"):
        ms.Tensor(np.zeros(2, ">f4"))
