"""Composed operations: second derivatives, and edge cases."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore import Tensor, float16, float32, grad, ops
from minispore.testing import gradcheck
from tests.helpers.random_op_calls import numbers

LABELS = Tensor([2, 0])
WEIGHTS = Tensor(np.array([0.5, 1.0, 2.0]))
EYE, ROWS = Tensor(np.eye(2)), Tensor([[1], [1]])
ZEROS = Tensor(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 0.0]]))
SMOOTH: dict[str, Callable[[Tensor], Tensor]] = {
    "cross_entropy": lambda x: ops.cross_entropy(x, LABELS, WEIGHTS, label_smoothing=0.25),
    "nll_loss": lambda x: ops.nll_loss(x * x, LABELS, WEIGHTS),
    "mse_loss": lambda x: ops.mse_loss(x * x, ops.ones((2, 3))),
    "l1_loss": lambda x: ops.l1_loss(x * x, ops.ones((2, 3))),
    "cumsum": lambda x: ops.cumsum(x * x, 1) * x,
    "cumprod": lambda x: ops.cumprod(x * x, 1) * x,
    "cummax": lambda x: ops.cummax(x * x, 1)[0] * x,
    "median": lambda x: ops.median(x * x, 1)[0] * x[:, 0],
    "cross": lambda x: ops.cross(x * x, x + 1.0, 1) * x,
    "kron": lambda x: ops.kron(x * x, x),
    "atan2": lambda x: ops.atan2(x * x, x),
    "fmod": lambda x: ops.fmod(x * x * x, 1.7) * x,
    "xlogy": lambda x: ops.xlogy(x * x, x * x + 1.0),
    "inverse": lambda x: ops.inverse(x @ x.mT + EYE),
    "logdet": lambda x: ops.logdet(x @ x.mT + EYE),
    "cholesky": lambda x: ops.cholesky(x @ x.mT + EYE),
    "qr": lambda x: ops.qr(x)[1] * x,
    "singular values": lambda x: ops.svd(x, compute_uv=False),
    "tensor_scatter_add": lambda x: ops.tensor_scatter_add(x * x, ROWS, x[:, :1] * x),
    "unfold": lambda x: ops.unfold(x[None, None] * x, 2) * x[0, 0],
    "rms_norm": lambda x: ops.rms_norm(x * x, x[0])[0],
    "cumprod of zeros": lambda x: ops.cumprod(x * ZEROS, 1) * x,
    "einsum": lambda x: ops.einsum("ij,kj,kk->ik", x * x, x, x[:, :2]),
    "einsum of a diagonal": lambda x: ops.einsum("ii...->...", x[:, :2] * x[:, 1:]),
    "sort": lambda x: ops.sort(x * x * x)[0] * x,
    "topk": lambda x: ops.topk(x * x * x, 2, 0)[0] * x,
    "var": lambda x: ops.var(x * x, 1, ddof=1),
    "std": lambda x: ops.std(x, 1),
    "norm": lambda x: ops.norm(x, dim=1),
    "norm of degree 3": lambda x: ops.norm(x, 3, 1),
    "masked_fill": lambda x: ops.masked_fill(x * x, x < 0, x[0, 0] * x[0, 0]) * x,
    "triu": lambda x: ops.triu(x * x) * x,
    "tile": lambda x: ops.tile(x * x, (2, 2)) * ops.tile(x, (2, 2)),
    "flip": lambda x: ops.flip(x * x, (0, 1)) * x,
    "repeat_interleave": lambda x: ops.repeat_interleave(x * x, (1, 2), 0) * x[:1],
    "dropout": lambda x: ops.dropout(x * x, 0.0),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_second_derivatives_pass_gradcheck(name: str) -> None:
    def total(x: Tensor) -> Tensor:
        return SMOOTH[name](x).sum()

    gradcheck(grad(total), Tensor(numbers(np.random.default_rng(3), (2, 3))))


def cubic(x: Tensor) -> Tensor:
    return ops.norm(x, 3)


@pytest.mark.parametrize("measure", [ops.norm, ops.std, cubic])
def test_gradients_of_norm_and_std_at_zero_are_zero(measure: Callable[[Tensor], Tensor]) -> None:
    x = ops.zeros(3)
    assert measure(x).item() == 0
    assert grad(measure)(x).tolist() == [0, 0, 0]
    assert grad(lambda x: grad(measure)(x).sum())(x).tolist() == [0, 0, 0]


@given(data=st.data())
def test_einsum_is_that_of_numpy(data: st.DataObject) -> None:
    """In each form: with and without "->", an ellipsis, equal axes, and lists of axes."""
    letters = st.lists(st.sampled_from("abC"), max_size=3).map("".join)
    terms = data.draw(st.lists(letters, min_size=1, max_size=3))
    lengths = dict(zip("abC", data.draw(st.tuples(*[st.integers(0, 3)] * 3)), strict=True))
    shapes = [tuple(lengths[letter] for letter in term) for term in terms]
    equation = ",".join(terms)
    if data.draw(st.booleans()):
        broadcast = data.draw(
            hnp.mutually_broadcastable_shapes(
                num_shapes=len(terms), min_dims=0, max_dims=2, min_side=0, max_side=3
            )
        )
        cut = data.draw(st.integers(0, len(terms[0])))
        equation = f"{terms[0][:cut]}...{terms[0][cut:]}" + "".join(f",...{x}" for x in terms[1:])
        outer = broadcast.input_shapes
        shapes = [
            (*shapes[0][:cut], *outer[0], *shapes[0][cut:]),
            *(first + last for first, last in zip(outer[1:], shapes[1:], strict=True)),
        ]
    if data.draw(st.booleans()):
        named = sorted({*"".join(terms)})
        chosen = data.draw(st.permutations(named))[: data.draw(st.integers(0, len(named)))]
        equation += "->" + "".join(chosen) + "..." * ("..." in equation)
    dtype = data.draw(st.sampled_from([np.float64, np.int32]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    arrays = [rng.integers(-9, 9, shape).astype(dtype) for shape in shapes]
    actual, expected = ops.einsum(equation, *map(Tensor, arrays)), np.einsum(equation, *arrays)
    assert actual.asnumpy().dtype == dtype
    assert actual.shape == expected.shape
    assert actual.tolist() == expected.tolist()


def test_einsum_accepts_lists_of_axes() -> None:
    x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0, 5.0])
    expected = [[3.0, 4.0, 5.0], [6.0, 8.0, 10.0]]
    assert ops.einsum(x, [..., 1], y, [..., 2], [..., 1, 2]).tolist() == expected
    assert ops.einsum("a b, b c -> ", Tensor(expected), y[:, None]).item() == 150.0
    assert ops.einsum("...->", Tensor(expected)).item() == 36.0


@given(
    values=st.lists(st.integers(-2, 2), max_size=9),
    dtype=st.sampled_from([np.float16, np.float32, np.int8, np.int64]),
)
def test_cumprod_is_that_of_numpy(
    values: list[int], dtype: type[np.floating] | type[np.integer]
) -> None:
    array = np.array(values, dtype)
    actual = ops.cumprod(Tensor(array), 0)
    floats = np.issubdtype(dtype, np.floating)
    assert actual.asnumpy().dtype == (dtype if floats else np.int64)
    assert actual.tolist() == np.cumprod(array).tolist()
    assert Tensor(array).cumprod(-1, float32).dtype is float32


@given(values=st.lists(st.integers(0, 3), min_size=1, max_size=9), down=st.booleans())
def test_sort_and_topk_are_stable(values: list[int], down: bool) -> None:
    actual, indices = ops.sort(Tensor(values), descending=down)
    expected = sorted(range(len(values)), key=lambda i: -values[i] if down else values[i])
    assert indices.tolist() == expected
    assert actual.tolist() == [values[i] for i in expected]
    first = ops.topk(Tensor(values), 1, largest=down)
    assert [x.tolist() for x in first] == [[values[expected[0]]], expected[:1]]


def test_sort_treats_nan_as_the_largest() -> None:
    x = Tensor([3.0, float("nan"), 2.0])
    assert ops.sort(x)[1].tolist() == [2, 0, 1]
    assert ops.sort(x, descending=True)[1].tolist() == [1, 0, 2]


def test_nll_loss_ignores_infinities_of_other_classes() -> None:
    logs = Tensor([[-float("inf"), 0.0], [-1.0, -float("inf")]])
    labels = Tensor([1, 0])
    assert ops.nll_loss(logs, labels).item() == 0.5
    assert grad(lambda x: ops.nll_loss(x, labels))(logs).tolist() == [[0.0, -0.5], [-0.5, 0.0]]


def test_loss_has_the_dtype_of_its_logits() -> None:
    logits = Tensor([[1.0, 2.0]], float16)
    for loss in (ops.cross_entropy, ops.nll_loss):
        for weight in (None, ops.ones(2)):
            assert loss(logits, Tensor([0]), weight).dtype is float16


def test_ignore_index_is_compared_in_any_integer_dtype() -> None:
    labels = Tensor(np.array([1, 0], np.uint8))
    assert ops.cross_entropy(ops.zeros((2, 2)), labels, ops.ones(2)).item() == np.float32(np.log(2))


def test_float16_variance_does_not_overflow() -> None:
    x = Tensor(np.tile(np.array([-100, 100], np.float16), 50))
    assert ops.var(x).item() == 10_000
    assert ops.var(x, ddof=50).item() == 20_000
