"""All metrics: perfect predictions, result types, overflow, empty input, invalid input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import train
from minispore.train import Metric

SCORES = [[0.1, 0.9], [0.8, 0.2]]


@given(st.lists(st.integers(0, 5), min_size=1), st.integers(0, 2**32 - 1))
def test_perfect_predictions_score_1(labels: list[int], seed: int) -> None:
    scores = np.random.default_rng(seed).random((len(labels), 6))
    scores[range(len(labels)), labels] += 1
    one_hot = np.eye(6)[labels]
    present = sorted(set(labels))
    for metric in (train.Accuracy(), train.Top1CategoricalAccuracy(), train.Perplexity()):
        assert metric(np.minimum(scores, 1), labels) == 1
    for by_class in (train.Precision(), train.Recall(), train.F1(), train.Fbeta(2)):
        assert (by_class(scores, labels)[present] == 1).all()
    assert (train.Recall("multilabel")(one_hot, one_hot) == 1).all()
    assert train.Accuracy("multilabel")(one_hot, one_hot) == 1
    assert train.MAE()(scores, scores) == train.MSE()(scores, scores) == 0
    assert train.Dice(1e-9)(one_hot, one_hot) == pytest.approx(1)
    matrix = train.ConfusionMatrix(6)(scores, labels)
    np.testing.assert_array_equal(matrix, np.diag(np.bincount(labels, minlength=6)))
    for name in ("sensitivity", "accuracy", "f1_score", "mcc", "markedness"):
        masks = np.vstack([one_hot, np.eye(6)])
        assert train.ConfusionMatrixMetric(metric_name=name)(masks, masks) == pytest.approx(1)


@pytest.mark.parametrize(
    "value",
    [
        train.Accuracy()(SCORES, [1, 0]),
        train.Loss()([1.5]),
        train.MAE()([1.0], np.array([2.0], np.float32)),
        train.Top1CategoricalAccuracy()(SCORES, [1, 0]),
        train.Perplexity()(SCORES, [1, 0]),
        train.Dice()(SCORES, SCORES),
        train.ConfusionMatrixMetric(calculation_method=True)([[0, 1]], [[0, 1]]),
        train.auc(np.array([0.0, 1.0]), np.array([0.0, 1.0])),
    ],
)
def test_scalars_are_python_floats(value: object) -> None:
    assert type(value) is float


def test_small_dtypes_do_not_overflow() -> None:
    small, large = np.array([1, 200], np.uint8), np.array([200, 1], np.uint8)
    assert train.MAE()(small, large) == 199
    assert train.MSE()(small, large) == 199**2
    assert train.MSE()(np.array([300], np.float16), [0]) == 90000
    assert train.Dice(1e-9)(np.array([[255]], np.uint8), [[255]]) == pytest.approx(1)
    rows = np.array([[200, 3], [2, 4]], np.uint8)
    np.testing.assert_array_equal(
        train.CosineSimilarity()(rows), train.CosineSimilarity()(rows.astype(float))
    )
    assert train.Top1CategoricalAccuracy()(np.array([[0, 1]], np.uint8), [1]) == 1
    scores = np.array([0, 200, 1, 255], np.uint8)
    for kind in (np.uint8, bool, np.int8):
        curve, wide = train.ROC(), train.ROC()
        curve.update(scores.astype(kind), [0, 1, 0, 1])
        wide.update(scores.astype(kind).astype(float), [0, 1, 0, 1])
        for one, other in zip(curve.eval(), wide.eval(), strict=True):
            np.testing.assert_array_equal(one, other)


def test_batches_must_have_the_same_classes() -> None:
    def refused(metric: Metric, first: tuple[object, ...], second: tuple[object, ...]) -> str:
        metric.update(*first)
        with pytest.raises(ValueError, match="For '") as caught:
            metric.update(*second)
        return str(caught.value)

    two, three = (SCORES, [1, 0]), ([[1.0, 2.0, 3.0]], [2])
    for metric in (train.Accuracy(), train.Precision(), train.F1()):
        assert "had 2 classes, this one has 3" in refused(metric, two, three)
    assert "of 2 columns" in refused(train.CosineSimilarity(), (SCORES,), ([[1.0, 2.0, 3.0]],))
    by_sample = train.ConfusionMatrixMetric(calculation_method=True, skip_channel=False)
    assert "got 1 after 2" in refused(by_sample, ([[0, 1]], [[0, 1]]), ([[0]], [[1]]))
    one = train.ROC(1)
    one.update([0.1, 0.2], [0, 1])
    one.update([[0.3], [0.4]], [1, 0])  # a column is the same
    assert len(one.eval()[0]) == 5
