"""Image transforms: what holds for all images, and errors; the values are in tests/oracles."""

from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore.dataset import vision
from minispore.dataset.vision import Inter, Resize

sides = st.integers(1, 9)
sizes = st.tuples(sides, sides)
seeds = st.integers(0, 2**32 - 1)


@given(source=sizes, shorter=sides)
def test_single_size_is_the_shorter_side(source: tuple[int, int], shorter: int) -> None:
    image = np.arange(source[0] * source[1], dtype=np.uint8).reshape(source)
    resize = Resize(shorter, Inter.NEAREST)
    assert min(resize(image).shape) == shorter
    np.testing.assert_array_equal(resize(image.T), resize(image).T)


@pytest.mark.parametrize("interpolation", Inter)
@given(seed=seeds, source=sizes, size=sizes, dtype=st.sampled_from(["u1", "f4", "f8"]))
def test_resize_properties(
    interpolation: Inter, seed: int, source: tuple[int, int], size: tuple[int, int], dtype: str
) -> None:
    block = np.random.default_rng(seed).integers(0, 256, (3, *source, 2)).astype(dtype)
    resize = Resize(size, interpolation)
    one_by_one: list[Any] = [resize(image) for image in block]
    together = resize.batched(block.copy())
    assert together.dtype == block.dtype
    np.testing.assert_array_equal(together, np.stack(one_by_one))
    np.testing.assert_array_equal(resize(block[0, ..., 0]), together[0, ..., 0])
    # Resizing to the same size changes nothing; interpolation stays within the range of values.
    np.testing.assert_array_equal(Resize(source, interpolation)(block[0]), block[0])
    assert block.min() - 1e-3 <= together.min()
    assert together.max() <= block.max() + 1e-3


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
    np.testing.assert_array_equal(vision.Rescale(3, 0)(np.array([2**24 + 1])), f32(3 * 2**24 + 3))
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


@given(sizes)
def test_images_without_channels(size: tuple[int, int]) -> None:
    image = np.ones(size, np.uint8)
    assert vision.HWC2CHW()(image).shape == size
    assert vision.ToTensor()(image).shape == (1, *size)
    assert vision.Normalize((0.5,), (0.5,))(image).shape == size


DTYPES = ["i1", "u1", "i2", "u2", "i4", "i8", "f2", "f4", "f8"]
FILLED: dict[str, Callable[[int], Callable[[object], Any]]] = {
    "Pad": lambda fill: vision.Pad(1, fill),
    "RandomCrop": lambda fill: vision.RandomCrop((4, 4), 1, fill_value=fill),
    "Rotate": lambda fill: vision.Rotate(45, expand=True, fill_value=fill),
    "Affine": lambda fill: vision.Affine(0.0, (1.0, 1.0), 1.0, 0.0, fill_value=fill),
}


@pytest.mark.parametrize("kind", FILLED)
@given(fill=st.integers(0, 255), dtype=st.sampled_from(DTYPES))
@example(200, "i1")
def test_fill_value_is_cut_off_at_the_largest_of_the_type(kind: str, fill: int, dtype: str) -> None:
    filled = FILLED[kind](fill)(np.ones((2, 2, 1), dtype))
    largest = 255 if dtype[0] == "f" else np.iinfo(dtype).max
    assert filled.dtype == dtype
    assert filled[0, 0].item() == min(fill, largest)


@given(
    seed=seeds,
    size=sizes,
    mode=st.sampled_from(["1", "L", "LA", "P", "RGB", "RGBA", "I;16"]),
    kind=st.sampled_from(["PNG", "TIFF"]),
)
@example(0, (1, 1), "I;16", "PNG")
@example(0, (1, 1), "I;16", "TIFF")
def test_decoded_colors_are_the_upper_eight_bits(
    seed: int, size: tuple[int, int], mode: str, kind: str
) -> None:
    image_module = pytest.importorskip("PIL.Image")
    channels = {"LA": 2, "RGB": 3, "RGBA": 4}.get(mode, 1)
    wide = np.random.default_rng(seed).integers(0, 2**16, (*size, channels)).astype(np.uint16)
    pixels = (wide >> 8).astype(np.uint8)
    if mode == "1":
        pixels = np.where(pixels > 127, np.uint8(255), np.uint8(0))
    stored = {"I;16": wide, "1": pixels > 127}.get(mode, pixels)
    image = image_module.fromarray(stored.squeeze(-1) if channels == 1 else stored)
    if mode == "P":
        image.putpalette([255 - i for i in range(256) for _ in range(3)])
        pixels = 255 - pixels
    assert image.mode == mode
    file = BytesIO()
    image.save(file, kind)
    decoded = vision.Decode()(np.frombuffer(file.getvalue(), np.uint8))
    colors = pixels[..., :-1] if mode[-1] == "A" else pixels  # without transparency
    np.testing.assert_array_equal(decoded, np.broadcast_to(colors, (*size, 3)))


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_colors_of_32_bits_are_refused(dtype: type[np.generic]) -> None:
    image_module = pytest.importorskip("PIL.Image")
    file = BytesIO()
    image_module.fromarray(np.zeros((2, 2), dtype)).save(file, "TIFF")
    with pytest.raises(RuntimeError, match="cannot be decoded"):
        vision.Decode()(np.frombuffer(file.getvalue(), np.uint8))


colors = hnp.arrays(np.uint8, st.tuples(st.integers(1, 4), st.integers(1, 40), st.just(3)))


@given(colors, st.floats(-0.5, 0.5))
def test_hue_of_wide_images_equals_that_of_parts(image: Any, factor: float) -> None:  # noqa: ANN401
    adjust = vision.AdjustHue(factor)
    columns = [adjust(image[:, j : j + 1]) for j in range(image.shape[1])]
    np.testing.assert_array_equal(adjust(image), np.concatenate(columns, axis=1))
    with pytest.raises(RuntimeError, match="must be of uint8"):
        adjust(image.astype(f32))


@given(colors, st.floats(0, 4))
def test_colors_of_gray_images(image: Any, factor: float) -> None:  # noqa: ANN401
    """Saturation and hue of gray pixels do not change; brightness changes as that of one pixel."""
    gray = np.repeat(image[..., :1], 3, axis=-1)
    np.testing.assert_array_equal(vision.AdjustSaturation(factor)(gray), gray)
    np.testing.assert_array_equal(vision.AdjustHue(factor / 8)(gray), gray)
    np.testing.assert_array_equal(vision.AdjustContrast(1)(image), image)
    np.testing.assert_array_equal(vision.Invert()(vision.Invert()(image)), image)
    bright: Any = vision.AdjustBrightness(factor)(image)
    assert (abs(bright - np.minimum(image * f32(factor), 255)) <= 0.5).all()


@given(colors, st.integers(-3, 3), st.sampled_from([np.uint8, f32]), st.integers(0, 255))
def test_rotations_by_quarters_and_between_pixels(
    image: npt.NDArray[np.generic], quarters: int, dtype: type[np.generic], fill: int
) -> None:
    """With `expand` the image is turned as a whole; around another center, pixels are mixed."""
    image = image.astype(dtype)
    for resample in Inter:
        turned = vision.Rotate(90 * quarters, resample, expand=True)(image)
        np.testing.assert_array_equal(turned, np.rot90(image, quarters))
    mixed = np.pad(image.astype(f32), ((0, 1), (0, 1), (0, 0)), constant_values=fill)
    mixed = mixed[:-1] * 0.75 + mixed[1:] * 0.25
    mixed = (mixed[:, :-1] * 0.75 + mixed[:, 1:] * 0.25)[::-1, ::-1]
    center = (image.shape[1] - 0.75) / 2, (image.shape[0] - 0.75) / 2
    rotate = vision.Rotate(180, Inter.LINEAR, False, center, fill)
    moved = 0.25 / image.shape[1], 0.25 / image.shape[0]
    expected = np.floor(mixed + 0.5) if dtype is np.uint8 else mixed
    for transform in (rotate, vision.Affine(180, moved, 1, 0, Inter.LINEAR, fill)):
        np.testing.assert_array_equal(transform(image), expected)
    np.testing.assert_array_equal(vision.Rotate(180, center=center)(image), image[::-1, ::-1])
    assert np.asarray(vision.Rotate(90)(image)).shape == image.shape


extents = st.floats(1e-6, 1e3)


@given(old=sizes, size=sizes, scale=st.tuples(extents, extents), ratio=st.tuples(extents, extents))
def test_random_part_of_any_area_and_ratio_is_resized(
    old: tuple[int, int], size: tuple[int, int], scale: tuple[float, ...], ratio: tuple[float, ...]
) -> None:
    """If no such part fits, the nearest one is taken."""
    (least, most), (low, high) = sorted(scale), sorted(ratio)
    crop = vision.RandomResizedCrop(size, (least, most), (low, high))
    assert np.asarray(crop(np.ones((*old, 3), np.uint8))).tolist() == np.ones((*size, 3)).tolist()
