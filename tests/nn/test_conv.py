"""Convolution and pooling compute what PyTorch's do, to the second derivative."""

from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import minispore as ms
from minispore import Tensor, nn, ops, set_seed
from minispore.testing import gradcheck, gradgradcheck

torch = pytest.importorskip("torch")
functional: Any = torch.nn.functional if torch else None

Floats = NDArray[np.float64]
# Of PyTorch, which need not be there, a type checker knows nothing.
Theirs: TypeAlias = Any
ONE_OR_TWO = st.integers(1, 2)
pairs = st.tuples(ONE_OR_TWO, ONE_OR_TWO) | ONE_OR_TWO
seeds = st.integers(0, 2**32 - 1)


def both(size: int | tuple[int, int]) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else size


def of(seed: int, *shape: int) -> Floats:
    return np.random.default_rng(seed).normal(size=shape)


def close(found: Tensor, expected: Theirs, atol: float = 1e-12) -> None:
    ours, theirs = (np.asarray(x, np.float64) for x in (found.asnumpy(), expected.detach().numpy()))
    np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=atol)


def compare(ours: Callable[..., Tensor], theirs: Callable[..., Theirs], *inputs: Floats) -> None:
    """The same value, and the same slopes by each input."""
    tensors = [torch.tensor(x, requires_grad=True) for x in inputs]
    expected = theirs(*tensors)
    start = of(9, *expected.shape)
    expected.backward(torch.tensor(start))

    def weighed(*given: Tensor) -> Tensor:
        return (ours(*given) * Tensor(start)).sum()

    found = ours(*map(Tensor, inputs))
    close(found, expected)
    for i, tensor in enumerate(tensors):
        slope = ms.grad(weighed, i)(*map(Tensor, inputs))
        close(slope, tensor.grad, 1e-10)


@given(
    seed=seeds,
    sizes=st.tuples(st.integers(0, 2), st.integers(1, 2), st.integers(1, 2), st.integers(1, 2)),
    kernel=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    stride=pairs,
    padding=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    dilation=pairs,
    more=st.tuples(st.integers(0, 3), st.integers(0, 3)),
)
def test_convolution_is_pytorchs(
    seed: int,
    sizes: tuple[int, int, int, int],
    kernel: tuple[int, int],
    stride: int | tuple[int, int],
    padding: tuple[int, int],
    dilation: int | tuple[int, int],
    more: tuple[int, int],
) -> None:
    n, groups, ins, outs = sizes
    # Images in which at least one window finds room, and perhaps more than that.
    size = [
        max(d * (k - 1) + 1 - 2 * p, 1) + extra
        for d, k, p, extra in zip(both(dilation), kernel, padding, more, strict=True)
    ]
    x = of(seed, n, groups * ins, *size)
    w, b = of(seed + 1, groups * outs, ins, *kernel), of(seed + 2, groups * outs)

    def ours(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return ops.conv2d(x, w, b, stride, "pad", padding, dilation, groups)

    def theirs(*given: object) -> Theirs:
        return functional.conv2d(*given, stride, padding, dilation, groups)

    if n:
        compare(ours, theirs, x, w, b)
    else:
        expected = theirs(*map(torch.tensor, (x, w, b)))
        assert ours(Tensor(x), Tensor(w), Tensor(b)).shape == tuple(expected.shape)


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


@given(
    seed=seeds,
    kernel=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    stride=pairs,
    half=st.booleans(),
    dilation=pairs,
    ceil=st.booleans(),
    size=st.tuples(st.integers(5, 7), st.integers(5, 7)),
    include=st.booleans(),
    divisor=st.sampled_from([0, 3]),
)
def test_pooling_is_pytorchs(
    seed: int,
    kernel: tuple[int, int],
    stride: int | tuple[int, int],
    half: bool,
    dilation: int | tuple[int, int],
    ceil: bool,
    size: tuple[int, int],
    include: bool,
    divisor: int,
) -> None:
    """Also where numbers are equal, of which the first is the largest; and where they are."""
    padding = (kernel[0] // 2, kernel[1] // 2) if half else (0, 0)
    x = np.round(of(seed, 2, 1, *size))
    settings = (kernel, stride, padding, dilation)
    compare(
        lambda x: ops.max_pool2d(x, *settings, ceil_mode=ceil),
        lambda x: functional.max_pool2d(x, *settings, ceil),
        x,
    )
    places = ops.max_pool2d(Tensor(x), *settings, return_indices=True, ceil_mode=ceil)[1]
    theirs = functional.max_pool2d(torch.tensor(x), *settings, ceil, return_indices=True)[1]
    np.testing.assert_array_equal(places.asnumpy(), theirs.numpy())
    around = (padding[0], padding[0], padding[1], padding[1])
    compare(
        lambda x: ops.avg_pool2d(x, kernel, stride, around, ceil, include, divisor),
        lambda x: functional.avg_pool2d(x, kernel, stride, padding, ceil, include, divisor or None),
        x,
    )


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
