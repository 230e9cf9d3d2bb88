"""Transforms: values that MindSpore gives, inputs left as they are, and errors."""
# Functions of users carry no types; the lambdas here stand for them.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minispore
from minispore.dataset import transforms, vision

f32 = np.float32
images = hnp.arrays(
    st.sampled_from([np.uint8, np.int16, np.float32]),
    st.tuples(st.integers(1, 4), st.integers(1, 4), st.just(3)),
    elements=st.integers(0, 127),
)


@given(images)
def test_arithmetic_is_float32_in_mindspores_order(image: npt.NDArray[np.generic]) -> None:
    x = image.astype(f32)
    np.testing.assert_array_equal(vision.Rescale(1 / 255, 0)(image), x * f32(1 / 255))
    rounded_once = (x.astype(np.float64) * f32(1 / 255) + f32(-0.5)).astype(f32)
    np.testing.assert_array_equal(vision.Rescale(1 / 255, -0.5)(image), rounded_once)
    mean, std = np.array([1, 2, 3], f32), np.array([0.5, 0.7, 0.9], f32)
    normalized = vision.Normalize((1, 2, 3), (0.5, 0.7, 0.9))(image)
    np.testing.assert_array_equal(normalized, (x - mean) / std)
    front = vision.Normalize((1, 2, 3), (0.5, 0.7, 0.9), is_hwc=False)(image.transpose(2, 0, 1))
    np.testing.assert_array_equal(front, normalized.transpose(2, 0, 1))
    np.testing.assert_array_equal(vision.HWC2CHW()(image), image.transpose(2, 0, 1))
    tensor = vision.ToTensor()(image)
    np.testing.assert_array_equal(tensor, x.transpose(2, 0, 1) * f32(1 / 255))


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
def test_the_input_stays_as_it_is_and_is_not_shared(operation: vision.Rescale) -> None:
    image = np.arange(12, dtype=f32).reshape(2, 2, 3)
    result = operation(image)
    assert not np.shares_memory(image, result)
    np.testing.assert_array_equal(image, np.arange(12, dtype=f32).reshape(2, 2, 3))


def test_images_without_channels() -> None:
    image = np.ones((2, 5), np.uint8)
    assert vision.HWC2CHW()(image).shape == (2, 5)
    assert vision.ToTensor()(image).shape == (1, 2, 5)
    assert vision.Normalize((0.5,), (0.5,))(image).shape == (2, 5)


def test_vision_errors() -> None:
    with pytest.raises(RuntimeError, match="'HWC2CHW'"):
        vision.HWC2CHW()(np.zeros(3))
    with pytest.raises(RuntimeError, match="'ToTensor'"):
        vision.ToTensor()(np.zeros((1, 1, 1, 1)))
    with pytest.raises(RuntimeError, match="has 3 channels"):
        vision.Normalize((1.0, 2.0), (1.0, 1.0))(np.zeros((2, 2, 3)))
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        vision.Normalize((1.0,), (1.0,))(np.zeros(3))
    with pytest.raises(ValueError, match="'std' must be above 0"):
        vision.Normalize((1.0,), (0.0,))
    with pytest.raises(ValueError, match="same length"):
        vision.Normalize((1.0,), (1.0, 2.0))
    with pytest.raises(ValueError, match="'mean'"):
        vision.Normalize((-1.0,), (1.0,))
    with pytest.raises(TypeError, match="'mean'"):
        vision.Normalize(1.0, 1.0)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="'rescale'"):
        vision.Rescale("a", 0)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_type_cast_converts_as_mindspore_does() -> None:
    floats = np.array([-1.0, 300.0, 2.7, -0.5])
    assert transforms.TypeCast(minispore.uint8)(floats).tolist() == [255, 44, 2, 0]
    assert transforms.TypeCast(np.bool_)(np.array([0, 0.5, 2])).tolist() == [False, True, True]
    assert transforms.TypeCast("float16")(np.array([1e9])).tolist() == [np.inf]
    assert transforms.TypeCast(minispore.int32)(np.uint32(7)).dtype == np.int32
    with pytest.raises(TypeError, match="'data_type'"):
        transforms.TypeCast("no type")


@given(hnp.arrays(np.int32, hnp.array_shapes(max_dims=2), elements=st.integers(0, 4)))
def test_one_hot_has_a_one_at_its_number(numbers: npt.NDArray[np.int32]) -> None:
    hot = transforms.OneHot(5)(numbers)
    assert hot.dtype == np.int32
    np.testing.assert_array_equal(hot, np.eye(5, dtype=np.int32)[numbers])


def test_one_hot_smooths_and_refuses() -> None:
    smooth = transforms.OneHot(4, 0.1)(np.array(2))
    assert smooth.tolist() == pytest.approx([0.025, 0.025, 0.925, 0.025])
    for number in (4, -1):
        with pytest.raises(RuntimeError, match=r"must be in \[0, 3\]"):
            transforms.OneHot(4)(np.array(number))
    with pytest.raises(RuntimeError, match="int type"):
        transforms.OneHot(4)(np.array(1.0))
    with pytest.raises(ValueError, match="'num_classes'"):
        transforms.OneHot(0)


def test_compose_nests_and_passes_several_values() -> None:
    inner = transforms.Compose([lambda a: (a, a + 1)])
    outer = transforms.Compose([inner, lambda a, b: a * b])
    assert outer(3) == 12
    assert transforms.Compose([inner])(3) == (3, 4)
    with pytest.raises(ValueError, match="must not be empty"):
        transforms.Compose([])
    with pytest.raises(TypeError, match="'transforms'"):
        transforms.Compose([3])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
