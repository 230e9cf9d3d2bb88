"""Resized images are MindSpore's, bit for bit where they are of bytes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.dataset.vision import Inter, Resize

sides = st.integers(1, 9)
sizes = st.tuples(sides, sides)
seeds = st.integers(0, 2**32 - 1)
IMAGE = (np.arange(15).reshape(3, 5) ** 2 % 251).astype(np.uint8)


# What MindSpore 2.10 gives.
@pytest.mark.parametrize(
    ("size", "interpolation", "expected"),
    [
        (
            (4, 7),
            Inter.LINEAR,
            [
                [0, 0, 2, 4, 7, 12, 16],
                [16, 20, 25, 32, 40, 49, 57],
                [53, 61, 73, 85, 98, 112, 124],
                [100, 112, 127, 144, 162, 180, 196],
            ],
        ),
        ((2, 3), Inter.BILINEAR, [[7, 15, 29], [87, 120, 159]]),
        ((5, 2), Inter.NEAREST, [[0, 4], [0, 4], [25, 49], [25, 49], [100, 144]]),
        (
            6,
            Inter.LINEAR,
            [
                [0, 0, 1, 2, 3, 5, 8, 11, 14, 16],
                [6, 7, 9, 11, 14, 17, 21, 25, 30, 32],
                [19, 21, 25, 30, 35, 41, 47, 54, 61, 65],
                [44, 47, 54, 61, 69, 77, 86, 95, 105, 110],
                [81, 86, 95, 105, 115, 126, 137, 149, 161, 167],
                [100, 105, 116, 127, 138, 150, 163, 176, 189, 196],
            ],
        ),
    ],
)
def test_bytes_are_mindspores(
    size: int | tuple[int, int], interpolation: Inter, expected: list[list[int]]
) -> None:
    for image, again in ((IMAGE, expected), (IMAGE[..., None], np.array(expected)[..., None])):
        resized = Resize(size, interpolation)(image)
        assert resized.dtype == np.uint8
        np.testing.assert_array_equal(resized, again)


@given(own=sizes, shorter=sides)
def test_of_one_length_it_is_the_shorter_sides(own: tuple[int, int], shorter: int) -> None:
    image = np.arange(own[0] * own[1], dtype=np.uint8).reshape(own)
    resize = Resize(shorter, Inter.NEAREST)
    assert min(resize(image).shape) == shorter
    np.testing.assert_array_equal(resize(image.T), resize(image).T)


@pytest.mark.parametrize("interpolation", Inter)
@given(seed=seeds, own=sizes, size=sizes, dtype=st.sampled_from(["u1", "f4", "f8"]))
def test_what_holds_for_every_image(
    interpolation: Inter, seed: int, own: tuple[int, int], size: tuple[int, int], dtype: str
) -> None:
    block = np.random.default_rng(seed).integers(0, 256, (3, *own, 2)).astype(dtype)
    resize = Resize(size, interpolation)
    each: list[Any] = [resize(image) for image in block]
    together = resize.batched(block.copy())
    assert together.dtype == block.dtype
    np.testing.assert_array_equal(together, np.stack(each))
    # To its own size nothing changes, and nothing lies outside of what was there.
    np.testing.assert_array_equal(Resize(own, interpolation)(block[0]), block[0])
    assert block.min() - 1e-3 <= together.min()
    assert together.max() <= block.max() + 1e-3


@pytest.mark.parametrize(
    ("size", "interpolation", "error"),
    [
        ("a", Inter.LINEAR, TypeError),
        (3.5, Inter.LINEAR, TypeError),
        (True, Inter.LINEAR, TypeError),
        ((1, 2, 3), Inter.LINEAR, TypeError),
        ((0, 3), Inter.LINEAR, ValueError),
        (3, "linear", TypeError),
        (3, None, TypeError),
    ],
)
def test_bad_settings(size: object, interpolation: object, error: type[Exception]) -> None:
    make: Any = Resize
    with pytest.raises(error, match="^For 'Resize', "):
        make(size, interpolation)


@pytest.mark.parametrize(
    "image", [np.zeros(3, np.uint8), np.zeros((2, 2), np.int32), np.zeros((0, 2), np.uint8)]
)
def test_bad_images(image: object) -> None:
    with pytest.raises(RuntimeError, match="^For 'Resize', an image must be "):
        Resize(2)(image)
