"""Random layers and losses, each with PyTorch's equivalent."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, TypeAlias

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

import minispore as ms
from minispore import Tensor, nn, ops
from minispore.testing import strategies as mst
from tests.helpers import float16
from tests.nn.layer.test_conv import of

torch: Any = import_module("torch")

Array: TypeAlias = NDArray[Any]
# PyTorch is optional, so it is untyped.
Theirs: TypeAlias = Any
reductions: st.SearchStrategy[Literal["mean", "sum", "none"]] = st.sampled_from(
    ["mean", "sum", "none"]
)
generators = st.integers(0, 9999).map(np.random.default_rng)
seeds = st.integers(0, 2**32 - 1)


def close(result: Tensor, expected: Theirs, atol: float = 1e-12) -> None:
    ours, theirs = (
        np.asarray(x, np.float64) for x in (result.asnumpy(), expected.detach().numpy())
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=atol)


def compare(ours: Callable[..., Tensor], theirs: Callable[..., Theirs], *inputs: Array) -> None:
    """Assert equal values, and equal gradients by each input."""
    tensors = [torch.tensor(x, requires_grad=True) for x in inputs]
    expected = theirs(*tensors)
    start = of(9, *expected.shape)
    expected.backward(torch.tensor(start))

    def weighted(*xs: Tensor) -> Tensor:
        return (ours(*xs) * Tensor(start)).sum()

    close(ours(*map(Tensor, inputs)), expected)
    for i, tensor in enumerate(tensors):
        gradient = ms.grad(weighted, i)(*map(Tensor, inputs))
        close(gradient, tensor.grad, 1e-10)


@dataclass(frozen=True)
class Pair:
    """A cell, its equivalent in PyTorch, and inputs for both.

    Attributes:
        ours: The cell.
        theirs: A module or a function.
        inputs: The inputs of both.
        by: The number of inputs, from the first, by which PyTorch differentiates.
    """

    ours: nn.Cell
    theirs: Callable[..., Theirs]
    inputs: tuple[Array, ...]
    by: int = 1


def like(parameters: Mapping[str, Array], module: Theirs) -> Theirs:
    """Return a PyTorch module with these parameters, in float64."""
    module = module.double()
    module.load_state_dict({name: torch.tensor(value) for name, value in parameters.items()})
    return module


def optional(array: Array | None) -> tuple[Tensor | None, Theirs]:
    return (None, None) if array is None else (Tensor(array), torch.tensor(array))


@st.composite
def elementwise(draw: st.DrawFn, ours: Callable[[], nn.Cell], theirs: Callable[[], Theirs]) -> Pair:
    rng = draw(generators)
    return Pair(ours(), theirs(), (rng.normal(0, 2, draw(mst.shapes())),))


@st.composite
def of_two_axes(draw: st.DrawFn, ours: Callable[[], nn.Cell], theirs: Callable[[], Theirs]) -> Pair:
    rng, shape = draw(generators), draw(st.tuples(*[st.integers(2, 4)] * 3))
    return Pair(ours(), theirs(), (rng.normal(size=shape),))


@st.composite
def along_an_axis(draw: st.DrawFn, ours: Callable[[int], nn.Cell], theirs: Theirs) -> Pair:
    rng, shape = draw(generators), draw(mst.shapes(1, 4, 1))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    return Pair(ours(axis), theirs(axis), (rng.normal(0, 2, shape),))


@st.composite
def flattens(draw: st.DrawFn) -> Pair:
    rng, shape = draw(generators), draw(mst.shapes(1, 4))
    first, last = sorted(draw(st.tuples(*[st.integers(0, len(shape) - 1)] * 2)))
    dims = first - len(shape) * draw(st.integers(0, 1)), last - len(shape) * draw(st.integers(0, 1))
    return Pair(nn.Flatten(*dims), torch.nn.Flatten(*dims), (rng.normal(size=shape),))


ACTIVATIONS: dict[str | None, Callable[..., Theirs]] = {
    None: torch.nn.Identity,
    "relu": torch.nn.ReLU,
    "sigmoid": torch.nn.Sigmoid,
    "tanh": torch.nn.Tanh,
    "softmax": lambda: torch.nn.Softmax(-1),
    "logsoftmax": lambda: torch.nn.LogSoftmax(-1),
}


def linear(layer: nn.Dense) -> Theirs:
    weight = layer.weight.asnumpy()
    parameters = {"weight": weight} | ({} if layer.bias is None else {"bias": layer.bias.asnumpy()})
    return like(
        parameters, torch.nn.Linear(weight.shape[1], weight.shape[0], bias="bias" in parameters)
    )


@st.composite
def denses(draw: st.DrawFn) -> Pair:
    rng, shape = draw(generators), draw(mst.shapes(1, 3, 1))
    activation = draw(st.sampled_from(list(ACTIVATIONS)))
    layer = nn.Dense(
        shape[-1],
        draw(st.integers(1, 4)),
        has_bias=draw(st.booleans()),
        activation=activation,
        dtype=ms.float64,
    )
    theirs = torch.nn.Sequential(linear(layer), ACTIVATIONS[activation]())
    return Pair(layer, theirs, (rng.normal(size=shape),))


@st.composite
def sequences(draw: st.DrawFn) -> Pair:
    pairs = [draw(denses()) for _ in range(draw(st.integers(1, 3)))]
    layers = [pairs[0].ours]
    theirs = [pairs[0].theirs]
    width = np.shape(pairs[0].ours(Tensor(pairs[0].inputs[0])).asnumpy())[-1]
    for _ in pairs[1:]:
        layer = nn.Dense(width, draw(st.integers(1, 3)), dtype=ms.float64)
        layers += [nn.Tanh(), layer]
        theirs += [torch.nn.Tanh(), linear(layer)]
        width = layer.out_channels
    return Pair(nn.SequentialCell(layers), torch.nn.Sequential(*theirs), pairs[0].inputs)


@st.composite
def distances(draw: st.DrawFn, ours: Callable[..., nn.Cell], theirs: Callable[..., Theirs]) -> Pair:
    rng, shape, reduction = draw(generators), draw(mst.shapes(0, 3, 1)), draw(reductions)
    inputs = rng.normal(0, 3, shape), rng.normal(0, 3, shape)
    return Pair(ours(reduction), theirs(reduction=reduction), inputs, 2)


@st.composite
def soft_margins(draw: st.DrawFn) -> Pair:
    rng, shape, reduction = draw(generators), draw(mst.shapes(0, 3, 1)), draw(reductions)
    inputs = rng.normal(0, 3, shape), np.asarray(rng.choice([-1.0, 1.0], shape))
    return Pair(nn.SoftMarginLoss(reduction), torch.nn.SoftMarginLoss(reduction=reduction), inputs)


@st.composite
def divergences(draw: st.DrawFn) -> Pair:
    rng, shape = draw(generators), draw(mst.shapes(1, 3, 1))
    others: st.SearchStrategy[Literal["batchmean"]] = st.just("batchmean")
    reduction = draw(reductions | others)
    inputs = rng.normal(0, 3, shape), rng.uniform(0.1, 1, shape)

    def theirs(x: Theirs, y: Theirs) -> Theirs:
        # PyTorch warns of the mean.
        losses = torch.nn.functional.kl_div(x, y, reduction="none")
        return {"none": losses, "mean": losses.mean(), "sum": losses.sum()}.get(
            reduction, losses.sum() / len(x)
        )

    return Pair(nn.KLDivLoss(reduction), theirs, inputs, 2)


@st.composite
def hinges(draw: st.DrawFn) -> Pair:
    rng, shape, reduction = draw(generators), draw(mst.shapes(0, 3, 1)), draw(reductions)
    inputs = rng.normal(0, 3, shape), np.asarray(rng.choice([-1.0, 1.0], shape))
    theirs = torch.nn.HingeEmbeddingLoss(0.5, reduction=reduction)
    return Pair(nn.HingeEmbeddingLoss(0.5, reduction), theirs, inputs)


@st.composite
def rankings(draw: st.DrawFn) -> Pair:
    rng, shape, reduction = draw(generators), draw(mst.shapes(0, 3, 1)), draw(reductions)
    target = np.asarray(rng.choice([-1.0, 1.0], shape))
    inputs = rng.normal(0, 3, shape), rng.normal(0, 3, shape), target
    theirs = torch.nn.MarginRankingLoss(0.5, reduction=reduction)
    return Pair(nn.MarginRankingLoss(0.5, reduction), theirs, inputs, 2)


@st.composite
def angles(draw: st.DrawFn) -> Pair:
    rng, shape, reduction = draw(generators), draw(mst.shapes(2, 2, 1)), draw(reductions)
    target = np.asarray(rng.choice([-1, 1], shape[:1]))
    # PyTorch adds 1e-12 to the squares of lengths.
    both = rng.choice([-1.0, 1.0], (2, *shape)) * rng.uniform(1, 3, (2, *shape))
    inputs = both[0], both[1], target
    theirs = torch.nn.CosineEmbeddingLoss(0.25, reduction=reduction)
    return Pair(nn.CosineEmbeddingLoss(0.25, reduction), theirs, inputs, 2)


@st.composite
def padded(draw: st.DrawFn, name: str, axes: int) -> Pair:
    """Pad images of at least two rows and columns, or sequences."""
    sides = draw(st.tuples(*[st.integers(0, 1)] * 2 * axes))
    rng, shape = draw(generators), draw(mst.shapes(2 + axes, 2 + axes, 2))
    ours, theirs = getattr(nn, name), getattr(torch.nn, name)
    return Pair(ours(sides), theirs(sides), (rng.normal(0, 3, shape),))


@st.composite
def log_probabilities(draw: st.DrawFn) -> Pair:
    rng, reduction = draw(generators), draw(reductions)
    rows, classes = draw(st.integers(1, 4)), draw(st.integers(2, 5))
    labels = np.asarray(rng.integers(0, classes - 1, rows))
    weight = rng.uniform(0.1, 2, classes) if draw(st.booleans()) else None
    ignored = draw(st.sampled_from([-100, classes - 1]))
    mine, theirs = optional(weight)
    return Pair(
        nn.NLLLoss(mine, ignored, reduction),
        torch.nn.NLLLoss(theirs, ignore_index=ignored, reduction=reduction),
        (rng.normal(0, 3, (rows, classes)), labels),
    )


@st.composite
def binary(draw: st.DrawFn) -> Pair:
    rng, shape, reduction = draw(generators), draw(mst.shapes(0, 3, 1)), draw(reductions)
    weight = rng.uniform(0, 2, shape) if draw(st.booleans()) else None
    inputs = rng.uniform(0.01, 0.99, shape), rng.uniform(0, 1, shape)
    mine, theirs = optional(weight)
    return Pair(nn.BCELoss(mine, reduction), torch.nn.BCELoss(theirs, reduction=reduction), inputs)


@st.composite
def binary_with_logits(draw: st.DrawFn) -> Pair:
    rng, shape, reduction = draw(generators), draw(mst.shapes(1, 3, 1)), draw(reductions)
    weight, positive = (
        rng.uniform(0, 2, shape[-1:]) if draw(st.booleans()) else None for _ in range(2)
    )
    inputs = rng.normal(0, 10, shape), rng.uniform(0, 1, shape)
    (mine, theirs), (my_positive, their_positive) = optional(weight), optional(positive)
    return Pair(
        nn.BCEWithLogitsLoss(reduction, mine, my_positive),
        torch.nn.BCEWithLogitsLoss(theirs, reduction=reduction, pos_weight=their_positive),
        inputs,
        2,
    )


@st.composite
def cross_entropies(draw: st.DrawFn) -> Pair:
    """Cross entropy of class indices or probabilities, for one row, many, or further axes."""
    rng, reduction = draw(generators), draw(reductions)
    classes, more = draw(st.integers(1, 5)), draw(mst.shapes(0, 3, 1, 3))
    shape = (*more[:1], classes, *more[1:])
    weight = rng.uniform(0.1, 2, classes) if draw(st.booleans()) else None
    smoothing = draw(st.sampled_from([0.0, 0.1, 1.0]))
    ignored = -100
    if draw(st.booleans()):
        labels: Array = np.moveaxis(rng.dirichlet(np.ones(classes), more), -1, min(len(more), 1))
    else:
        labels = np.asarray(rng.integers(0, classes, more))
        # The first label is not ignored, since the mean of no rows is NaN.
        ignored = draw(st.sampled_from([-100, -1, 0, 1]).filter(lambda i: i != labels.flat[0]))
    mine, theirs = optional(weight)
    return Pair(
        nn.CrossEntropyLoss(mine, ignored, reduction, smoothing),
        torch.nn.CrossEntropyLoss(
            theirs, ignore_index=ignored, reduction=reduction, label_smoothing=smoothing
        ),
        (rng.normal(0, 3, shape), labels),
        1 if labels.dtype == np.int64 else 2,
    )


@st.composite
def rows_of_logits(draw: st.DrawFn) -> Pair:
    rng, reduction, sparse = draw(generators), draw(reductions), draw(st.booleans())
    rows, classes = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    labels = rng.integers(0, classes, rows) if sparse else rng.dirichlet(np.ones(classes), rows)
    ours = nn.SoftmaxCrossEntropyWithLogits(sparse, reduction)
    theirs = torch.nn.CrossEntropyLoss(reduction=reduction)
    return Pair(ours, theirs, (rng.normal(0, 3, (rows, classes)), labels), 1 if sparse else 2)


def images(draw: st.DrawFn, rng: np.random.Generator, channels: int) -> Array:
    """Draw float64 images (n, channels, height, width)."""
    height, width = draw(st.tuples(*[st.integers(1, 6)] * 2))
    return np.asarray(rng.normal(0, 2, (2, channels, height, width)))


@st.composite
def group_norms(draw: st.DrawFn) -> Pair:
    rng, groups, size = draw(generators), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    channels = groups * size
    gamma, beta = rng.normal(size=channels), rng.normal(size=channels)
    layer = nn.GroupNorm(
        groups, channels, 1e-3, gamma_init=Tensor(gamma), beta_init=Tensor(beta), dtype=ms.float64
    )
    theirs = like({"weight": gamma, "bias": beta}, torch.nn.GroupNorm(groups, channels, 1e-3))
    return Pair(layer, theirs, (images(draw, rng, channels),))


def with_kernels(layer: nn.Conv1d | nn.Conv2dTranspose, module: Theirs) -> Theirs:
    """Return PyTorch's convolution with the parameters of the layer."""
    for theirs, ours in zip(module.parameters(), layer.get_parameters(), strict=True):
        theirs.data = torch.tensor(ours.asnumpy().reshape(tuple(theirs.shape)))
    return module


@st.composite
def convolutions_1d(draw: st.DrawFn) -> Pair:
    rng, group, bias = draw(generators), draw(st.integers(1, 2)), draw(st.booleans())
    ins, outs, size, stride, dilation = (draw(st.integers(1, 3)) for _ in range(5))
    padding = draw(st.integers(0, 2))
    channels = group * ins, group * outs
    layer = nn.Conv1d(
        *channels, size, stride, "pad", padding, dilation, group, bias, dtype=ms.float64
    )
    theirs = torch.nn.Conv1d(*channels, size, stride, padding, dilation, group, bias)
    x = rng.normal(size=(2, channels[0], dilation * (size - 1) + draw(st.integers(1, 4))))
    return Pair(layer, with_kernels(layer, theirs), (x,))


@st.composite
def transposed_convolutions(draw: st.DrawFn) -> Pair:
    rng, group, bias = draw(generators), draw(st.integers(1, 2)), draw(st.booleans())
    two = st.tuples(*[st.integers(1, 3)] * 2)
    (ins, outs), size, stride, dilation = (draw(two) for _ in range(4))
    # Of the padding, PyTorch has one number for each axis; at least one of two pixels is left.
    reach = [d * (n - 1) for d, n in zip(dilation, size, strict=True)]
    high, wide = (
        min(draw(st.integers(0, 2)), r, (s + r) // 2) for s, r in zip(stride, reach, strict=True)
    )
    added = tuple(
        draw(st.integers(0, max(s, d) - 1)) for s, d in zip(stride, dilation, strict=True)
    )
    channels = group * ins, group * outs
    layer = nn.Conv2dTranspose(
        *channels,
        size,
        stride,
        "pad",
        (high, high, wide, wide),
        (added[0], added[1]),
        dilation,
        group,
        bias,
        dtype=ms.float64,
    )
    theirs = torch.nn.ConvTranspose2d(
        *channels, size, stride, (high, wide), 0, group, bias, dilation
    )
    # PyTorch's `output_padding` cuts off less, MindSpore's adds zeros.
    zeros = torch.nn.ZeroPad2d((0, added[1], 0, added[0]))
    x = rng.normal(size=(2, channels[0], *draw(st.tuples(*[st.integers(2, 4)] * 2))))
    return Pair(layer, torch.nn.Sequential(with_kernels(layer, theirs), zeros), (x,))


@st.composite
def adaptive_pools(
    draw: st.DrawFn, ours: Callable[..., nn.Cell], theirs: Callable[..., Theirs]
) -> Pair:
    lengths = st.none() | st.integers(1, 7)
    size = draw(st.integers(1, 7) | st.tuples(lengths, lengths))
    x = images(draw, draw(generators), 2)
    return Pair(ours(size), theirs(size), (x if draw(st.booleans()) else x[0],))


class Joined(nn.Cell):
    """All outputs of a recurrent layer or cell, in one tensor; a pair of states is one input.

    Attributes:
        states: The number of states, which follow the input.
    """

    def __init__(self, cell: nn.Cell, states: int, *further: Tensor | None) -> None:
        super().__init__()
        self.cell = cell
        self.states = states
        self.further = further

    def construct(self, x: Tensor, *states: Tensor) -> Tensor:
        hx = states if self.states == 2 else states[0]
        found: list[object] = float16.flattened(self.cell(x, hx, *self.further))
        return ops.cat([y.reshape(-1) for y in found if isinstance(y, Tensor)])


class TheirsJoined:
    """PyTorch's outputs in the same way, and its parameters in the order of minispore's."""

    def __init__(
        self, module: Theirs, names: list[str], states: int, lengths: list[int] | None = None
    ) -> None:
        self.module = module
        self.names = names
        self.states = states
        self.lengths = lengths

    def parameters(self) -> list[Theirs]:
        return [dict(self.module.named_parameters())[name] for name in self.names]

    def __call__(self, x: Theirs, *states: Theirs) -> Theirs:
        hx = states if self.states == 2 else states[0]
        if self.lengths is not None:
            x = torch.nn.utils.rnn.pack_padded_sequence(
                x, self.lengths, self.module.batch_first, enforce_sorted=False
            )
        outputs = self.module(x, hx)
        if self.lengths is not None:
            y, _ = torch.nn.utils.rnn.pad_packed_sequence(
                outputs[0], self.module.batch_first, total_length=3
            )
            outputs = y, outputs[1]
        flat: list[Theirs] = float16.flattened(outputs)
        return torch.cat([y.reshape(-1) for y in flat])


@st.composite
def recurrent_layers(draw: st.DrawFn, name: str) -> Pair:
    """A layer, perhaps with sequences of different lengths, of at most three steps."""
    rng, states = draw(generators), 2 if name == "LSTM" else 1
    size, hidden, layers, n = draw(st.tuples(*[st.integers(1, 3)] * 4))
    bias, first, both = draw(st.tuples(*[st.booleans()] * 3))
    kind = {"nonlinearity": draw(st.sampled_from(["tanh", "relu"]))} if name == "RNN" else {}
    layer = getattr(nn, name)(
        size, hidden, layers, bias, first, bidirectional=both, dtype=ms.float64, **kind
    )
    # PyTorch's RNN has `nonlinearity` as its fourth argument.
    module = getattr(torch.nn, name)(
        size, hidden, layers, bias=bias, batch_first=first, bidirectional=both, **kind
    )
    parameters = {p.name: p.asnumpy() for p in layer.get_parameters()}
    lengths = draw(st.none() | st.lists(st.integers(1, 3), min_size=n, max_size=n))
    further = None if lengths is None else Tensor(lengths)
    x = rng.normal(size=(n, 3, size) if first else (3, n, size))
    shape = (layers * (2 if both else 1), n, hidden)
    return Pair(
        Joined(layer, states, further),
        TheirsJoined(like(parameters, module), [*parameters], states, lengths),
        (x, *(rng.normal(size=shape) for _ in range(states))),
        1 + states,
    )


@st.composite
def recurrent_cells(draw: st.DrawFn, name: str) -> Pair:
    rng, states = draw(generators), 2 if name == "LSTMCell" else 1
    size, hidden, n = draw(st.tuples(*[st.integers(1, 3)] * 3))
    bias = draw(st.booleans())
    kind = {"nonlinearity": draw(st.sampled_from(["tanh", "relu"]))} if name == "RNNCell" else {}
    cell = getattr(nn, name)(size, hidden, bias, dtype=ms.float64, **kind)
    parameters = {p.name: p.asnumpy() for p in cell.get_parameters()}
    module = like(parameters, getattr(torch.nn, name)(size, hidden, bias, **kind))
    return Pair(
        Joined(cell, states),
        TheirsJoined(module, [*parameters], states),
        (rng.normal(size=(n, size)), *(rng.normal(size=(n, hidden)) for _ in range(states))),
        1 + states,
    )


def hard_sigmoid(x: Theirs) -> Theirs:
    """PyTorch's own has 1/6 in float32."""
    return torch.clamp(x / 6 + 0.5, 0, 1)


PAIRS: dict[str, st.SearchStrategy[Pair]] = {
    "ReLU": elementwise(nn.ReLU, torch.nn.ReLU),
    "Sigmoid": elementwise(nn.Sigmoid, torch.nn.Sigmoid),
    "Tanh": elementwise(nn.Tanh, torch.nn.Tanh),
    "ReLU6": elementwise(nn.ReLU6, torch.nn.ReLU6),
    "SeLU": elementwise(nn.SeLU, torch.nn.SELU),
    "SiLU": elementwise(nn.SiLU, torch.nn.SiLU),
    "Mish": elementwise(nn.Mish, torch.nn.Mish),
    "HSigmoid": elementwise(nn.HSigmoid, lambda: hard_sigmoid),
    "HSwish": elementwise(nn.HSwish, torch.nn.Hardswish),
    "LogSigmoid": elementwise(nn.LogSigmoid, torch.nn.LogSigmoid),
    "Softsign": elementwise(nn.Softsign, torch.nn.Softsign),
    "Tanhshrink": elementwise(nn.Tanhshrink, torch.nn.Tanhshrink),
    "LeakyReLU": elementwise(lambda: nn.LeakyReLU(0.3), lambda: torch.nn.LeakyReLU(0.3)),
    "ELU": elementwise(lambda: nn.ELU(0.5), lambda: torch.nn.ELU(0.5)),
    "CELU": elementwise(lambda: nn.CELU(0.5), lambda: torch.nn.CELU(0.5)),
    "GELU": elementwise(lambda: nn.GELU(False), lambda: torch.nn.GELU()),
    "Hardtanh": elementwise(lambda: nn.Hardtanh(-0.5, 2.0), lambda: torch.nn.Hardtanh(-0.5, 2.0)),
    "SoftShrink": elementwise(lambda: nn.SoftShrink(0.25), lambda: torch.nn.Softshrink(0.25)),
    "HShrink": elementwise(lambda: nn.HShrink(0.25), lambda: torch.nn.Hardshrink(0.25)),
    "PReLU": elementwise(lambda: nn.PReLU().to(ms.float64), lambda: torch.nn.PReLU().double()),
    "Softmin": along_an_axis(nn.Softmin, torch.nn.Softmin),
    "GroupNorm": group_norms(),
    "Conv1d": convolutions_1d(),
    "Conv2dTranspose": transposed_convolutions(),
    "MaxPool1d": of_two_axes(
        lambda: nn.MaxPool1d(2, 2, "pad", 1, 2, ceil_mode=True),
        lambda: torch.nn.MaxPool1d(2, 2, 1, 2, ceil_mode=True),
    ),
    "AvgPool1d": of_two_axes(
        lambda: nn.AvgPool1d(2, 3, "pad", 1, count_include_pad=False),
        lambda: torch.nn.AvgPool1d(2, 3, 1, count_include_pad=False),
    ),
    "AdaptiveAvgPool1d": of_two_axes(
        lambda: nn.AdaptiveAvgPool1d(2), lambda: torch.nn.AdaptiveAvgPool1d(2)
    ),
    "AdaptiveMaxPool1d": of_two_axes(
        lambda: nn.AdaptiveMaxPool1d(2), lambda: torch.nn.AdaptiveMaxPool1d(2)
    ),
    "AdaptiveAvgPool2d": adaptive_pools(nn.AdaptiveAvgPool2d, torch.nn.AdaptiveAvgPool2d),
    "AdaptiveMaxPool2d": adaptive_pools(nn.AdaptiveMaxPool2d, torch.nn.AdaptiveMaxPool2d),
    "Identity": elementwise(nn.Identity, torch.nn.Identity),
    # In evaluation mode; for training mode see tests/nn/layer/test_basic.py.
    "Dropout": elementwise(nn.Dropout, torch.nn.Identity),
    "Dropout2d": elementwise(nn.Dropout2d, torch.nn.Identity),
    "Upsample": of_two_axes(
        lambda: nn.Upsample(5, mode="linear", align_corners=True),
        lambda: torch.nn.Upsample(5, mode="linear", align_corners=True),
    ),
    "Softmax": along_an_axis(nn.Softmax, torch.nn.Softmax),
    "LogSoftmax": along_an_axis(nn.LogSoftmax, torch.nn.LogSoftmax),
    "Flatten": flattens(),
    "Unflatten": of_two_axes(
        lambda: nn.Unflatten(-2, (1, -1)), lambda: torch.nn.Unflatten(-2, (1, -1))
    ),
    "Pad": of_two_axes(
        lambda: nn.Pad(((0, 0), (1, 2), (3, 0))), lambda: torch.nn.ZeroPad2d((3, 0, 1, 2))
    ),
    "ConstantPad1d": of_two_axes(
        lambda: nn.ConstantPad1d((2, 1), 0.5), lambda: torch.nn.ConstantPad1d((2, 1), 0.5)
    ),
    "ConstantPad2d": of_two_axes(
        lambda: nn.ConstantPad2d((2, -1, 0, 1), 0.5),
        lambda: torch.nn.ConstantPad2d((2, -1, 0, 1), 0.5),
    ),
    **{
        f"{kind}Pad{axes}d": padded(f"{kind}Pad{axes}d", axes)
        for kind in ("Reflection", "Replication")
        for axes in (1, 2)
    },
    "ZeroPad2d": of_two_axes(
        lambda: nn.ZeroPad2d((-1, 2, 1, 0)), lambda: torch.nn.ZeroPad2d((-1, 2, 1, 0))
    ),
    "Dense": denses(),
    "SequentialCell": sequences(),
    **{name: recurrent_layers(name) for name in ("RNN", "GRU", "LSTM")},
    **{name: recurrent_cells(name) for name in ("RNNCell", "GRUCell", "LSTMCell")},
    "MSELoss": distances(nn.MSELoss, torch.nn.MSELoss),
    "MAELoss": distances(nn.MAELoss, torch.nn.L1Loss),
    "KLDivLoss": divergences(),
    "HingeEmbeddingLoss": hinges(),
    "MarginRankingLoss": rankings(),
    "CosineEmbeddingLoss": angles(),
    "L1Loss": distances(nn.L1Loss, torch.nn.L1Loss),
    "SmoothL1Loss": distances(
        lambda reduction: nn.SmoothL1Loss(2.0, reduction),
        lambda reduction: torch.nn.SmoothL1Loss(reduction=reduction, beta=2.0),
    ),
    "HuberLoss": distances(
        lambda reduction: nn.HuberLoss(reduction, 2.0),
        lambda reduction: torch.nn.HuberLoss(reduction=reduction, delta=2.0),
    ),
    "RMSELoss": distances(
        lambda reduction: nn.RMSELoss(),
        lambda reduction: lambda x, y: torch.nn.functional.mse_loss(x, y).sqrt(),
    ),
    "SoftMarginLoss": soft_margins(),
    "NLLLoss": log_probabilities(),
    "BCELoss": binary(),
    "BCEWithLogitsLoss": binary_with_logits(),
    "CrossEntropyLoss": cross_entropies(),
    "SoftmaxCrossEntropyWithLogits": rows_of_logits(),
}
