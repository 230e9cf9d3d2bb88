"""Image grids: PNG files that matplotlib reads, with correct intensities."""

import struct
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from minispore.train.summary.image import as_bytes, make_grid, png

plt_image = pytest.importorskip("matplotlib.image")

PIXELS = hnp.arrays(
    np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9), st.sampled_from([1, 3]))
)


def read(data: bytes) -> NDArray[np.uint8]:
    """Return the pixels of a PNG file, of shape (height, width) or (height, width, 3)."""
    result = plt_image.imread(BytesIO(data), format="png")
    pixels: NDArray[np.uint8] = np.rint(np.asarray(result) * 255).astype(np.uint8)
    return pixels


@given(PIXELS)
def test_png_file_contains_the_pixels(pixels: NDArray[np.uint8]) -> None:
    expected = pixels[:, :, 0] if pixels.shape[2] == 1 else pixels
    np.testing.assert_array_equal(read(png(pixels)), expected)
    height, width, channels = pixels.shape
    colours = {1: 0, 3: 2}[channels]
    assert png(pixels)[16:29] == struct.pack(">IIBBBBB", width, height, 8, colours, 0, 0, 0)
    assert png(pixels).endswith(b"\0\0\0\0IEND\xaeB`\x82")


@given(st.integers(1, 20), st.sampled_from([1, 3]))
def test_grid_has_eight_images_per_row(n: int, channels: int) -> None:
    images = np.random.default_rng(n).integers(0, 256, (n, channels, 2, 3), np.uint8)
    made = make_grid(images)
    columns, rows = min(n, 8), -(-n // 8)
    assert (made.height, made.width, made.colorspace) == (rows * 2, columns * 3, channels)
    pixels = read(made.png).reshape(rows * 2, columns * 3, channels)
    for i, image in enumerate(images):
        top, left = i // 8 * 2, i % 8 * 3
        np.testing.assert_array_equal(
            pixels[top : top + 2, left : left + 3], image.transpose(1, 2, 0)
        )


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([0.0, 0.5, 1.0], [0, 128, 255]),
        ([0.0, 0.5], [0, 128]),
        ([0.0, 1.5], [0, 255]),
        ([0.25, 0.5], [64, 128]),
        ([0.5, 1.0], [128, 255]),
        ([False, True], [0, 255]),
        (np.array([3, 200], np.uint8), [3, 200]),
        # Beyond 0 to 1, the smallest and largest elements of the batch are black and white.
        ([-1.0, 0.0, 1.0], [0, 128, 255]),
        (np.array([5, 7], np.int32), [0, 255]),
        ([5.0, 5.0], [0, 0]),
        ([np.nan, 0.0, 1.0, np.inf], [0, 0, 255, 255]),
        ([np.nan, -1.0, 1.0, np.inf], [0, 0, 255, 255]),
        ([-np.inf, 0.0, 1.0], [0, 0, 255]),
        ([0.0, 1.0, np.inf], [0, 255, 255]),
        ([np.nan, np.inf], [0, 255]),
        ([-1e308, 1e308], [0, 255]),
        # NaN is black, whatever the range is; an infinity is out of range.
        ([np.nan, 0.25, 0.5], [0, 64, 128]),
        ([np.nan, 2.0, 3.0], [0, 0, 255]),
        ([np.nan, np.nan], [0, 0]),
        ([0.25, 0.5, np.inf], [0, 255, 255]),
        ([-np.inf, 0.25, 0.5], [0, 0, 255]),
        ([0.5, np.inf], [0, 255]),
    ],
)
def test_conversion_to_uint8(numbers: object, expected: list[int]) -> None:
    row = np.array(numbers).reshape(1, 1, 1, -1)
    assert read(make_grid(row).png).reshape(-1).tolist() == expected


@given(
    hnp.arrays(
        st.sampled_from([np.float16, np.float32, np.float64]),
        (2, 1, 2, 3),
        elements=st.sampled_from([np.nan, 0.25, 0.5]) | st.floats(width=16),
    )
)
def test_brightness_follows_the_intensities_and_nan_is_black(
    images: NDArray[np.floating],
) -> None:
    bright = as_bytes(images)
    undefined = np.isnan(images)
    assert not bright[undefined].any()
    numbers, levels = images[~undefined], bright[~undefined]
    assert (np.diff(levels[np.argsort(numbers)].astype(int)) >= 0).all()
    if numbers.size and (numbers.min() < 0 or numbers.max() > 1):
        assert not levels[numbers == numbers.min()].any()
        assert numbers.min() == numbers.max() or (levels[numbers == numbers.max()] == 255).all()
    else:
        np.testing.assert_array_equal(levels, np.rint(numbers * np.float32(255)))
