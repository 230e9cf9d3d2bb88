"""A count or size beyond the memory is an error at once, not an endless loop."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, nn, ops
from minispore.common.initializer import initializer
from minispore.dataset import NumpySlicesDataset, digits, transforms

DATA = NumpySlicesDataset({"x": np.ones((4, 2), np.float32)})
IMAGE = Tensor(np.ones((1, 1, 4, 4), np.float32))

# Calls that would do as many steps, or write as many images.
LOOPS: dict[str, Callable[[int], object]] = {
    "total_step": lambda size: nn.exponential_decay_lr(0.1, 0.5, size, 2, 1),
    "natural_exp": lambda size: nn.natural_exp_decay_lr(0.1, 0.5, size, 2, 1),
    "inverse": lambda size: nn.inverse_decay_lr(0.1, 0.5, size, 2, 1),
    "cosine": lambda size: nn.cosine_decay_lr(0.0, 0.1, size, 2, 1),
    "polynomial": lambda size: nn.polynomial_decay_lr(0.1, 0.0, size, 2, 1, 1.0),
    "warmup": lambda size: nn.warmup_lr(0.1, size, 2, 1),
    "milestone": lambda size: nn.piecewise_constant_lr([size], [0.1]),
    "count": digits.generate,
    "train": lambda size: digits.write(Path("never"), train=size),
    "test": lambda size: digits.write(Path("never"), test=size),
}
# Calls that would allocate an array.
ARRAYS: list[Callable[[int], object]] = [
    lambda size: ops.zeros((size,)),
    ops.arange,
    ops.eye,
    lambda size: ops.randn(size),
    lambda size: ops.tile(Tensor([1.0]), (size,)),
    lambda size: ops.pad(Tensor([[1.0]]), (size, 0)),
    lambda size: ops.one_hot(Tensor([1]), size),
    lambda size: initializer("normal", [size]),
    lambda size: nn.Dense(size, 1),
    lambda size: nn.Embedding(size, 4),
    lambda size: nn.BatchNorm1d(size),
    lambda size: nn.Conv2d(1, 1, size),
    lambda size: nn.Conv2d(1, 1, 3, pad_mode="pad", padding=size)(IMAGE),
    lambda size: transforms.OneHot(size)(np.array(1)),
    lambda size: DATA.shuffle(size),
    lambda size: DATA.repeat(size),
    lambda size: DATA.take(size),
]
absurd = st.integers(10**18, 10**30)


@pytest.mark.parametrize("name", LOOPS)
@given(size=absurd)
def test_too_large_count_is_in_the_error(name: str, size: int) -> None:
    with pytest.raises(ValueError, match=rf"must be in \[\d, \d+\], but got {size}\.$"):
        LOOPS[name](size)
    assert not Path("never").exists()


@pytest.mark.parametrize("name", ["train", "test"])
def test_float_count_raises(name: str) -> None:
    with pytest.raises(TypeError, match=f"'{name}' must be one of int, but got 1e\\+30"):
        digits.write("never", **{name: 1e30})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("make", ARRAYS)
@given(size=absurd)
def test_too_large_size_raises(make: Callable[[int], object], size: int) -> None:
    with pytest.raises((ValueError, MemoryError, OverflowError)):
        make(size)
