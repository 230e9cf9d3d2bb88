"""Transforms: values equal to MindSpore's, unmodified inputs, and errors."""
# Functions of users carry no types; the lambdas here stand for them.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minispore
from minispore.dataset import transforms, vision

f32 = np.float32


@pytest.mark.parametrize(
    "operation",
    [
        vision.Rescale(2.0, 1.0),
        vision.Rescale(2.0, 0),
        vision.Normalize((1.0,), (2.0,)),
        vision.HWC2CHW(),
        vision.ToTensor(),
        transforms.TypeCast(minispore.float32),
    ],
)
def test_input_is_neither_modified_nor_shared(operation: vision.Rescale) -> None:
    image = np.arange(12, dtype=f32).reshape(2, 2, 3)
    result = operation(image)
    assert not np.shares_memory(image, result)
    np.testing.assert_array_equal(image, np.arange(12, dtype=f32).reshape(2, 2, 3))


def test_type_cast_converts_as_mindspore_does() -> None:
    floats = np.array([-1.0, 300.0, 2.7, -0.5])
    assert transforms.TypeCast(minispore.uint8)(floats).tolist() == [255, 44, 2, 0]
    assert transforms.TypeCast(np.bool_)(np.array([0, 0.5, 2])).tolist() == [False, True, True]
    assert transforms.TypeCast("float16")(np.array([1e9])).tolist() == [np.inf]
    assert transforms.TypeCast(minispore.int32)(np.uint32(7)).dtype == np.int32


@given(st.lists(st.floats()), st.sampled_from(["e", "f", "d"]), st.sampled_from("bBhHiIlLqQ"))
@example([math.nan, math.inf, -math.inf, 1e300], "d", "b")
@example([2.0**40 + 5], "d", "b")
@example([2.0**40 + 5], "d", "i")
def test_type_cast_truncates_floats_and_wraps_around(
    numbers: list[float], floats: str, integers: str
) -> None:
    """What int64 cannot represent gives any integer, without a warning."""
    with np.errstate(over="ignore"):
        values = np.array(numbers, floats)
    result = transforms.TypeCast(np.dtype(integers))(values)
    assert (result.shape, result.dtype) == (values.shape, np.dtype(integers))
    bits = 8 * result.itemsize
    for value, integer in zip(values.tolist(), result.tolist(), strict=True):
        if abs(value) < 2**63:
            assert (integer - int(value)) % 2**bits == 0
    for other in ("e", "f", "d"):
        with np.errstate(over="ignore"):
            expected = values.astype(other)
        np.testing.assert_array_equal(transforms.TypeCast(np.dtype(other))(values), expected)


@given(
    numbers=hnp.arrays(np.int32, hnp.array_shapes(max_dims=2), elements=st.integers(0, 4)),
    rate=st.floats(0, 1),
)
def test_one_hot_has_one_at_class_index(numbers: npt.NDArray[np.int32], rate: float) -> None:
    hot = transforms.OneHot(5)(numbers)
    assert hot.dtype == np.int32
    np.testing.assert_array_equal(hot, np.eye(5, dtype=np.int32)[numbers])
    smooth = transforms.OneHot(5, rate)(numbers).astype(float)
    np.testing.assert_allclose(smooth, (1 - rate) * np.eye(5)[numbers] + rate / 5, atol=1e-12)


def test_compose_nests_and_passes_several_values() -> None:
    inner = transforms.Compose([lambda a: (a, a + 1)])
    outer = transforms.Compose([inner, lambda a, b: a * b])
    assert outer(3) == 12
    assert transforms.Compose([inner])(3) == (3, 4)
