"""Operations on float16 are computed in float32: only the result is rounded or overflows."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import minispore as ms
from minispore import Tensor, nn, ops
from minispore.utils.checks import as_items
from tests.helpers import float16
from tests.helpers.valid_arguments import OPERATIONS as CALLS

Floats = NDArray[np.float64]
LABELS = Tensor(np.arange(4, dtype=np.int32))


def layer_norm(x: Tensor) -> Tensor:
    return nn.LayerNorm((8,), dtype=x.dtype)(x)


def batch_norm(x: Tensor) -> Tensor:
    # With momentum 1, the running statistics, which may overflow in float16, do not change.
    return nn.BatchNorm1d(8, dtype=x.dtype, eps=1e-3, momentum=1.0).set_train()(x)


# Functions of a (4, 8) tensor; at 1,000 a sum of squares overflows in float16.
OPERATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "LayerNorm": layer_norm,
    "BatchNorm1d": batch_norm,
    "layer_norm": lambda x: ops.layer_norm(x, (8,)),
    "std": lambda x: ops.std(x, 1, ddof=1),
    "var": lambda x: ops.var(x / 16.0, 0),
    "norm": lambda x: ops.norm(x, dim=1),
    "norm 3": lambda x: ops.norm(x, 3, 0),
    "norm of a matrix": lambda x: ops.norm(x, "fro"),
    "softmax": lambda x: ops.softmax(x / 64.0, 0),
    "log_softmax": lambda x: ops.log_softmax(x / 64.0),
    "logsumexp": lambda x: ops.logsumexp(x / 64.0, 1),
    "sum": lambda x: ops.sum(x, 1),
    "mean": ops.mean,
    "cumsum": lambda x: ops.cumsum(x, 1),
    "pow": lambda x: (x / 512.0) ** 7,
    "avg_pool2d": lambda x: ops.avg_pool2d(ops.reshape(x, (1, 1, 4, 8)), 4, 4),
    "cross_entropy": lambda x: ops.cross_entropy(x / 64.0, LABELS),
    "clip_by_global_norm": lambda x: ops.clip_by_global_norm((x,), 1.0)[0],
}

matrices = st.builds(
    lambda seed, scale: (
        np.random.default_rng(seed).normal(0, scale, (4, 8)).clip(-2000, 2000).astype(np.float16)
    ),
    st.integers(0, 2**31),
    st.sampled_from([1.0, 300.0, 1000.0]),
)


def close(actual: Tensor, expected: Tensor) -> None:
    """Assert that `actual` is `expected` rounded to float16, and computed with float16 inputs."""
    assert actual.dtype == ms.float16
    exact = np.asarray(expected, np.float64)
    scale = np.abs(exact).max(initial=1e-3)
    np.testing.assert_allclose(
        np.asarray(actual, np.float64), exact, rtol=2**-9, atol=scale * 2**-8
    )


@pytest.mark.parametrize("name", OPERATIONS)
@given(array=matrices)
def test_float16_value_is_the_rounded_float64_value(name: str, array: NDArray[np.float16]) -> None:
    operation = OPERATIONS[name]
    close(operation(Tensor(array)), operation(Tensor(array, ms.float64)))


@pytest.mark.parametrize("name", OPERATIONS)
@given(array=matrices)
def test_float16_gradient_is_the_rounded_float64_gradient(
    name: str, array: NDArray[np.float16]
) -> None:
    operation = OPERATIONS[name]

    def weighted(x: Tensor) -> Tensor:
        y = operation(x)
        weights = np.linspace(1, 2, y.size).reshape(y.shape)
        return ops.sum(y * Tensor(weights, y.dtype) / 64.0)

    close(ms.grad(weighted)(Tensor(array)), ms.grad(weighted)(Tensor(array, ms.float64)))


def test_float16_sums_do_not_overflow_or_stagnate() -> None:
    alternating = Tensor(np.array([60000, 60000, -60000, -60000], np.float16))
    assert ops.sum(alternating).item() == 0
    ones = Tensor(np.ones(4000, np.float16))
    assert ops.cumsum(ones, 0)[-1].item() == 4000
    large = Tensor(np.full((1, 1, 300, 300), 1000, np.float16))
    assert ops.avg_pool2d(large, 300, 300).item() == 1000
    assert ops.softmax(Tensor(np.ones(70000, np.float16)))[0].item() == np.float16(1 / 70000)


def definite(x: float16.Half) -> float16.Half:
    """Return a symmetric positive definite matrix."""
    wide = np.minimum(np.abs(x), 1e4).astype(np.float64)
    return np.asarray(wide + wide.T + (2 * wide.max() + 0.5) * np.eye(2), np.float16)


# They draw numbers between others, with respect to which they are not differentiated.
NOT_COMPARED = {"multinomial", "normal", "uniform"}
# What else an operation needs of its operands.
DOMAINS: dict[str, Callable[[float16.Half], float16.Half]] = {
    "binary_cross_entropy": lambda x: np.minimum(np.abs(x), np.float16(1)),
    "searchsorted": lambda x: np.sort(x),
    **dict.fromkeys(("cholesky", "det", "inverse", "logdet", "qr", "slogdet", "svd"), definite),
}


def is_float(value: object) -> bool:
    return isinstance(value, Tensor) and value.dtype in float16.FLOATS


def tensors_of(arguments: dict[str, object]) -> list[Tensor]:
    """Return the arguments that are tensors, also those in lists."""
    values = [x for value in arguments.values() for x in (as_items(value) or [value])]
    return [x for x in values if isinstance(x, Tensor)]


COMPARED = {
    # In the operands' type, not in that of an argument. Whole quotients are compared in
    # test_arithmetic.py.
    name: {
        key: value
        for key, value in arguments.items()
        if name == "cast" or key not in {"dtype", "rounding_mode"}
    }
    for name, arguments in CALLS.items()
    if name not in NOT_COMPARED and any(map(is_float, tensors_of(arguments)))
}


def called(name: str) -> Callable[..., object]:
    """Return an operation as a function of its tensors, with the other arguments of the table."""

    def call(*tensors: Tensor) -> object:
        rest = iter(tensors)

        def replaced(value: object) -> object:
            if isinstance(value, Tensor):
                return next(rest)
            items = as_items(value)
            is_list = items is not None and any(isinstance(item, Tensor) for item in items)
            return [replaced(item) for item in items or ()] if is_list else value

        arguments = {key: replaced(value) for key, value in COMPARED[name].items()}
        return getattr(ops, name)(**arguments)

    return call


@pytest.mark.filterwarnings("ignore:The gradients are all zero")
@pytest.mark.parametrize("name", COMPARED)
@given(rng=float16.generators, scale=float16.scales)
def test_float16_of_each_operation_is_its_rounded_float32(
    name: str, rng: np.random.Generator, scale: float
) -> None:
    """Values and gradients, of numbers of all sizes."""
    operands: list[NDArray[np.generic]] = []
    for x in tensors_of(COMPARED[name]):
        drawn = float16.halves(rng, x.shape, scale)
        operands.append(DOMAINS.get(name, np.copy)(drawn) if is_float(x) else x.asnumpy())
    float16.assert_float16_rounds_float32(called(name), operands)


# Operations of tensors whose lengths their other arguments, or those of another operand, say.
OF_FIXED_LENGTHS = {
    *("addmm", "baddbmm", "broadcast_to", "index_select", "outer", "squeeze", "where"),
    *("cholesky", "det", "inverse", "logdet", "qr", "searchsorted", "slogdet", "svd"),
    *("diag", "diagflat", "kron"),
}


@pytest.mark.filterwarnings("ignore:The gradients are all zero")
@pytest.mark.parametrize("name", sorted(COMPARED.keys() - OF_FIXED_LENGTHS))
def test_float16_of_many_rows_is_the_rounded_float32(name: str) -> None:
    """Of 100,000 numbers the count is infinite in float16, and a sum of ones ends at 2,048."""
    rng, tensors = np.random.default_rng(0), tensors_of(COMPARED[name])
    (rows, *_), times = tensors[0].shape, 100_000 // tensors[0].size
    operands: list[NDArray[np.generic]] = []
    for x in tensors:
        repeats = times if x.shape[:1] == (rows,) else 1
        tiled = np.tile(x.asnumpy(), (repeats, *(1,) * (x.ndim - 1))) if x.ndim else x.asnumpy()
        operands.append(np.asarray(rng.random(tiled.shape), np.float16) if is_float(x) else tiled)
    float16.assert_float16_rounds_float32(called(name), operands)


ONES, ZEROS = np.ones(70_000, np.float16), Tensor(np.zeros(5000), ms.int32)
FEW = np.array([1.0, 2.0, 3.0], np.float16)


def repeated(x: Tensor) -> Tensor:
    """Use a tensor 5,000 times."""
    return ops.concat([x] * 5000)


# Sums of many numbers, in the value or in the gradient, of each kind.
ACCUMULATIONS: dict[str, tuple[Callable[..., Tensor], tuple[float16.Half, ...]]] = {
    "mean": (ops.mean, (ONES,)),
    "mean of products": (lambda x: ops.mean(x * x), (ONES,)),
    "std": (ops.std, (np.linspace(0, 1000, 70_000).astype(np.float16),)),
    "norm": (ops.norm, (ONES,)),
    "logsumexp": (lambda x: ops.logsumexp(x, 0), (ONES,)),
    "shares of a maximum": (ops.amax, (ONES,)),
    "shares of a minimum": (lambda x: ops.amin(x, 0), (ONES,)),
    "cumsum": (lambda x: ops.cumsum(x, 0), (ONES[:5000],)),
    "cumprod": (lambda x: ops.cumprod(x, 0), (ONES[:5000],)),
    "prod": (ops.prod, (ONES,)),
    "a tensor used often": (repeated, (FEW,)),
    "index": (lambda x: x[ZEROS], (FEW,)),
    "gather": (lambda x: ops.gather(x, ZEROS, 0), (FEW,)),
    "gather_elements": (lambda x: ops.gather_elements(x, 0, ZEROS), (FEW,)),
    "unsorted_segment_sum": (lambda x: ops.unsorted_segment_sum(x, ZEROS, 1), (ONES[:5000],)),
    "broadcasting": (lambda x, y: x * y + y, (ONES, FEW[:1])),
    "where": (lambda x, y: ops.where(x > 2, x, y), (ONES, FEW[:1])),
    "broadcast_to": (lambda x: ops.broadcast_to(x, (5000, 3)), (FEW,)),
    "tile": (lambda x: ops.tile(x, (5000,)), (FEW,)),
    "repeat_interleave": (lambda x: ops.repeat_interleave(x, 5000), (FEW,)),
    "matmul": (ops.matmul, (ONES[:50_000].reshape(1, -1), ONES[:50_000].reshape(-1, 1))),
    "dense": (ops.dense, (ONES.reshape(-1, 1), FEW[:1].reshape(1, 1), FEW[:1])),
    "einsum": (lambda x, y: ops.einsum("i,j,i->j", x, y, x), (ONES[:50_000], FEW)),
    "addmm": (ops.addmm, (FEW[:1], ONES[:50_000].reshape(1, -1), ONES[:50_000].reshape(-1, 1))),
    "conv2d": (ops.conv2d, (ONES.reshape(1, 1, 250, 280), ONES[:4].reshape(1, 1, 2, 2))),
    "avg_pool2d": (lambda x: ops.avg_pool2d(x, 250, 250), (ONES.reshape(1, 1, 250, 280),)),
    "max_pool2d": (lambda x: ops.max_pool2d(x, 60, 1), (ONES[:6400].reshape(1, 1, 80, 80),)),
    "padding": (
        lambda x: ops.pad(x, (1500, 1500), "replicate"),
        (ONES[:6].reshape(1, 2, 3),),
    ),
    "mse_loss": (ops.mse_loss, (ONES * np.float16(300), ONES)),
    "a large divisor": (lambda x: x / 70_000, (ONES,)),
    "a large factor": (lambda x: 1e8 * x, (ONES / np.float16(20_000),)),
    "a small factor": (lambda x: x * 1e-8, (ONES * np.float16(60_000),)),
}


@pytest.mark.parametrize("name", ACCUMULATIONS)
def test_float16_is_accumulated_in_float32(name: str) -> None:
    function, operands = ACCUMULATIONS[name]
    float16.assert_float16_rounds_float32(function, operands)


def test_second_derivatives_accumulate_in_float32() -> None:
    def cubes(x: Tensor) -> Tensor:
        return (x[ZEROS] ** 3).sum() / 8

    assert ms.grad(ms.grad(cubes))(Tensor([1.0], ms.float16)).tolist() == [3750.0]
    assert ms.grad(ms.grad(lambda x: (repeated(x) ** 2).sum()))(Tensor(FEW[:1])).tolist() == [1e4]


def test_hooks_receive_gradients_of_the_type_of_their_tensor() -> None:
    received: list[Tensor] = []

    def function(x: Tensor) -> Tensor:
        y = x * 2
        y.register_hook(received.append)
        return (y + y).sum()

    assert ms.grad(function)(Tensor(FEW)).dtype is ms.float16
    assert [(g.dtype, g.tolist()) for g in received] == [(ms.float16, [2.0] * 3)]
