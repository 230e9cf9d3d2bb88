"""Convolutions: shapes, dtypes, derivatives, initial values, memory, counted operations."""

from math import prod, sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import minispore as ms
from minispore import Tensor, nn, ops, set_seed
from minispore.engine.rules import unfold
from minispore.ops import convolution as convolution_module
from tests.helpers.floats import floats
from tests.helpers.randomness import assert_uniform

Floats = NDArray[np.float64]


def of(seed: int, *shape: int) -> Floats:
    return np.random.default_rng(seed).normal(size=shape)


@given(
    length=st.integers(1, 9),
    kernel=st.integers(1, 4),
    stride=st.integers(1, 4),
    dilation=st.integers(1, 2),
)
def test_same_padding_output_size(length: int, kernel: int, stride: int, dilation: int) -> None:
    layer = nn.Conv2d(1, 1, kernel, stride, dilation=dilation, weight_init="ones")
    y = layer(ops.ones((1, 1, length, 2 * length)))
    assert y.shape == (1, 1, -(-length // stride), -(-2 * length // stride))
    # A window inside the image covers only ones.
    assert y.asnumpy().max() <= kernel * kernel


pairs = st.tuples(st.integers(1, 2), st.integers(1, 2))


@given(strides=pairs, dilations=pairs, padding=st.integers(0, 1), seed=st.integers(0, 99))
def test_channels_are_convolved_in_blocks_and_as_groups(
    strides: tuple[int, int], dilations: tuple[int, int], padding: int, seed: int
) -> None:
    images, kernels = Tensor(of(seed, 2, 5, 6, 7)), Tensor(of(seed + 1, 5, 1, 2, 3))

    def convolution(x: Tensor, w: Tensor) -> Tensor:
        return ops.conv2d(x, w, None, strides, "pad", padding, dilations, groups=5)

    def results() -> list[Floats]:
        value, gradients = ms.value_and_grad(convolution, (0, 1))(images, kernels)
        return [tensor.asnumpy() for tensor in (value, *gradients)]

    whole = results()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unfold, "_BLOCK", 200)
        blocks = results()
        patch.setattr(convolution_module, "is_host", lambda _: False)
        groups = results()
    for expected, *others in zip(whole, blocks, groups, strict=True):
        for other in others:
            np.testing.assert_allclose(other, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("groups", [1, 2])
@given(
    stride=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    padding=st.integers(0, 1),
    seed=st.integers(0, 99),
)
def test_kernel_of_one_element_is_a_larger_one_with_zeros(
    groups: int, stride: tuple[int, int], padding: int, seed: int
) -> None:
    images, kernels = of(seed, 2, 2, 3, 4), of(seed + 1, 4, 2 // groups, 1, 1)
    bias = Tensor(of(seed + 2, 4))

    def convolution(images: Floats, kernels: Floats) -> Tensor:
        x, w = Tensor(images), Tensor(kernels)
        return ops.conv2d(x, w, bias, stride, "pad", padding, groups=groups)

    expected = convolution(
        np.pad(images, ((0, 0), (0, 0), (0, 1), (0, 1))),
        np.pad(kernels, ((0, 0), (0, 0), (0, 1), (0, 1))),
    )
    np.testing.assert_allclose(convolution(images, kernels).asnumpy(), expected.asnumpy())


def test_dtypes_are_promoted() -> None:
    layer = nn.Conv2d(1, 1, 1, weight_init="ones")
    assert layer(ops.ones((1, 1, 2, 2), ms.int32)).dtype is ms.float32
    assert layer(ops.ones((1, 1, 2, 2), ms.float64)).dtype is ms.float64
    half = nn.Conv2d(1, 2, 3, has_bias=True, dtype=ms.float16)
    assert half(ops.ones((1, 1, 2, 2), ms.float16)).dtype is ms.float16


@given(st.sampled_from([1, 2, 4]), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_initial_kernels_and_biases_are_uniform(group: int, size: int, seed: int) -> None:
    set_seed(seed)
    layer = nn.Conv2d(4, 800, size, group=group, has_bias=True)
    assert layer.bias is not None
    assert layer.weight.shape == (800, 4 // group, size, size)
    for values in (floats(layer.weight), floats(layer.bias)):
        assert_uniform(values, 1 / sqrt(4 // group * size**2))


def test_initial_values_may_be_given() -> None:
    kernel = Tensor(of(0, 2, 1, 3))
    plane = kernel.expand_dims(2)
    for layer in (
        nn.Conv1d(1, 2, 3, has_bias=True, weight_init=kernel, bias_init="ones", dtype=ms.float64),
        nn.Conv2d(1, 2, (1, 3), 1, "same", 0, 1, 1, True, plane, "ones", dtype=ms.float64),
    ):
        assert layer.weight.tolist() == plane.tolist()
        assert layer.bias is not None
        assert layer.bias.tolist() == [1.0, 1.0]
    assert nn.Conv2d(1, 1, 1, weight_init=0.5).weight.tolist() == [[[[0.5]]]]
    assert nn.Conv2d(1, 1, 1).bias is None


@pytest.mark.parametrize("images", [(3, 4, 8, 8), (8, 8, 3, 4)])
def test_peak_memory_is_bounded(
    images: tuple[int, int, int, int],
) -> None:
    """Windows of rows are views, so there is one copy for each column of the kernel."""
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


@pytest.mark.parametrize(("kernels", "group"), [(6, 2), (4, 4)])
def test_gemm_observers_count_the_products(kernels: int, group: int) -> None:
    from minispore.engine.rules import linalg

    counted: list[int] = []

    def watch(x: object, y: object) -> None:
        left, right = np.asarray(x).shape, np.asarray(y).shape
        stack = np.broadcast_shapes(left[:-2], right[:-2])
        counted.append(prod(stack) * left[-2] * left[-1] * right[-1])

    linalg.gemm_observers.append(watch)
    try:
        layer = nn.Conv2d(4, kernels, 3, pad_mode="valid", group=group)
        ms.value_and_grad(layer, 0, layer.trainable_params())(ops.ones((5, 4, 8, 9)))
    finally:
        linalg.gemm_observers.remove(watch)
    product = 5 * kernels * 6 * 7 * 4 // group * 9
    assert counted[0] == product
    # The gradients may multiply with zeros around those by the results.
    assert 3 * product <= sum(counted) <= 5 * product


class Reader(nn.Cell):
    """A small network with convolution and batch normalization."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, 2, has_bias=True)
        self.norm = nn.BatchNorm2d(4)
        self.pool = nn.MaxPool2d(2, 2)
        self.dense = nn.Dense(4 * 7 * 7, 10)

    def construct(self, x: Tensor) -> Tensor:
        y = self.pool(ops.relu(self.norm(self.conv(x))))
        return self.dense(ops.flatten(y))


def test_network_trains_and_restores_from_checkpoint(tmp_path: Path) -> None:
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
    expected = {f"conv.{name}" for name in names[0]} | {f"norm.{name}" for name in names[1]}
    assert set(saved) == expected | {"dense.weight", "dense.bias"}
    other = Reader()
    ms.load_param_into_net(other, saved)
    net.set_train(False)
    assert (other(x) == net(x)).all()
    assert not (Reader()(x) == net(x)).all()
