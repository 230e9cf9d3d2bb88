"""`minispore.numpy`: its functions have the results of NumPy's functions of their names."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

import minispore as ms
from minispore import Tensor
from minispore import numpy as mnp
from minispore.engine.dtypes import DType
from minispore.utils.checks import as_items

NUMBERS = st.integers(-9, 9)
Array = NDArray[Any]
Arguments = tuple[object, ...]


def arrays(
    dtype: type[np.float64 | np.int32] = np.float64, ndim: int = 1
) -> st.SearchStrategy[Array]:
    shapes = hnp.array_shapes(min_dims=ndim, max_dims=3, max_side=4)
    elements = st.integers(1, 9) if dtype is np.int32 else st.floats(0.5, 9)
    return hnp.arrays(dtype, shapes, elements=elements)


ONE = arrays(np.float64) | arrays(np.int32)


def with_axis(
    array: Array, values: st.SearchStrategy[object] | None = None
) -> st.SearchStrategy[Arguments]:
    axis = st.integers(-array.ndim, array.ndim - 1)
    return st.tuples(st.just(array), *([] if values is None else [values]), axis)


def parts(array: Array) -> st.SearchStrategy[Arguments]:
    """Return an array, and the places where it is cut along its first axis."""
    places = st.lists(st.integers(1, len(array)), max_size=3).map(sorted)
    return st.tuples(st.just(array), places | st.just(1) | st.just(len(array)))


def ranges(number: st.SearchStrategy[float]) -> st.SearchStrategy[Arguments]:
    steps = st.sampled_from([1, 2, -3])
    return st.tuples(number) | st.tuples(number, number) | st.tuples(number, number, steps)


def equal_arrays(array: Array) -> st.SearchStrategy[Arguments]:
    return with_axis(array).map(lambda args: ([array, array + 1], args[-1]))


SHAPES = st.integers(0, 3) | st.lists(st.integers(0, 3), max_size=3).map(tuple)
# For each function the arguments with which both are called.
CASES: dict[str, st.SearchStrategy[Arguments]] = {
    "arange": ranges(NUMBERS) | ranges(NUMBERS.map(float)),
    "zeros": st.tuples(SHAPES),
    "ones": st.tuples(SHAPES),
    "full": st.tuples(SHAPES, NUMBERS | NUMBERS.map(float) | st.booleans()),
    **{name: st.tuples(ONE) for name in ("abs", "ceil", "exp", "log")},
    "bitwise_and": st.tuples(arrays(np.int32), st.integers(0, 9)),
    "where": ONE.map(lambda array: (array > 3, array, -array)),
    "argmax": st.tuples(ONE) | ONE.flatmap(with_axis),
    "argmin": st.tuples(ONE) | ONE.flatmap(with_axis),
    "concatenate": ONE.flatmap(equal_arrays),
    "stack": ONE.flatmap(equal_arrays),
    "split": ONE.flatmap(parts),
    "tile": st.tuples(ONE, st.integers(0, 2) | st.lists(st.integers(0, 2), min_size=1, max_size=4)),
    "roll": st.tuples(ONE, NUMBERS) | ONE.flatmap(lambda array: with_axis(array, NUMBERS)),
    "norm": arrays(ndim=2).flatmap(
        lambda array: st.tuples(
            st.just(array), st.sampled_from([None, 1, 2, 3, np.inf, 0]), st.integers(-1, 0)
        )
    ),
    "expand_dims": ONE.flatmap(with_axis)
    | st.tuples(ONE, st.sampled_from([(0, 1), (0, -1), (-1, 1)])),
}


def as_tensors(value: object) -> object:
    if isinstance(value, np.ndarray):
        return Tensor(value)
    items = as_items(value) or ()
    tensors = [Tensor(item) for item in items if hasattr(item, "__array__")]
    return tensors or value


@pytest.mark.parametrize("name", sorted(CASES))
@given(data=st.data())
def test_function_has_the_results_of_numpys(name: str, data: st.DataObject) -> None:
    args = data.draw(CASES[name])
    ours: Callable[..., object] = getattr(mnp, name)
    theirs: Callable[..., object] = getattr(np.linalg if name == "norm" else np, name)
    actual, expected = ours(*map(as_tensors, args)), theirs(*args)
    for tensor, result in zip(
        as_items(actual) or (actual,), as_items(expected) or (expected,), strict=True
    ):
        assert isinstance(tensor, Tensor)
        array: Array = np.asarray(result)
        within = 1e-6 if tensor.dtype == ms.float32 else 1e-12
        assert tensor.shape == array.shape
        np.testing.assert_allclose(tensor.asnumpy(), array, rtol=within, atol=within)


@pytest.mark.parametrize("name", ["abs", "ceil", "exp", "log"])
@pytest.mark.parametrize("dtype", [ms.float16, ms.float32, ms.float64, ms.int32])
def test_result_has_the_type_of_the_tensor_or_the_given_one(name: str, dtype: DType) -> None:
    function = getattr(mnp, name)
    x = Tensor([1, 2], dtype)
    expected = ms.float32 if dtype == ms.int32 and name in {"exp", "log"} else dtype
    assert function(x).dtype == expected
    assert function(x, ms.float16).dtype == function(x, dtype="float16").dtype == ms.float16
    assert mnp.bitwise_and(Tensor([1]), 1, ms.float32).dtype == ms.float32


def test_each_function_is_compared() -> None:
    assert {*CASES} == {name for name in dir(mnp) if not hasattr(getattr(mnp, name), "numpy_dtype")}


def test_integers_without_a_type_are_int32() -> None:
    made = (mnp.arange(3), mnp.full(2, 1), mnp.where(Tensor([True]), 1, 0), mnp.argmin(Tensor([1])))
    assert {x.dtype for x in made} == {ms.int32}
    assert {x.dtype for x in (mnp.arange(3.0), mnp.full(2, 1.0))} == {ms.float32}


def test_missing_name_says_which_operation_to_use() -> None:
    with pytest.raises(NotImplementedError, match=r"left out of minispore\. Use ops\.sin\."):
        getattr(mnp, "sin")(Tensor([1.0]))  # noqa: B009 (type checkers would see it)
    assert mnp.float32 is ms.float32
