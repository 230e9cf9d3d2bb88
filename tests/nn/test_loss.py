"""Losses: against PyTorch where it has the same, against MindSpore's values, and their errors."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import minispore as ms
from minispore import Tensor, float32, int32, nn, ops

torch = pytest.importorskip("torch")

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


def compare(
    ours: nn.Cell,
    theirs: Callable[..., Any],
    x: NDArray[np.float32],
    y: NDArray[Any],
    atol: float = 1e-5,
) -> None:
    given_ = torch.tensor(x, requires_grad=True)
    target = torch.tensor(y.astype(np.int64) if y.dtype == np.int32 else y)
    expected = theirs(given_, target)
    expected.sum().backward()

    def loss(x: Tensor) -> Tensor:
        return ours(x, Tensor(y))

    value, gradient = ms.value_and_grad(loss)(Tensor(x))
    assert value.shape == tuple(expected.shape)
    assert np.allclose(value.asnumpy(), expected.detach().numpy(), rtol=1e-5, atol=atol)
    assert np.allclose(gradient.asnumpy(), given_.grad.numpy(), rtol=1e-4, atol=atol)


@given(
    seeds,
    st.integers(1, 4),
    st.integers(1, 5),
    st.sampled_from([(), (3,), (2, 2)]),
    reductions,
    st.booleans(),
    st.sampled_from([0.0, 0.1, 1.0]),
    st.sampled_from([-100, 0, 1]),
)
def test_cross_entropy_of_classes(
    seed: int,
    rows: int,
    classes: int,
    more: tuple[int, ...],
    reduction: Reduction,
    weighted: bool,
    smoothing: float,
    ignored: int,
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 3, (rows, classes, *more)).astype(np.float32)
    y = rng.integers(0, classes, (rows, *more)).astype(np.int32)
    y.flat[0] = classes - 1  # so that not all are ignored
    if classes - 1 == ignored:
        ignored = -7
    w = rng.uniform(0.1, 2, classes).astype(np.float32) if weighted else None
    ours = nn.CrossEntropyLoss(None if w is None else Tensor(w), ignored, reduction, smoothing)
    theirs = torch.nn.CrossEntropyLoss(
        None if w is None else torch.tensor(w),
        ignore_index=ignored,
        reduction=reduction,
        label_smoothing=smoothing,
    )
    compare(ours, theirs, x, y)


@given(
    seeds,
    st.integers(1, 4),
    st.integers(1, 5),
    st.sampled_from([(), (3,)]),
    reductions,
    st.booleans(),
    st.sampled_from([0.0, 0.3]),
)
def test_cross_entropy_of_probabilities(
    seed: int,
    rows: int,
    classes: int,
    more: tuple[int, ...],
    reduction: Reduction,
    weighted: bool,
    smoothing: float,
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 3, (rows, classes, *more)).astype(np.float32)
    y = rng.dirichlet(np.ones(classes), (rows, *more)).astype(np.float32)
    y = np.ascontiguousarray(np.moveaxis(y, -1, 1))
    w = rng.uniform(0.1, 2, classes).astype(np.float32) if weighted else None
    ours = nn.CrossEntropyLoss(
        None if w is None else Tensor(w), reduction=reduction, label_smoothing=smoothing
    )
    theirs = torch.nn.CrossEntropyLoss(
        None if w is None else torch.tensor(w), reduction=reduction, label_smoothing=smoothing
    )
    compare(ours, theirs, x, y)


@given(seeds, reductions, st.booleans(), st.booleans())
def test_elementwise_losses(seed: int, reduction: Reduction, weighted: bool, pos: bool) -> None:
    rng = np.random.default_rng(seed)
    shape = (3, 4)
    x = rng.normal(0, 10, shape).astype(np.float32)
    x.flat[0] = 0
    y = rng.random(shape).astype(np.float32)
    compare(nn.MSELoss(reduction), torch.nn.MSELoss(reduction=reduction), x, y, 1e-4)
    compare(nn.L1Loss(reduction), torch.nn.L1Loss(reduction=reduction), x, y, 1e-4)
    w = rng.uniform(0, 2, 4).astype(np.float32) if weighted else None
    p = rng.uniform(0, 2, 4).astype(np.float32) if pos else None
    compare(
        nn.BCEWithLogitsLoss(
            reduction, None if w is None else Tensor(w), None if p is None else Tensor(p)
        ),
        torch.nn.BCEWithLogitsLoss(
            reduction=reduction,
            weight=None if w is None else torch.tensor(w),
            pos_weight=None if p is None else torch.tensor(p),
        ),
        x,
        y,
    )
    probabilities = rng.uniform(0.01, 0.99, shape).astype(np.float32)
    compare(
        nn.BCELoss(None if w is None else Tensor(w), reduction),
        torch.nn.BCELoss(None if w is None else torch.tensor(w), reduction=reduction),
        probabilities,
        y,
    )


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


# What MindSpore 2.10 answers.
@pytest.mark.parametrize(
    ("loss", "labels", "expected"),
    [
        (nn.CrossEntropyLoss(), LABELS, 0.2675712),
        (nn.CrossEntropyLoss(), SURE, 0.2675712),
        (nn.CrossEntropyLoss(), UNSURE, 1.0875713),
        (nn.CrossEntropyLoss(reduction="none"), LABELS, [0.46436834, 0.07077408]),
        (nn.CrossEntropyLoss(ignore_index=1), LABELS, 0.07077408),
        (nn.CrossEntropyLoss(ignore_index=1, reduction="none"), LABELS, [0.0, 0.07077408]),
        (nn.CrossEntropyLoss(WEIGHT), LABELS, 0.20197217),
        (nn.CrossEntropyLoss(WEIGHT), UNSURE, 1.4594852),
        (nn.CrossEntropyLoss(WEIGHT, reduction="sum"), LABELS, 0.6059165),
        (nn.CrossEntropyLoss(label_smoothing=0.1), LABELS, 0.4242379),
        (nn.CrossEntropyLoss(WEIGHT, label_smoothing=0.1), LABELS, 0.30203047),
        (nn.CrossEntropyLoss(WEIGHT, 1, label_smoothing=0.1), LABELS, 0.15865849),
        (nn.CrossEntropyLoss(WEIGHT, label_smoothing=0.1), UNSURE, 1.4939198),
        (nn.SoftmaxCrossEntropyWithLogits(), SURE, [0.4643688, 0.07077423]),
        (nn.SoftmaxCrossEntropyWithLogits(reduction="sum"), UNSURE, 2.1751432),
        (nn.SoftmaxCrossEntropyWithLogits(True, "mean"), LABELS, 0.2675712),
        (nn.MSELoss(), SURE, 1.21),
        (nn.MSELoss("sum"), SURE, 7.26),
        (nn.MSELoss(), Tensor([1.0, 2.0, 3.0]), 2.6766665),
        (nn.MSELoss(), Tensor([[1, 2, 3]], int32), 2.6766665),
        (nn.L1Loss(), SURE, 0.93333334),
        (nn.BCEWithLogitsLoss(), SURE, 0.586752),
        (nn.BCEWithLogitsLoss("mean", Tensor([1.0, 2.0, 3.0])), SURE, 1.001005),
        (nn.BCEWithLogitsLoss(pos_weight=Tensor([3.0, 2.0, 1.0])), SURE, 0.60790676),
    ],
)
def test_values(loss: nn.Cell, labels: Tensor, expected: object) -> None:
    assert loss(X, labels).tolist() == pytest.approx(expected, rel=3e-6)


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
