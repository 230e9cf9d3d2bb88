"""Resized and interpolated images match PyTorch's; those of uint8 are rounded."""

from importlib import import_module
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, grad, ops
from minispore.dataset.vision import Resize

torch: Any = import_module("torch")
sides = st.integers(1, 9)
sizes = st.tuples(sides, sides)


@given(seed=st.integers(0, 2**32 - 1), source=sizes, size=sizes)
def test_resize_equals_pytorch(seed: int, source: tuple[int, int], size: tuple[int, int]) -> None:
    image = np.random.default_rng(seed).integers(0, 256, (*source, 2)).astype(np.uint8)
    floats = np.asarray(image, np.float64)
    theirs = torch.nn.functional.interpolate(
        torch.tensor(floats.transpose(2, 0, 1)[None]), size, mode="bilinear"
    )
    expected = theirs[0].numpy().transpose(1, 2, 0)
    np.testing.assert_allclose(np.asarray(Resize(size)(floats), np.float64), expected, atol=1e-3)
    resized = Resize(size)(image)
    assert np.abs(np.asarray(resized, np.float64) - expected).max() < 1.01


@given(
    seed=st.integers(0, 2**32 - 1),
    source=sizes,
    size=sizes,
    mode=st.sampled_from(["nearest", "nearest-exact", "linear", "bilinear"]),
    align_corners=st.booleans(),
)
def test_interpolation_equals_pytorch(
    seed: int, source: tuple[int, int], size: tuple[int, int], mode: str, align_corners: bool
) -> None:
    axes = 1 if mode == "linear" else 2
    x = np.random.default_rng(seed).normal(size=(2, 3, *source[:axes]))
    corners = align_corners if mode.endswith("linear") else None
    theirs = torch.tensor(x, requires_grad=True)
    expected = torch.nn.functional.interpolate(theirs, size[:axes], None, mode, corners)
    expected.square().sum().backward()

    def interpolated(values: Tensor) -> Tensor:
        return ops.interpolate(values, size[:axes], None, mode, corners)

    values = Tensor(x)
    np.testing.assert_allclose(interpolated(values).asnumpy(), expected.detach(), atol=1e-6)
    slope = grad(lambda values: (interpolated(values) ** 2).sum())(values)
    np.testing.assert_allclose(slope.asnumpy(), theirs.grad, atol=1e-6)
