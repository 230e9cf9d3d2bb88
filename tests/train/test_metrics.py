"""Metrics: against their definitions, however the data is cut into batches."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore import Tensor
from minispore.train import Accuracy, Loss, Metric, get_metric_fn, rearrange_inputs
from minispore.train._scores import get_metrics

Array = npt.NDArray[np.generic]


@st.composite
def classified(draw: st.DrawFn) -> tuple[Array, Array]:
    samples, classes = draw(st.integers(1, 8)), draw(st.integers(1, 4))
    rest = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
    scores = draw(hnp.arrays(np.float32, (samples, classes, *rest), elements=st.integers(0, 5)))
    labels = draw(hnp.arrays(np.int32, (samples, *rest), elements=st.integers(0, classes - 1)))
    return scores, labels


@st.composite
def labelled(draw: st.DrawFn) -> tuple[Array, Array]:
    shape = draw(hnp.array_shapes(min_dims=2, max_dims=4, max_side=3))
    zero_or_one = hnp.arrays(np.int32, shape, elements=st.integers(0, 1))
    return draw(zero_or_one), draw(zero_or_one)


def in_batches(metric: Metric, predicted: Array, label: Array, cut: int) -> object:
    for rows in (slice(None, cut), slice(cut, None)):
        if len(predicted[rows]):
            metric.update(Tensor(predicted[rows]), label[rows])
    return metric.eval()


@given(classified(), st.integers(0, 8))
def test_accuracy_is_the_share_of_highest_scores(case: tuple[Array, Array], cut: int) -> None:
    scores, labels = case
    right = 0
    for place in np.ndindex(labels.shape):
        row = [scores[(place[0], c, *place[1:])] for c in range(scores.shape[1])]
        right += row.index(max(row)) == labels[place]
    assert in_batches(Accuracy(), scores, labels, cut) == right / labels.size
    one_hot = np.moveaxis(np.eye(scores.shape[1])[labels.astype(int)], -1, 1)
    assert in_batches(Accuracy(), scores, one_hot, cut) == right / labels.size


@given(labelled(), st.integers(0, 3))
def test_multilabel_accuracy_wants_every_label_right(case: tuple[Array, Array], cut: int) -> None:
    predicted, label = case
    samples = [place for place in np.ndindex(predicted.shape) if place[1] == 0]
    right = sum(
        all(
            predicted[(place[0], c, *place[2:])] == label[(place[0], c, *place[2:])]
            for c in range(predicted.shape[1])
        )
        for place in samples
    )
    assert in_batches(Accuracy("multilabel"), predicted, label, cut) == right / len(samples)


@given(st.lists(st.floats(-10, 10, width=32), min_size=1))
def test_loss_is_the_mean_of_the_batches(losses: list[float]) -> None:
    metric = Loss()
    for i, loss in enumerate(losses):
        metric.update(Tensor(np.float32(loss)) if i % 2 else [loss])
    assert metric.eval() == pytest.approx(np.mean(losses), abs=1e-9)


def test_a_batch_of_several_losses_counts_once() -> None:
    loss = Loss()
    loss.update(np.array([1.0, 2.0]))
    loss.update([3.0])
    assert loss.eval() == 2.25


def test_results_are_python_numbers() -> None:
    assert type(Accuracy()([[0.1, 0.9]], [1])) is float
    assert type(Loss()([1.5])) is float


@pytest.mark.parametrize("make", [Accuracy, Loss])
def test_cleared_is_as_new(make: Callable[[], Accuracy | Loss]) -> None:
    metric = make()
    inputs = ([[0.1, 0.9]], [1]) if isinstance(metric, Accuracy) else ([2.0],)
    first = metric(*inputs)
    assert metric(*inputs) == first
    metric.clear()
    with pytest.raises(RuntimeError, match="number of samples is 0"):
        metric.eval()


SCORES = [[0.1, 0.9], [0.8, 0.2]]


@pytest.mark.parametrize(
    ("inputs", "error", "match"),
    [
        ((SCORES,), ValueError, "needs 2 inputs .* but got 1"),
        ((SCORES, [1, 0], 1), ValueError, "needs 2 inputs .* but got 3"),
        ((SCORES, [1]), ValueError, r"\(2, 2\) and true value \(1,\)"),
        ((SCORES, [[1], [0]]), ValueError, r"true value \(2, 1\)"),
        ((SCORES, [[1, 1], [0, 0]]), ValueError, r"or be one-hot"),
        (([1.0, 2.0], [1, 2]), ValueError, "second dimension"),
        (("ab", [1]), TypeError, "must be tensor, list or numpy.ndarray"),
        ((SCORES, None), TypeError, "NoneType"),
    ],
)
def test_accuracy_refuses(inputs: tuple[object, ...], error: type[Exception], match: str) -> None:
    accuracy = Accuracy()
    accuracy.update(SCORES, [1, 0])
    with pytest.raises(error, match=match):
        accuracy.update(*inputs)
    assert accuracy.eval() == 1.0  # nothing of it was counted


def test_accuracy_refuses_what_does_not_fit_together() -> None:
    accuracy = Accuracy()
    accuracy.update(SCORES, [1, 0])
    with pytest.raises(ValueError, match="class number not match: .* 2 classes, this one has 3"):
        accuracy.update([[1.0, 2.0, 3.0]], [2])
    many = Accuracy("multilabel")
    with pytest.raises(ValueError, match="must be 0 or 1"):
        many.update([[1, 0.5]], [[1, 0]])
    with pytest.raises(ValueError, match="one shape"):
        many.update([[1, 0]], [[1]])
    for wrong in ("foo", 1, None):
        with pytest.raises(TypeError, match="eval_type"):
            Accuracy(wrong)  # type: ignore[arg-type]


def test_loss_refuses() -> None:
    with pytest.raises(ValueError, match="needs 1 input .* but got 2"):
        Loss().update([1.0], [2.0])
    with pytest.raises(ValueError, match="must be 0 or 1, but got 2"):
        Loss().update([[1.0]])
    with pytest.raises(TypeError, match="must be tensor"):
        Loss().update(1.5)


def test_rearranged_inputs() -> None:
    class First(Metric):
        def clear(self) -> None:
            self.seen: tuple[object, ...] = ()

        @rearrange_inputs
        def update(self, *inputs: object) -> None:
            self.seen = inputs

        def eval(self) -> object:
            return self.seen

    assert First()(1, 2, 3) == (1, 2, 3)
    assert First().set_indexes([2, 0])(1, 2, 3) == (3, 1)
    assert First().set_indexes([2]).indexes == [2]
    labels_first = Accuracy().set_indexes([1, 0])
    assert labels_first([1, 0], SCORES) == 1.0
    for wrong in ("a", 5, (0, 1), [0, 1.5]):
        with pytest.raises(ValueError, match="indexes"):
            Accuracy().set_indexes(wrong)  # type: ignore[arg-type]


def test_metrics_by_name() -> None:
    assert isinstance(get_metric_fn("acc"), Accuracy)
    with pytest.raises(KeyError, match="unsupported metric 'nope'"):
        get_metric_fn("nope")


def test_the_forms_of_the_argument_metrics() -> None:
    accuracy = Accuracy()
    assert get_metrics(None) == {}
    assert get_metrics({"a": accuracy}) == {"a": accuracy}
    assert list(get_metrics({"loss", "accuracy", "acc"})) == ["acc", "accuracy", "loss"]
    for wrong in (["accuracy"], ("accuracy",), "accuracy", accuracy):
        with pytest.raises(TypeError, match="'metrics' must be one of dict, set"):
            get_metrics(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="metrics.keys"):
        get_metrics({1: accuracy})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match=r"metrics\['a'\]"):
        get_metrics({"a": "accuracy"})  # type: ignore[dict-item]
    with pytest.raises(KeyError, match="nope"):
        get_metrics({"nope"})


def test_a_metric_without_its_methods_cannot_be_made() -> None:
    class Half(Metric):
        def clear(self) -> None: ...

    with pytest.raises(TypeError, match="abstract"):
        Half()  # type: ignore[abstract]
