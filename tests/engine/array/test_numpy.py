"""What numpy's namespace adds to numpy."""

import platform
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from minispore.engine.array import _numpy as numpy_names
from minispore.engine.array.capture_hooks import current_hooks
from minispore.graph.tape import LIBRARY, Tape

# numpy's annotations tell the values of `keepdims` apart.
total: Callable[..., NDArray[np.generic]] = np.sum
IDS = np.array([[1], [1], [-1], [2]], np.int32)
MANY = np.random.default_rng(0).integers(-4, 4, (40, 30))
EVERY = slice(None)
INDICES: list[tuple[object, ...]] = [
    (0,),
    (slice(1, 3),),
    (..., None),
    (IDS,),
    (MANY,),
    (MANY.astype(np.uint8) % 3,),
    (MANY, MANY % 3),
    (MANY[:, :1], MANY[:1] % 3),
    (EVERY, MANY % 3),
    (EVERY, IDS),
    (EVERY, MANY % 3, EVERY),
    (IDS, EVERY, 0),
    (slice(1, 3), MANY % 3),
    (np.arange(4) > 1,),
    (np.int64(2),),
    (np.array(2),),
    (np.zeros((0, 2), np.int64), 1),
]


@pytest.mark.parametrize(
    ("shape", "index"),
    [
        *product([(4, 3, 1), (4, 16, 2), (4, 4, 300)], INDICES),
        *product([(4000, 8, 2), (12, 30, 40)], [(MANY,)]),
    ],
)
def test_elements_at_an_index_are_those_of_numpy(
    shape: tuple[int, ...], index: tuple[object, ...]
) -> None:
    places = cast("tuple[slice, ...]", index)
    x = np.arange(float(np.prod(shape))).reshape(shape)
    for array in (x, np.asfortranarray(x), x[::-1]):
        taken = numpy_names.getitem(array, index=index)
        np.testing.assert_array_equal(taken, array[places], strict=True)
        assert np.shares_memory(taken, array) == np.shares_memory(array[places], array)
    values = np.arange(float(x[places].size)).reshape(x[places].shape)
    result = numpy_names.scatter_add(values, index=index, shape=shape)
    expected = np.zeros(shape)
    np.add.at(expected, cast("list[int]", index), values)
    np.testing.assert_array_equal(np.asarray(result, np.float64), expected)


@pytest.mark.parametrize("index", [(MANY,), (MANY, MANY), (EVERY, IDS), (slice(3), MANY)])
def test_captured_indexing_has_the_bits_of_numpys(index: tuple[object, ...]) -> None:
    """The order of additions to one element is the same."""
    shape, tape, rng = (700, 4, 16), Tape(), np.random.default_rng(0)
    x = rng.normal(size=shape)
    taken = numpy_names.getitem(x, index=index)
    numbers = rng.normal(size=taken.shape)
    added = numpy_names.scatter_add(numbers, index=index, shape=shape)
    token = current_hooks.set(tape)
    try:
        getitem = LIBRARY.getitem(tape.lift(x, is_input=True), index=index)
        values = tape.lift(numbers, is_input=True)
        scatter_add = LIBRARY.scatter_add(values, index=index, shape=shape)
    finally:
        current_hooks.reset(token)
    assert getitem.values.tobytes() == taken.tobytes()
    assert scatter_add.values.tobytes() == added.tobytes()


@pytest.mark.parametrize("place", [-5, 4])
@pytest.mark.parametrize("before", [(), (EVERY,), (np.zeros(2000, np.int64),)])
def test_index_out_of_range_is_refused(before: tuple[object, ...], place: int) -> None:
    shape = (*(4,) * (1 + len(before)), 300)
    index = (*before, np.full(2000, place))
    with pytest.raises(IndexError, match=f"index {place} is out of bounds for axis {len(before)}"):
        numpy_names.getitem(np.ones(shape), index=index)
    taken = np.ones(shape)[cast("tuple[slice, ...]", (*before, np.zeros(2000, np.int64)))]
    with pytest.raises(IndexError, match="out of bounds"):
        numpy_names.scatter_add(taken, index=index, shape=shape)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32, np.bool_])
@pytest.mark.parametrize("shape", [(3,), (70, 300), (5000, 2, 2), (20_000,), (17, 1000)])
def test_maximum_and_broadcast_are_those_of_numpy(
    dtype: type[np.generic], shape: tuple[int, ...]
) -> None:
    x = np.random.default_rng(0).normal(size=shape).round(1).astype(dtype)
    for array in (x, x.T):
        for y in (0, 0.5, -0.0, np.nan, x.T[..., :1].T.astype(dtype) if array is x else 1):
            result, expected = numpy_names.maximum(array, y), np.maximum(array, y)
            assert result.dtype == expected.dtype
            assert result.tobytes() == expected.tobytes()
    for number in (x.reshape(-1)[0], np.array(x.reshape(-1)[1])):
        result, expected = numpy_names.broadcast_to(number, shape), np.broadcast_to(number, shape)
        assert (result.dtype, result.strides) == (expected.dtype, expected.strides)
        assert result.tobytes() == expected.tobytes()
        assert not result.flags.writeable


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 2, -1, (1, 2), (0, -1), (0, 1, 2)])
def test_sum_is_that_of_numpy(
    axis: int | tuple[int, ...] | None, keepdims: bool, dtype: type[np.generic]
) -> None:
    for shape in ((2, 3, 4), (20, 30, 40)):
        x = np.random.default_rng(0).integers(-9, 9, shape).astype(dtype)
        for array in (x, x.T):
            result = numpy_names.sum(array, axis=axis, keepdims=keepdims)
            expected = total(array, axis=axis, keepdims=keepdims)
            assert result.dtype == expected.dtype
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("count", [1000, 8000, 8001, 1_000_000])
def test_rounding_errors_of_sums_stay_small(count: int) -> None:
    x = np.random.default_rng(0).random((3, count), dtype=np.float32)
    exact = x.sum(axis=1, dtype=np.float64)
    for computed, expected in (
        (numpy_names.sum(x, axis=1), exact),
        (numpy_names.mean(x, axis=1), exact / count),
    ):
        actual = np.asarray(computed, np.float64)
        np.testing.assert_allclose(actual, expected, rtol=5e-7)


STEPS = """
import resource
import numpy as np
import minispore.ops.tensors

def faults(steps):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(steps):
        arrays = [np.ones(1 << 20) for _ in range(4)]
        del arrays
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults(3)
print(faults(10))
"""


@pytest.mark.full
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of that C library")
def test_freed_memory_is_reused_without_page_faults() -> None:
    """The system does not have to map its pages again."""
    run = subprocess.run(
        [sys.executable, "-c", STEPS], capture_output=True, encoding="utf-8", check=True
    )
    assert int(run.stdout) < 50
