"""Values and gradients of each rule match PyTorch's, also at kinks, zeros and infinities."""

from collections.abc import Callable
from importlib import import_module
from math import prod
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.array_backends import to_numpy
from tests.helpers.rule_cases import CASES, Floats, Shape
from tests.oracles.torch_ops import PAIRS

torch: Any = import_module("torch")
functional = torch.nn.functional

# PyTorch is optional, so it is untyped.
Theirs: TypeAlias = Any
Function: TypeAlias = Callable[..., Theirs]
seeds = st.integers(0, 2**32 - 1)


def over(reduce: Function) -> Function:
    """Return a reduction of PyTorch that reduces all axes if none are specified."""

    def reduced(x: Theirs, axis: object, keepdims: bool) -> Theirs:
        axes = tuple(range(x.ndim)) if axis is None else axis
        return reduce(x, dim=axes, keepdim=keepdims) if x.ndim else x * 1.0

    return reduced


def taken(x: Theirs, index: tuple[object, ...]) -> Theirs:
    return x[tuple(torch.tensor(i) if isinstance(i, np.ndarray) else i for i in index)]


def positions(count: int, size: int, step: int, spread: int) -> Theirs:
    """Return the indices of the elements in each window along an axis, of shape (count, size)."""
    return torch.tensor(np.arange(count)[:, None] * step + np.arange(size) * spread)


def windows(x: Theirs, axis: int, size: int, step: int, spread: int) -> Theirs:
    count = (x.shape[axis] - spread * (size - 1) - 1) // step + 1
    return x[(slice(None),) * axis + (positions(count, size, step, spread),)]


def fold(x: Theirs, axis: int, length: int, step: int, spread: int) -> Theirs:
    before, (count, size), after = x.shape[:axis], x.shape[axis : axis + 2], x.shape[axis + 2 :]
    places = positions(count, size, step, spread).reshape(-1)
    values = x.reshape(*before, count * size, *after)
    return torch.zeros(*before, length, *after, dtype=x.dtype).index_add(axis, places, values)


def standardized(x: Theirs, axes: tuple[int, ...], epsilon: float) -> Theirs:
    variance, mean = torch.var_mean(x, axes, correction=0, keepdim=True)
    return (x - mean) / torch.sqrt(variance + epsilon)


def batch_norm(
    x: Theirs, weight: Theirs, bias: Theirs, axes: tuple[int, ...], epsilon: float, _: object
) -> Theirs:
    return standardized(x, axes, epsilon) * weight + bias


def layer_norm(x: Theirs, weight: Theirs, bias: Theirs, first: int, epsilon: float) -> Theirs:
    return standardized(x, tuple(range(first, x.ndim)), epsilon) * weight + bias


def scattered(values: Theirs, index: tuple[slice, ...], shape: Shape) -> Theirs:
    places = np.arange(prod(shape)).reshape(shape)[index].reshape(-1)
    flat = values.new_zeros(prod(shape))
    return flat.index_add(0, torch.tensor(places), values.reshape(-1)).reshape(shape)


def clipped(x: Theirs, low: float | None, high: float | None) -> Theirs:
    # PyTorch requires a bound.
    return x * 1.0 if low is None and high is None else torch.clamp(x, low, high)


def squeezed(x: Theirs, axis: object) -> Theirs:
    return x.squeeze() if axis is None else x.squeeze(axis)


def log_sum_exp(x: Theirs, axis: object, keepdims: bool) -> Theirs:
    axes = tuple(range(x.ndim)) if axis is None else axis
    return torch.logsumexp(x, dim=axes, keepdim=keepdims)


def cross_entropy(x: Theirs, index: tuple[object, ...], reduction: str) -> Theirs:
    labels = torch.tensor(index[-1])
    losses = functional.cross_entropy(
        x.reshape(-1, x.shape[-1]), labels.reshape(-1), reduction=reduction
    )
    return losses.reshape(labels.shape) if reduction == "none" else losses


def softmax_cross_entropy(x: Theirs, y: Theirs) -> Theirs:
    return -(torch.log_softmax(x, -1) * y).sum(-1)


def depthwise(x: Theirs, w: Theirs, dilations: tuple[int, int]) -> Theirs:
    images, kernels = x.permute(1, 0, 2, 3), w[:, None]
    y = functional.conv2d(images, kernels, None, 1, 0, dilations, len(w))
    return y.permute(1, 0, 2, 3)


def qr(x: Theirs) -> Theirs:
    q, r = torch.linalg.qr(x)
    return torch.cat([q, r.mT], -2)


def svd(x: Theirs) -> Theirs:
    u, s, v = torch.linalg.svd(x, full_matrices=False)
    # The sign of a pair of vectors is arbitrary: let it be that of numpy.
    ours = torch.tensor(np.linalg.svd(x.detach().numpy(), full_matrices=False)[0])
    signs = torch.sign((ours * u.detach()).sum(-2, keepdim=True))
    return torch.cat([u * signs, s[..., None, :], v.mT * signs], -2)


def recurrence(cell: Function, states: int = 1) -> Function:
    """Return all steps of one of PyTorch's cells, whose inputs have been multiplied already."""

    def theirs(x: Theirs, weight: Theirs, bias: Theirs, *rest: Theirs) -> Theirs:
        state, masks = list(rest[:states]), rest[states:]
        own, none = torch.eye(len(weight), dtype=x.dtype), torch.zeros_like(bias)
        outputs: list[Theirs] = []
        for t in range(len(x)):
            after = cell(x[t], state if states > 1 else state[0], own, weight, none, bias)
            pairs = zip(after if states > 1 else [after], state, strict=True)
            state = [torch.where(masks[0][t], *pair) if masks else pair[0] for pair in pairs]
            outputs.append(state[0])
        return torch.stack([*outputs, *state[1:]])

    return theirs


THEIRS: dict[str, Function] = {
    "arithmetic.add": torch.add,
    "arithmetic.subtract": torch.subtract,
    "arithmetic.multiply": torch.multiply,
    "arithmetic.divide": torch.divide,
    "arithmetic.remainder": torch.remainder,
    "arithmetic.pow": torch.pow,
    "arithmetic.maximum": torch.maximum,
    "arithmetic.minimum": torch.minimum,
    "arithmetic.where": torch.where,
    "arithmetic.negative": torch.negative,
    "decompositions.slogdet": lambda x: torch.stack([*torch.linalg.slogdet(x)]),
    "decompositions.cholesky": torch.linalg.cholesky,
    "decompositions.qr": qr,
    "decompositions.singular_values": torch.linalg.svdvals,
    "decompositions.svd": svd,
    "elementwise.exp": torch.exp,
    "elementwise.log": torch.log,
    "elementwise.sqrt": torch.sqrt,
    "elementwise.square": torch.square,
    "elementwise.absolute": torch.abs,
    "elementwise.sign": torch.sign,
    "elementwise.tanh": torch.tanh,
    "elementwise.sin": torch.sin,
    "elementwise.cos": torch.cos,
    "elementwise.asin": torch.asin,
    "elementwise.acos": torch.acos,
    "elementwise.atan": torch.atan,
    "elementwise.asinh": torch.asinh,
    "elementwise.acosh": torch.acosh,
    "elementwise.atanh": torch.atanh,
    "elementwise.sigmoid": torch.sigmoid,
    "elementwise.integer_power": torch.pow,
    "normal.erf": torch.erf,
    "normal.erfc": torch.erfc,
    "elementwise.expm1": torch.expm1,
    "elementwise.log1p": torch.log1p,
    "elementwise.softplus": functional.softplus,
    "elementwise.softsign": functional.softsign,
    "elementwise.tanhshrink": functional.tanhshrink,
    "elementwise.hardswish": functional.hardswish,
    "normal.normal_cdf": torch.special.ndtr,
    "elementwise.relu": torch.relu,
    "elementwise.leaky_relu": functional.leaky_relu,
    "elementwise.clip": clipped,
    "elementwise.cast": torch.clone,
    "elementwise.copy": torch.clone,
    "elementwise.identity": torch.clone,
    "indexing.getitem": taken,
    "indexing.scatter_add": scattered,
    "linalg.matmul": torch.matmul,
    "linalg.dense": functional.linear,
    "normalization.batch_norm": batch_norm,
    "normalization.layer_norm": layer_norm,
    "normalization.standardize": standardized,
    "recurrent.rnn_tanh": recurrence(torch.rnn_tanh_cell),
    "recurrent.rnn_relu": recurrence(torch.rnn_relu_cell),
    "recurrent.gru": recurrence(torch.gru_cell),
    "recurrent.lstm": recurrence(torch.lstm_cell, 2),
    "pooling.sum_over_window": torch.sum,
    "reduction.sum": over(torch.sum),
    "reduction.cumsum": torch.cumsum,
    "reduction.mean": over(torch.mean),
    "reduction.max": over(torch.amax),
    "reduction.min": over(torch.amin),
    "reduction.logsumexp": log_sum_exp,
    "shape.reshape": torch.reshape,
    "shape.permute": torch.permute,
    "shape.broadcast_to": torch.broadcast_to,
    "shape.expand_dims": torch.unsqueeze,
    "shape.squeeze": squeezed,
    "shape.concat": lambda *args: torch.concat(args[:-1], args[-1]),
    "shape.stack": lambda *args: torch.stack(args[:-1], args[-1]),
    "reduction.softmax": torch.softmax,
    "reduction.log_softmax": torch.log_softmax,
    "losses.cross_entropy": cross_entropy,
    "losses.softmax_cross_entropy": softmax_cross_entropy,
    "unfold.unfold": windows,
    "unfold.depthwise": depthwise,
    "unfold.fold": fold,
    "unfold.max_over_window": torch.amax,
}
# PyTorch has most of these functions by the same name; operations define the others.
THEIRS.update(
    (name, getattr(torch, rule, None) or PAIRS[rule][0])
    for name in sorted(CASES.keys() - THEIRS.keys())
    for rule in [name.split(".")[1]]
)


def compare(name: str, operands: list[Floats], args: tuple[object, ...], gradient: Floats) -> None:
    """Assert that values and gradients match PyTorch's up to rounding."""
    with np.errstate(all="ignore"):
        value, pullbacks = CASES[name](operands, args)
        ours = [None if p is None else to_numpy(p(gradient)) for p in pullbacks]
    theirs = [torch.tensor(x, requires_grad=x.dtype != np.bool_) for x in operands]
    outcome = THEIRS[name](*theirs, *args)
    np.testing.assert_allclose(value, outcome.detach().numpy(), rtol=1e-12, atol=1e-12)
    if outcome.requires_grad:
        outcome.backward(torch.tensor(gradient))
    for x, back in zip(theirs, ours, strict=True):
        if back is not None:
            expected = x.grad.numpy() if outcome.requires_grad else np.zeros(x.shape)
            np.testing.assert_allclose(back, expected, rtol=1e-11, atol=1e-11)


def test_every_rule_has_pytorch_equivalent() -> None:
    assert THEIRS.keys() == CASES.keys()


@pytest.mark.parametrize("name", THEIRS)
@given(data=st.data(), seed=seeds)
def test_values_and_gradients_are_those_of_pytorch(
    name: str, data: st.DataObject, seed: int
) -> None:
    shapes, args = data.draw(CASES[name].drawn)
    rng = np.random.default_rng(seed)
    operands = CASES[name].fill(shapes, rng)
    shape = np.asarray(CASES[name](operands, args)[0]).shape
    compare(name, operands, args, np.asarray(rng.normal(size=shape)))


INF = np.inf
EDGES: list[tuple[str, list[list[float]], tuple[object, ...]]] = [
    ("arithmetic.maximum", [[1.0, 2.0, 3.0, INF], [1.0, 3.0, 2.0, INF]], ()),
    ("arithmetic.minimum", [[1.0, 2.0, 3.0, INF], [1.0, 3.0, 2.0, INF]], ()),
    ("arithmetic.pow", [[0.0, 0.0, 2.0, -2.0, 0.0], [0.0, 2.0, 0.0, 2.0, 0.5]], ()),
    ("arithmetic.divide", [[1.0, 1.0, 0.0], [INF, 2.0, 1.0]], ()),
    ("elementwise.log", [[0.0, 1.0, INF]], ()),
    ("elementwise.sqrt", [[0.0, 4.0, INF]], ()),
    *(
        (
            "elementwise.integer_power",
            [[0.0, -0.0, 1.0, -1.0, -2.0, 1e200, 1e-200, INF, -INF]],
            (n,),
        )
        for n in (2, 3, 4, 5, -1, -2, -3)
    ),
    ("elementwise.absolute", [[0.0, -1.0, -INF]], ()),
    ("elementwise.sign", [[0.0, -1.0, -INF]], ()),
    ("elementwise.relu", [[0.0, -1.0, 1.0, INF, -INF]], ()),
    ("elementwise.clip", [[-1.0, 0.0, 1.0, 2.0, 3.0]], (0.0, 2.0)),
    ("elementwise.clip", [[-1.0, 0.0, 1.5, 2.0, 3.0]], (2.0, 1.0)),
    ("elementwise.sigmoid", [[-INF, -800.0, 0.0, 800.0, INF]], ()),
    ("elementwise.tanh", [[-INF, -800.0, 0.0, 800.0, INF]], ()),
    ("elementwise.exp", [[-INF, -800.0, 0.0, 800.0]], ()),
    ("normal.erfc", [[-INF, -7.0, 0.0, 0.9, 1.1, 5.9, 6.1, 9.0, INF]], ()),
    ("normal.erf", [[-INF, -7.0, 0.0, 1e-30, 5.9, INF]], ()),
    ("elementwise.asin", [[-2.0, -1.0, -0.0, 1.0]], ()),
    ("elementwise.acos", [[-2.0, -1.0, 1.0]], ()),
    ("elementwise.atan", [[-INF, -1e30, 0.0, INF]], ()),
    ("elementwise.asinh", [[-INF, 0.0, INF]], ()),
    ("elementwise.acosh", [[0.0, 1.0, INF]], ()),
    ("elementwise.atanh", [[-1.0, 0.0, 1.0]], ()),
    ("elementwise.log1p", [[-1.0, -1e-30, 0.0, 1e-12, 1e300, INF]], ()),
    ("elementwise.expm1", [[-INF, -1e-30, 0.0, 1e-12, 700.0]], ()),
    ("elementwise.softplus", [[-800.0, 0.0, 15.0]], ()),
    ("reduction.max", [[1.0, 3.0, 3.0, 2.0]], (0, False)),
    ("reduction.min", [[1.0, 1.0, 3.0, 2.0]], (None, True)),
    ("reduction.logsumexp", [[800.0, 800.0]], (0, False)),
    ("reduction.logsumexp", [[-INF, 0.0]], (0, False)),
    ("reduction.softmax", [[800.0, -INF, 0.0]], (0,)),
    ("reduction.log_softmax", [[800.0, -800.0, 0.0]], (0,)),
    ("losses.cross_entropy", [[800.0, -INF, 0.0]], ((0,), "none")),
    ("losses.softmax_cross_entropy", [[800.0, -800.0, 0.0], [0.0, 0.0, 1.0]], ()),
]


@pytest.mark.parametrize(("name", "operands", "args"), EDGES)
def test_edges_are_those_of_pytorch(
    name: str, operands: list[list[float]], args: tuple[object, ...]
) -> None:
    arrays = [np.array(x) for x in operands]
    with np.errstate(all="ignore"):
        shape = np.asarray(CASES[name](arrays, args)[0]).shape
    compare(name, arrays, args, np.ones(shape))


def test_an_infinite_logsumexp_is_infinite() -> None:
    with np.errstate(all="ignore"):
        for x in (-INF, INF):
            value, _ = CASES["reduction.logsumexp"]([np.array([x, x])], (0, False))
            assert value == x
