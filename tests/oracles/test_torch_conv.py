"""Values and gradients of convolution and pooling match PyTorch's."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import minispore as ms
from minispore import Tensor, nn, ops
from tests.nn.layer.test_conv import of
from tests.oracles.torch_layers import Theirs, compare, seeds, torch

functional = torch.nn.functional
ONE_OR_TWO = st.integers(1, 2)
pairs = st.tuples(ONE_OR_TWO, ONE_OR_TWO) | ONE_OR_TWO


def both(size: int | tuple[int, int]) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else size


@given(
    seed=seeds,
    sizes=st.tuples(st.integers(0, 2), st.integers(1, 2), st.integers(1, 2), st.integers(1, 2)),
    kernel=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    stride=pairs,
    padding=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    dilation=pairs,
    more=st.tuples(st.integers(0, 3), st.integers(0, 3)),
)
def test_convolution_matches_pytorch(
    seed: int,
    sizes: tuple[int, int, int, int],
    kernel: tuple[int, int],
    stride: int | tuple[int, int],
    padding: tuple[int, int],
    dilation: int | tuple[int, int],
    more: tuple[int, int],
) -> None:
    n, groups, ins, outs = sizes
    # Images that contain at least one window.
    size = [
        max(d * (k - 1) + 1 - 2 * p, 1) + extra
        for d, k, p, extra in zip(both(dilation), kernel, padding, more, strict=True)
    ]
    x = of(seed, n, groups * ins, *size)
    w, b = of(seed + 1, groups * outs, ins, *kernel), of(seed + 2, groups * outs)

    def ours(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return ops.conv2d(x, w, b, stride, "pad", padding, dilation, groups)

    def theirs(*inputs: object) -> Theirs:
        return functional.conv2d(*inputs, stride, padding, dilation, groups)

    if n:
        compare(ours, theirs, x, w, b)
    else:
        expected = theirs(*map(torch.tensor, (x, w, b)))
        assert ours(Tensor(x), Tensor(w), Tensor(b)).shape == tuple(expected.shape)
    pads = (padding[0], padding[0], padding[1], padding[1])
    layer = nn.Conv2d(
        groups * ins,
        groups * outs,
        kernel,
        stride,
        "pad",
        pads,
        dilation,
        groups,
        has_bias=True,
        weight_init=Tensor(w),
        bias_init=Tensor(b),
        dtype=ms.float64,
    )
    assert (layer(Tensor(x)) == ours(Tensor(x), Tensor(w), Tensor(b))).all()


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
def test_pooling_matches_pytorch(
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
    """With ties, of which the first element is the maximum, and with indices."""
    padding = (kernel[0] // 2, kernel[1] // 2) if half else (0, 0)
    x = np.round(of(seed, 2, 1, *size))
    settings = (kernel, stride, padding, dilation)
    compare(
        lambda x: ops.max_pool2d(x, *settings, ceil_mode=ceil),
        lambda x: functional.max_pool2d(x, *settings, ceil),
        x,
    )
    largest, places = ops.max_pool2d(Tensor(x), *settings, return_indices=True, ceil_mode=ceil)
    theirs = functional.max_pool2d(torch.tensor(x), *settings, ceil, return_indices=True)[1]
    np.testing.assert_array_equal(places.asnumpy(), theirs.numpy())
    layer: nn.Cell = nn.MaxPool2d(kernel, stride, "pad", padding, dilation, ceil_mode=ceil)
    assert (layer(Tensor(x)) == largest).all()
    pads = (padding[0], padding[0], padding[1], padding[1])
    compare(
        lambda x: ops.avg_pool2d(x, kernel, stride, pads, ceil, include, divisor),
        lambda x: functional.avg_pool2d(x, kernel, stride, padding, ceil, include, divisor or None),
        x,
    )
    layer = nn.AvgPool2d(kernel, stride, "pad", padding, ceil, include, divisor or None)
    expected = ops.avg_pool2d(Tensor(x), kernel, stride, pads, ceil, include, divisor)
    assert (layer(Tensor(x)) == expected).all()
