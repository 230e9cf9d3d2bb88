"""Convolution and pooling: shapes, types, derivatives, first values, memory, counted products."""

from math import prod
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import minispore as ms
from minispore import Tensor, nn, ops, set_seed
from minispore.testing import gradcheck, gradgradcheck

Floats = NDArray[np.float64]


def of(seed: int, *shape: int) -> Floats:
    return np.random.default_rng(seed).normal(size=shape)


@given(
    length=st.integers(1, 9),
    kernel=st.integers(1, 4),
    stride=st.integers(1, 4),
    dilation=st.integers(1, 2),
)
def test_same_makes_as_many_places_as_the_stride_goes_into_the_length(
    length: int, kernel: int, stride: int, dilation: int
) -> None:
    layer = nn.Conv2d(1, 1, kernel, stride, dilation=dilation, weight_init="ones")
    y = layer(ops.ones((1, 1, length, 2 * length)))
    assert y.shape == (1, 1, -(-length // stride), -(-2 * length // stride))
    # Where a window lies inside of the image it finds ones only.
    assert y.asnumpy().max() <= kernel * kernel


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.Conv2d(2, 2, (2, 3), 2, has_bias=True, dtype=ms.float64), (2, 2, 3, 4)),
        (nn.Conv2d(2, 4, 2, pad_mode="valid", dilation=2, group=2, dtype=ms.float64), (1, 2, 4, 3)),
        (nn.MaxPool2d(2, 1), (1, 2, 3, 3)),
        (nn.MaxPool2d(3, 2, "pad", 1), (1, 1, 5, 4)),
        (nn.AvgPool2d(2, 1, "same"), (1, 2, 3, 3)),
    ],
)
def test_first_and_second_derivatives(layer: nn.Cell, shape: tuple[int, ...]) -> None:
    x = Tensor(of(0, *shape))
    gradcheck(layer, x)

    def squared(x: Tensor) -> Tensor:
        return ops.square(layer(x)).sum()

    gradgradcheck(squared, x, weights=layer.trainable_params())


def test_the_largest_of_padded_images_is_never_what_was_added() -> None:
    for dtype in (ms.float16, ms.float32, ms.int8, ms.uint8, ms.int64):
        lowest = ops.full((1, 1, 2, 2), 0 if dtype is ms.uint8 else -120, dtype=dtype)
        pooled = nn.MaxPool2d(3, 1, "pad", 1)(lowest)
        assert pooled.dtype is dtype
        assert (pooled == lowest).all()


def test_an_image_may_come_alone_to_be_pooled() -> None:
    x = Tensor(of(0, 3, 5, 6))
    for layer in (nn.MaxPool2d(2, 2), nn.AvgPool2d(2, 2, "same")):
        assert (layer(x) == layer(x.expand_dims(0))[0]).all()
    y, places = nn.MaxPool2d(2, 2, "pad", return_indices=True)(x)
    assert y.shape == places.shape == (3, 2, 3)
    assert (x.reshape((3, 30))[1, places[1].reshape((-1,))] == y[1].reshape((-1,))).all()


def test_a_convolution_of_other_types_is_of_their_common_type() -> None:
    layer = nn.Conv2d(1, 1, 1, weight_init="ones")
    assert layer(ops.ones((1, 1, 2, 2), ms.int32)).dtype is ms.float32
    assert layer(ops.ones((1, 1, 2, 2), ms.float64)).dtype is ms.float64
    half = nn.Conv2d(1, 2, 3, has_bias=True, dtype=ms.float16)
    assert half(ops.ones((1, 1, 2, 2), ms.float16)).dtype is ms.float16


@pytest.mark.parametrize("group", [1, 4])
def test_the_first_kernels_are_even_within_a_root_of_their_size(group: int) -> None:
    set_seed(1)
    layer = nn.Conv2d(8, 400, 5, group=group, has_bias=True)
    assert layer.bias is not None
    bound = 1 / np.sqrt(prod(layer.weight.shape[1:]))
    for values in (layer.weight.asnumpy(), layer.bias.asnumpy()):
        assert 0.97 * bound < np.abs(values).max() <= bound
    assert layer.weight.asnumpy().std() == pytest.approx(bound / np.sqrt(3), rel=0.02)


@pytest.mark.parametrize("images", [(3, 4, 8, 8), (8, 8, 3, 4)])
def test_what_a_convolution_keeps_is_no_more_than_its_windows_and_what_goes_in_and_out(
    images: tuple[int, int, int, int],
) -> None:
    """Windows of rows are views, so there are as many copies as a kernel has columns."""
    import tracemalloc

    layer = nn.Conv2d(images[1], 4, 5)
    x = ops.ones((64, *images[1:]))

    def peak() -> int:
        tracemalloc.start()
        layer(x)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak()
    height, width = images[2:]
    padded = 64 * images[1] * (height + 4) * (width + 4)
    strips, out = 64 * images[1] * (height + 4) * width * 5, 64 * 4 * height * width
    assert peak() < 4 * (padded + strips + 2 * out) * 1.1 + 10_000


def test_products_of_a_convolution_are_counted() -> None:
    from minispore._rules import linalg

    counted: list[int] = []

    def watch(x: object, y: object) -> None:
        left, right = np.shape(cast("Floats", x)), np.shape(cast("Floats", y))
        stack = np.broadcast_shapes(left[:-2], right[:-2])
        counted.append(prod(stack) * left[-2] * left[-1] * right[-1])

    linalg.watchers.append(watch)
    try:
        nn.Conv2d(4, 6, 3, pad_mode="valid", group=2)(ops.ones((5, 4, 8, 9)))
    finally:
        linalg.watchers.remove(watch)
    assert counted == [5 * 6 * 6 * 7 * 2 * 9]


class Reader(nn.Cell):
    """A small network with a convolution, and a normalisation behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, 2, has_bias=True)
        self.norm = nn.BatchNorm2d(4)
        self.pool = nn.MaxPool2d(2, 2)
        self.dense = nn.Dense(4 * 7 * 7, 10)

    def construct(self, x: Tensor) -> Tensor:
        y = self.pool(ops.relu(self.norm(self.conv(x))))
        return self.dense(ops.flatten(y))


def test_a_network_learns_and_its_checkpoint_holds_what_it_learnt(tmp_path: Path) -> None:
    set_seed(3)
    net = Reader().set_train()
    step = nn.TrainOneStepCell(
        nn.WithLossCell(net, nn.CrossEntropyLoss()), nn.Momentum(net.trainable_params(), 0.05, 0.9)
    )
    x, labels = Tensor(of(0, 20, 1, 28, 28), ms.float32), Tensor(np.arange(20) % 10, ms.int32)
    losses = [step(x, labels).item() for _ in range(25)]
    assert losses[-1] < 0.1 * losses[0]
    ms.save_checkpoint(net, str(tmp_path / "reader.ckpt"))
    saved = ms.load_checkpoint(str(tmp_path / "reader.ckpt"))
    names = ["weight", "bias"], ["moving_mean", "moving_variance", "gamma", "beta"]
    wanted = {f"conv.{name}" for name in names[0]} | {f"norm.{name}" for name in names[1]}
    assert set(saved) == wanted | {"dense.weight", "dense.bias"}
    other = Reader()
    ms.load_param_into_net(other, saved)
    net.set_train(False)
    assert (other(x) == net(x)).all()
    assert not (Reader()(x) == net(x)).all()
