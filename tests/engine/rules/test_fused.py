"""Fused rules compared with their compositions, and indexing with its transpose."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore import Tensor, ops
from minispore.engine.rules import linalg
from minispore.utils.checks import as_items
from tests.helpers.array_backends import to_numpy
from tests.helpers.rule_cases import CASES, Floats, shapes

Compose = Callable[..., Tensor]


def sigmoid(x: Tensor) -> Tensor:
    return 1.0 / (1.0 + ops.exp(-x))


def softplus(x: Tensor) -> Tensor:
    return ops.log(1.0 + ops.exp(x))


def dense(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return ops.matmul(x, weight.T) + bias


def softmax(x: Tensor, axis: int) -> Tensor:
    return ops.exp(x) / ops.sum(ops.exp(x), axis, True)


def log_softmax(x: Tensor, axis: int) -> Tensor:
    return ops.log(softmax(x, axis))


def mean(x: Tensor, axis: int | tuple[int, ...] | None, keepdims: bool) -> Tensor:
    return ops.sum(x, axis, keepdims) * (ops.sum(x, axis).size / x.size)


def cross_entropy(x: Tensor, index: tuple[object, ...], reduction: str) -> Tensor:
    losses = -ops.log(softmax(x, -1))[index]
    if reduction == "none":
        return losses
    return ops.sum(losses) / (losses.size if reduction == "mean" else 1)


def softmax_cross_entropy(x: Tensor, y: Tensor) -> Tensor:
    return -ops.sum(y * ops.log(softmax(x, -1)), -1)


def logsumexp(x: Tensor, axis: int | tuple[int, ...] | None, keepdims: bool) -> Tensor:
    return ops.log(ops.sum(ops.exp(x), axis, keepdims))


def recurrence(
    step: Callable[[Tensor, Tensor, tuple[Tensor, ...]], tuple[Tensor, ...]], states: int = 1
) -> Compose:
    """Return the composition of a recurrent rule's operations, step by step."""

    def compose(x: Tensor, weight: Tensor, bias: Tensor, *rest: Tensor) -> Tensor:
        state, masks = rest[:states], rest[states:]
        outputs: list[Tensor] = []
        for t in range(len(x)):
            after = step(x[t], ops.matmul(state[0], weight.T) + bias, state)
            if masks:
                pairs = zip(after, state, strict=True)
                after = tuple(ops.where(masks[0][t], new, old) for new, old in pairs)
            state = after
            outputs.append(state[0])
        return ops.stack([*outputs, *state[1:]])

    return compose


def parts(x: Tensor, count: int) -> list[Tensor]:
    size = x.shape[1] // count
    return [x[:, i * size : (i + 1) * size] for i in range(count)]


def gru(x: Tensor, product: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    (x1, x2, x3), (p1, p2, p3) = parts(x, 3), parts(product, 3)
    new = ops.tanh(x3 + sigmoid(x1 + p1) * p3)
    update = sigmoid(x2 + p2)
    return ((1.0 - update) * new + update * state[0],)


def lstm(x: Tensor, product: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    i, f, g, o = parts(x + product, 4)
    c = sigmoid(f) * state[1] + sigmoid(i) * ops.tanh(g)
    return sigmoid(o) * ops.tanh(c), c


COMPOSED: dict[str, Compose] = {
    "recurrent.rnn_tanh": recurrence(lambda x, product, _: (ops.tanh(x + product),)),
    "recurrent.rnn_relu": recurrence(lambda x, product, _: (ops.relu(x + product),)),
    "recurrent.gru": recurrence(gru),
    "recurrent.lstm": recurrence(lstm, 2),
    "linalg.dense": dense,
    "elementwise.sigmoid": sigmoid,
    "elementwise.softplus": softplus,
    "reduction.softmax": softmax,
    "reduction.log_softmax": log_softmax,
    "losses.cross_entropy": cross_entropy,
    "losses.softmax_cross_entropy": softmax_cross_entropy,
    "reduction.logsumexp": logsumexp,
    "reduction.mean": mean,
}


def assert_close(actual: Floats, expected: Tensor) -> None:
    values = to_numpy(expected.asnumpy())
    np.testing.assert_allclose(to_numpy(actual), values, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", COMPOSED)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_fused_rule_equals_its_composition(name: str, data: st.DataObject, seed: int) -> None:
    case = CASES[name]
    drawn, args = data.draw(case.drawn)
    rng = np.random.default_rng(seed)
    operands = case.fill(drawn, rng)
    value, pullbacks = case(operands, args)
    gradient = np.asarray(rng.normal(size=np.asarray(value).shape))
    by = ops.GradOperation(get_all=True, sens_param=True)
    composed = COMPOSED[name]
    tensors = [Tensor(x) for x in operands]
    expected = by(lambda *xs: composed(*xs, *args))(*tensors, Tensor(gradient))
    assert_close(value, composed(*tensors, *args))
    for x, pullback, gradient_of_composed in zip(
        operands, pullbacks, as_items(expected) or (), strict=True
    ):
        if pullback is None:
            assert x.dtype == np.bool_
            continue
        assert isinstance(gradient_of_composed, Tensor)
        assert_close(pullback(gradient), gradient_of_composed)


@given(data=st.data())
def test_getitem_and_scatter_add_are_adjoint(data: st.DataObject) -> None:
    """⟨x[i], y⟩ = ⟨x, scatter_add(y, i)⟩ for all kinds of indices."""
    dims = data.draw(shapes(1, 1))
    index = data.draw(hnp.basic_indices(dims, allow_newaxis=True) | hnp.integer_array_indices(dims))
    key = index if isinstance(index, tuple) else (index,)
    x = np.arange(float(np.prod(dims))).reshape(dims) + 1.0
    taken, (back,) = CASES["indexing.getitem"]([x], (key,))
    assert back is not None
    y = np.cos(np.arange(float(taken.size))).reshape(np.shape(taken))
    np.testing.assert_array_equal(np.asarray(taken), x[key])
    assert abs(np.sum(taken * y) - np.sum(x * to_numpy(back(y)))) < 1e-9 * x.size**2


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray])
@pytest.mark.parametrize(
    ("rows", "outputs"), [(1, 8), (4, 8), (8, 8), (8, 4), (255, 300), (256, 300)]
)
def test_dense_multiplies_in_the_order_and_layout_that_are_fast(
    rows: int, outputs: int, layout: Callable[[Floats], Floats]
) -> None:
    """For few rows the weights are the left operand; a gradient has the layout of its input."""
    rng = np.random.default_rng(0)
    x, weight = layout(rng.normal(size=(rows, 5))), rng.normal(size=(outputs, 5))
    left: list[object] = []

    def watch(x: object, y: object) -> None:
        left.append(x)

    linalg.gemm_observers.append(watch)
    try:
        value, (to_x, to_weight, _) = linalg.dense(x, weight, np.ones(outputs))
    finally:
        linalg.gemm_observers.remove(watch)
    few = rows < min(outputs, 256)
    assert (left[0] is weight) is few
    assert value.flags.f_contiguous if few else value.flags.c_contiguous
    np.testing.assert_allclose(value, x @ weight.T + 1, rtol=1e-12, atol=1e-12)
    gradient = to_x(value)
    np.testing.assert_allclose(gradient, value @ weight, rtol=1e-12, atol=1e-12)
    assert (gradient.flags.c_contiguous, gradient.flags.f_contiguous) == (
        x.flags.c_contiguous,
        x.flags.f_contiguous,
    )
    # An optimizer adds it to the weights.
    assert to_weight(value).flags.c_contiguous
