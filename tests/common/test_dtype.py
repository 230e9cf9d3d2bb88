"""Data types: one object each, known by many names, and promoted by category first."""

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
    of,
    promote,
    pytype_to_dtype,
)

from .strategies import dtypes


def outcome(x: DType | None, y: DType | None) -> DType | None:
    """What two types have in common, None for nothing."""
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


def test_what_has_no_common_type() -> None:
    with pytest.raises(TypeError, match=r"int64.*uint64.*no common integer type"):
        promote(ms.int64, ms.uint64)


@given(dtypes)
def test_every_name_leads_to_the_one_object(dtype: DType) -> None:
    names = (dtype, dtype.name, dtype.numpy_dtype, dtype_to_nptype(dtype))
    assert all(as_dtype(name, "test") is dtype for name in names)
    assert of(dtype.numpy_dtype) is dtype
    assert pytype_to_dtype(dtype_to_nptype(dtype)) is dtype
    assert pytype_to_dtype(dtype_to_pytype(dtype)).category == dtype.category


@given(dtypes)
def test_copies_are_the_one_object(dtype: DType) -> None:
    assert copy.copy(dtype) is dtype
    assert copy.deepcopy({"dtype": dtype})["dtype"] is dtype
    assert pickle.loads(pickle.dumps(dtype)) is dtype


@pytest.mark.parametrize("value", ["float31", 3, None, np.complex64, "complex64", list, [1]])
def test_what_is_no_type(value: object) -> None:
    with pytest.raises(TypeError, match="For 'astype', the argument 'dtype' must be a data type"):
        as_dtype(value, "astype")


def test_a_byte_order_of_another_machine_is_refused() -> None:
    with pytest.raises(TypeError, match=">f4"):
        ms.Tensor(np.zeros(2, ">f4"))
