"""Losses: edges, one as another, losses of one's own, and errors."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore as ms
from minispore import Tensor, float32, int32, nn, ops

# Without types: what a type checker would refuse is what is tried.
wrong: Any = nn

Reduction = Literal["mean", "sum", "none"]
reductions = st.sampled_from(["mean", "sum", "none"])
seeds = st.integers(0, 1000)

X = Tensor([[1.0, 2.0, 0.5], [0.1, -1.0, 3.0]])
LABELS = Tensor([1, 2], int32)
SURE = Tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
UNSURE = Tensor([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
WEIGHT = Tensor([0.5, 1.0, 2.0])


@given(seeds, reductions)
def test_softmax_cross_entropy_is_cross_entropy(seed: int, reduction: Reduction) -> None:
    rng = np.random.default_rng(seed)
    x = Tensor(rng.normal(0, 3, (3, 4)).astype(np.float32))
    y = Tensor(rng.integers(0, 4, 3).astype(np.int32))
    expected = nn.CrossEntropyLoss(reduction=reduction)(x, y).asnumpy()
    sparse = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction=reduction)
    dense = nn.SoftmaxCrossEntropyWithLogits(reduction=reduction)
    assert np.allclose(sparse(x, y).asnumpy(), expected)
    assert np.allclose(dense(x, ops.one_hot(y, 4, 1.0, 0.0)).asnumpy(), expected)


def test_bce_of_certainty() -> None:
    wrong = nn.BCELoss()(Tensor([0.0, 1.0]), Tensor([1.0, 0.0]))
    assert float(wrong) == pytest.approx(27.631021)
    right = nn.BCELoss()(Tensor([0.0, 1.0]), Tensor([0.0, 1.0]))
    assert float(right) == 0
    # Far out the loss of logits is a straight line, with its slope.
    loss = nn.BCEWithLogitsLoss("sum")
    value, slope = ms.value_and_grad(loss)(Tensor([-1000.0, 1000.0]), Tensor([1.0, 1.0]))
    assert float(value) == 1000
    assert slope.tolist() == [-1, 0]


def test_one_sample_without_a_batch() -> None:
    loss = nn.CrossEntropyLoss()
    assert float(loss(Tensor([1.0, 2.0, 3.0]), Tensor(1, int32))) == pytest.approx(1.4076054)
    assert float(loss(Tensor([1.0, 2.0, 3.0]), Tensor([0.1, 0.2, 0.7]))) == pytest.approx(0.8076054)


def test_a_second_derivative() -> None:
    loss = nn.BCEWithLogitsLoss("sum")

    def first(x: Tensor) -> Tensor:
        return ms.grad(lambda x: loss(x, Tensor([1.0, 0.0])))(x)

    assert first(Tensor([0.0, 0.0])).tolist() == [-0.5, 0.5]
    assert ms.grad(lambda x: first(x).sum())(Tensor([0.0, 0.0])).tolist() == [0.25, 0.25]


def test_a_loss_of_ones_own() -> None:
    class Quartic(nn.LossBase):
        def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
            return self.get_loss((logits - labels) ** 4, Tensor([1.0, 2.0]))

    x, y = Tensor([1.0, 2.0]), Tensor([0.0, 0.0])
    assert Quartic()(x, y).item() == (1 + 32) / 2
    assert Quartic("sum")(x, y).item() == 33
    assert Quartic("none")(x, y).tolist() == [1, 32]


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (
            lambda: wrong.CrossEntropyLoss(reduction="foo"),
            ValueError,
            "Entropy.*reduction",
        ),
        (lambda: wrong.MSELoss(3), ValueError, "MSELoss.*reduction"),
        (lambda: wrong.CrossEntropyLoss(weight=3), TypeError, "weight"),
        (lambda: wrong.CrossEntropyLoss(ignore_index=1.0), TypeError, "ignore_index"),
        (lambda: wrong.CrossEntropyLoss(label_smoothing=2.0), ValueError, "label_smoothing"),
        (lambda: wrong.CrossEntropyLoss(label_smoothing=1), TypeError, "label_smoothing"),
        (lambda: wrong.CrossEntropyLoss()(X, Tensor([1, 3])), ValueError, r"\[0, 3\)"),
        (lambda: wrong.CrossEntropyLoss()(X, Tensor([1, -2])), ValueError, r"\[0, 3\)"),
        (lambda: wrong.CrossEntropyLoss()(X, Tensor([1])), ValueError, "shape"),
        (lambda: wrong.CrossEntropyLoss()(X, Tensor([[1], [2]])), ValueError, "shape"),
        (lambda: wrong.CrossEntropyLoss()(X, Tensor([1.0, 2.0])), TypeError, "integers"),
        (lambda: wrong.CrossEntropyLoss()(X, Tensor([[1, 2, 3]] * 2)), TypeError, "floats"),
        (lambda: wrong.CrossEntropyLoss()(Tensor(1.0), Tensor(1)), ValueError, "shape"),
        (lambda: wrong.CrossEntropyLoss()(X, 3), TypeError, "labels"),
        (lambda: wrong.CrossEntropyLoss()(3, X), TypeError, "logits"),
        (lambda: wrong.CrossEntropyLoss(Tensor([1.0]))(X, LABELS), ValueError, "weight"),
        (lambda: wrong.SoftmaxCrossEntropyWithLogits(3), TypeError, "sparse"),
        (lambda: wrong.SoftmaxCrossEntropyWithLogits(True, "x"), ValueError, "reduction"),
        (lambda: wrong.SoftmaxCrossEntropyWithLogits(True)(X, SURE), ValueError, "shape"),
        (
            lambda: wrong.SoftmaxCrossEntropyWithLogits(True)(X, Tensor([1.0, 2.0])),
            TypeError,
            "int",
        ),
        (
            lambda: wrong.SoftmaxCrossEntropyWithLogits(True)(X, Tensor([1, 5])),
            ValueError,
            r"\[0, 3",
        ),
        (lambda: wrong.SoftmaxCrossEntropyWithLogits()(X, LABELS), ValueError, "shape"),
        (
            lambda: wrong.SoftmaxCrossEntropyWithLogits()(X, Tensor([[1, 2, 3]] * 2)),
            TypeError,
            "flo",
        ),
        (lambda: wrong.MSELoss()(X, Tensor([1.0, 2.0])), ValueError, "shape|broadcast"),
        (lambda: wrong.MSELoss()(X, 3), TypeError, "labels"),
        (lambda: wrong.L1Loss()(np.ones(3), X), TypeError, "logits"),
        (lambda: wrong.BCELoss(3), TypeError, "weight"),
        (lambda: wrong.BCELoss()(X, SURE), RuntimeError, r"\[0, 1\]"),
        (lambda: wrong.BCELoss()(UNSURE, Tensor([1.0])), ValueError, "one shape"),
        (lambda: wrong.BCEWithLogitsLoss("x"), ValueError, "reduction"),
        (lambda: wrong.BCEWithLogitsLoss(weight=3), TypeError, "weight"),
        (lambda: wrong.BCEWithLogitsLoss(pos_weight=3), TypeError, "pos_weight"),
        (lambda: wrong.BCEWithLogitsLoss()(X, Tensor([1.0])), ValueError, "one shape"),
    ],
)
def test_errors(make: Callable[[], object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_the_loss_of_a_half_precision_network_is_one_too() -> None:
    x = X.astype(ms.float16)
    assert nn.CrossEntropyLoss()(x, LABELS).dtype in (ms.float16, float32)
