"""Loss functions: edge cases, equivalences, custom losses, errors."""

import warnings
from inspect import signature
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore as ms
from minispore import Tensor, float32, int32, nn, ops
from minispore.engine.dtypes import DTYPES, INTEGER, DType
from tests.helpers.floats import Floats, floats

Reduction = Literal["mean", "sum", "none"]
reductions = st.sampled_from(["mean", "sum", "none"])
seeds = st.integers(0, 1000)

X = Tensor([[1.0, 2.0, 0.5], [0.1, -1.0, 3.0]])
LABELS = Tensor([1, 2], int32)
SURE = Tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
UNSURE = Tensor([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
WEIGHT = Tensor([0.5, 1.0, 2.0])


@given(seeds, reductions)
def test_softmax_cross_entropy_equals_cross_entropy(seed: int, reduction: Reduction) -> None:
    rng = np.random.default_rng(seed)
    x = Tensor(rng.normal(0, 3, (3, 4)).astype(np.float32))
    y = Tensor(rng.integers(0, 4, 3).astype(np.int32))
    expected = nn.CrossEntropyLoss(reduction=reduction)(x, y).asnumpy()
    sparse = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction=reduction)
    dense = nn.SoftmaxCrossEntropyWithLogits(reduction=reduction)
    assert np.allclose(sparse(x, y).asnumpy(), expected)
    assert np.allclose(dense(x, ops.one_hot(y, 4, 1.0, 0.0)).asnumpy(), expected)


@pytest.mark.parametrize("name", [name for name in dir(nn) if "Loss" in name])
def test_losses_have_their_reduction_as_an_attribute(name: str) -> None:
    loss = getattr(nn, name)
    if "reduction" in signature(loss).parameters:
        for reduction in ("mean", "sum", "none", *(["batchmean"] if name == "KLDivLoss" else [])):
            assert loss(reduction=reduction).reduction == reduction


def reduced(losses: Floats, reduction: Reduction, rows: float | None = None) -> Floats:
    """Return the mean, over `rows` if given, the sum, or the losses themselves."""
    if reduction == "none":
        return losses
    total = np.asarray(losses.sum(), np.float64)
    return np.divide(total, rows or losses.size) if reduction == "mean" else total


@given(seeds, reductions, st.booleans(), st.booleans())
def test_losses_of_elements_equal_their_formulas(
    seed: int, reduction: Reduction, weighted: bool, positive: bool
) -> None:
    rng = np.random.default_rng(seed)
    x, (y, w) = rng.normal(0, 3, (2, 3)), rng.random((2, 2, 3))
    factor = rng.random(3) if positive else np.ones(3)
    weight = Tensor(w) if weighted else None
    p = 1 / (1 + np.exp(-x))
    entropy = -(y * np.log(p) * factor + (1 - y) * np.log(1 - p)) * (w if weighted else 1)
    outputs, probabilities, targets = Tensor(x), Tensor(p), Tensor(y)
    pos_weight = Tensor(factor) if positive else None
    pairs = [
        (nn.MSELoss(reduction)(outputs, targets), (x - y) ** 2),
        (nn.L1Loss(reduction)(outputs, targets), np.abs(x - y)),
        (nn.BCEWithLogitsLoss(reduction, weight, pos_weight)(outputs, targets), entropy),
    ]
    if not positive:
        pairs.append((nn.BCELoss(weight, reduction)(probabilities, targets), entropy))
    for actual, expected in pairs:
        np.testing.assert_allclose(floats(actual), reduced(expected, reduction), rtol=1e-8)


@given(seeds, reductions, st.booleans(), st.sampled_from([-100, 0, 2]), st.sampled_from([0, 0.25]))
def test_cross_entropy_equals_its_formula(
    seed: int, reduction: Reduction, weighted: bool, ignored: int, smoothing: float
) -> None:
    rng = np.random.default_rng(seed)
    x, labels = rng.normal(0, 3, (5, 3)), np.array([1, *rng.integers(0, 3, 4)])
    weight = rng.random(3) + 0.5 if weighted else np.ones(3)
    logs = x - np.log(np.exp(x).sum(1, keepdims=True))
    smooth = np.eye(3)[labels] * (1 - smoothing) + smoothing / 3
    counted = labels != ignored
    losses = -(smooth * logs * weight).sum(1) * counted
    rows = (weight[labels] * counted).sum()
    loss = nn.CrossEntropyLoss(
        Tensor(weight) if weighted else None, ignored, reduction, float(smoothing)
    )
    actual = floats(loss(Tensor(x), Tensor(labels)))
    np.testing.assert_allclose(actual, reduced(losses, reduction, rows), rtol=1e-9)


@pytest.mark.parametrize("loss", [nn.MSELoss(), nn.L1Loss()])
def test_broadcasting_is_warned_of_unless_one_is_a_scalar(loss: nn.LossBase) -> None:
    with pytest.warns(UserWarning, match=f"'{type(loss).__name__}'.* broadcast"):
        loss(X, X[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss(X, Tensor(1.0))


def test_bce_of_certain_predictions() -> None:
    wrong = nn.BCELoss()(Tensor([0.0, 1.0]), Tensor([1.0, 0.0]))
    assert float(wrong) == pytest.approx(27.631021)
    right = nn.BCELoss()(Tensor([0.0, 1.0]), Tensor([0.0, 1.0]))
    assert float(right) == 0
    # For large logits the loss is linear.
    loss = nn.BCEWithLogitsLoss("sum")
    value, gradient = ms.value_and_grad(loss)(Tensor([-1000.0, 1000.0]), Tensor([1.0, 1.0]))
    assert float(value) == 1000
    assert gradient.tolist() == [-1, 0]


@pytest.mark.parametrize(
    ("label", "expected"), [(Tensor(1, int32), 1.4076054), (Tensor([0.1, 0.2, 0.7]), 0.8076054)]
)
def test_cross_entropy_of_one_sample(label: Tensor, expected: float) -> None:
    loss = nn.CrossEntropyLoss()(Tensor([1.0, 2.0, 3.0]), label)
    assert float(loss) == pytest.approx(expected)


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype.category is INTEGER])
def test_labels_may_be_of_any_integer_type(dtype: DType) -> None:
    loss = nn.CrossEntropyLoss()(Tensor([[1.0, 2.0, 3.0]]), Tensor([1], dtype))
    assert float(loss) == pytest.approx(1.4076054)


def test_hinge_embedding_loss_does_not_count_the_label_0() -> None:
    loss = nn.HingeEmbeddingLoss(2.0, "none")
    outputs, labels = Tensor([0.5, 0.5, 0.5, 3.0]), Tensor([1.0, -1.0, 0.0, -1.0])
    assert loss(outputs, labels).tolist() == [0.5, 1.5, 0.0, 0.0]


def test_second_derivatives() -> None:
    loss = nn.BCEWithLogitsLoss("sum")

    def first(x: Tensor) -> Tensor:
        return ms.grad(lambda x: loss(x, Tensor([1.0, 0.0])))(x)

    assert first(Tensor([0.0, 0.0])).tolist() == [-0.5, 0.5]
    assert ms.grad(lambda x: first(x).sum())(Tensor([0.0, 0.0])).tolist() == [0.25, 0.25]


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(1, 3)), min_size=1), reductions)
def test_losses_of_users_are_weighted_and_reduced(
    terms: list[tuple[int, int]], reduction: Reduction
) -> None:
    class Quartic(nn.LossBase):
        def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
            return self.get_loss((logits - labels) ** 4, Tensor([float(w) for _, w in terms]))

    x = Tensor([float(value) for value, _ in terms])
    expected = reduced(np.array([float(w * value**4) for value, w in terms]), reduction)
    np.testing.assert_allclose(
        floats(Quartic(reduction)(x, ops.zeros_like(x))), expected, rtol=1e-6
    )
    assert Quartic().get_axis(ms.ops.ones((2, 3))) == (0, 1)


def test_float16_loss_has_dtype_float16() -> None:
    x = X.astype(ms.float16)
    assert nn.CrossEntropyLoss()(x, LABELS).dtype in (ms.float16, float32)
