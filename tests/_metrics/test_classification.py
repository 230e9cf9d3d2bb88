"""Metrics of classes: forms of labels, ties of scores, scores that are NaN, averages."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import train
from minispore.train import Metric
from tests._metrics.cases import Array, Inputs, array_pairs, arrays, scores_and_labels

BY_SCORES: list[Metric] = [
    train.Accuracy(),
    train.Precision(),
    train.Recall(),
    train.Fbeta(2),
    train.Top1CategoricalAccuracy(),
    train.TopKCategoricalAccuracy(2),
]


def test_average_is_a_python_float() -> None:
    for metric in (train.Precision(), train.Recall("multilabel"), train.F1()):
        metric.update([[1, 0], [0, 1]], [[1, 0], [0, 1]])
        assert type(metric.eval(average=True)) is float
        assert metric.eval().dtype == np.float64


@given(array_pairs(1, min_dims=2, max_dims=2))
def test_multilabel_metrics_are_those_of_samples(inputs: Inputs) -> None:
    predicted, true = (array.astype(np.float64) for array in inputs)
    hits = (predicted * true).sum(axis=1)
    assert train.Accuracy("multilabel")(*inputs) == np.mean((predicted == true).all(axis=1))
    for metric, positives in ((train.Precision, predicted), (train.Recall, true)):
        expected = hits / np.maximum(positives.sum(axis=1), 1)
        np.testing.assert_array_equal(metric("multilabel")(*inputs), expected)


@given(scores_and_labels(), st.sampled_from([0.5, 1.0, 3.0]))
def test_fbeta_is_the_weighted_harmonic_mean(inputs: Inputs, beta: float) -> None:
    precision = np.asarray(train.Precision()(*inputs))
    recall = np.asarray(train.Recall()(*inputs))
    square = beta**2
    mean = (1 + square) * precision * recall / np.maximum(square * precision + recall, 1e-9)
    np.testing.assert_allclose(train.Fbeta(beta)(*inputs), mean, rtol=1e-12)
    np.testing.assert_array_equal(train.F1()(*inputs), train.Fbeta(1)(*inputs))


@given(scores_and_labels(min_classes=2), st.integers(0, 99))
def test_labels_may_be_one_hot(inputs: Inputs, place: int) -> None:
    """But no other zeros and ones of that shape."""
    scores, labels = inputs
    one_hot = np.moveaxis(np.eye(scores.shape[1])[labels], -1, 1)
    other = one_hot.copy()
    other.flat[place % other.size] += 1
    other.flat[place % other.size] %= 2
    for metric in BY_SCORES:
        np.testing.assert_array_equal(metric(scores, one_hot), metric(scores, labels))
        with pytest.raises(ValueError, match="or be one-hot"):
            metric(scores, other)


@given(scores_and_labels(min_classes=2))
def test_top_k_and_fbeta_take_a_column_of_labels(inputs: Inputs) -> None:
    scores, labels = (array.reshape(len(array), -1) for array in inputs)
    labels = labels[:, :1]
    for metric in BY_SCORES:
        if isinstance(metric, train.Fbeta | train.TopKCategoricalAccuracy):
            expected = metric(scores, labels.ravel())
            np.testing.assert_array_equal(metric(scores, labels), expected)
        else:
            with pytest.raises(ValueError, match="true value"):
                metric(scores, labels)


@given(scores_and_labels(), st.booleans(), st.booleans())
def test_one_score_for_each_sample_is_no_class(inputs: Inputs, zeros: bool, one_hot: bool) -> None:
    """Whatever the labels are; where a threshold or none is needed, it is the score of class 1."""
    scores, labels = inputs[0][:, :1], np.minimum(inputs[1], 0 if zeros else 1)
    for metric in BY_SCORES:
        with pytest.raises(ValueError, match=r"at least (2|k = 2) classes"):
            metric(scores, labels.reshape(scores.shape) if one_hot else labels)
    with pytest.raises(ValueError, match="at least 2 classes"):
        train.Perplexity()(scores.reshape(-1, 1), labels.ravel())
    for numbered in (train.ConfusionMatrix(2), train.ConfusionMatrix(2, threshold=1 / 3)):
        expected = numbered(scores[:, 0], labels)
        np.testing.assert_array_equal(numbered(scores, labels), expected)
        hits = (scores[:, 0].astype(np.float64) >= numbered.threshold) == labels
        assert np.trace(expected) == np.count_nonzero(hits)
    if np.ptp(labels):
        for one, other in zip(
            train.ROC()(scores, labels), train.ROC()(scores[:, 0], labels), strict=True
        ):
            np.testing.assert_array_equal(one, other)


@given(arrays((2, 40, 3), 2), arrays((2, 3), 39), st.integers(1, 40))
def test_of_equal_scores_the_lower_class_ranks_higher(scores: Array, labels: Array, k: int) -> None:
    hits = 0
    for row, column in np.ndindex(labels.shape):
        of_classes = scores[row, :, column]
        ranked = sorted(range(40), key=lambda c: (-of_classes[c], c))
        hits += labels[row, column] in ranked[:k]
    assert train.TopKCategoricalAccuracy(k)(scores, labels) == hits / labels.size
    if k in (1, 5):
        same = {1: train.Top1CategoricalAccuracy, 5: train.Top5CategoricalAccuracy}[k]()
        assert same(scores, labels) == hits / labels.size


def test_top_k_with_ties_and_further_axes() -> None:
    tied = [[0.5] * 20]
    inside = [train.TopKCategoricalAccuracy(3)(tied, [label]) for label in range(20)]
    assert inside == [1, 1, 1] + [0] * 17
    places = np.moveaxis(np.eye(4)[[[0, 1, 2], [3, 0, 1]]], -1, 1)  # (2, 4, 3)
    for metric in (train.Top1CategoricalAccuracy(), train.TopKCategoricalAccuracy(1)):
        assert metric(places, [[0, 1, 2], [3, 0, 0]]) == 5 / 6


@given(scores_and_labels(min_classes=2), st.integers(0, 99))
def test_one_score_that_is_nan_is_warned_of(inputs: Inputs, place: int) -> None:
    scores, labels = inputs
    scores.flat[place % scores.size] = np.nan
    classes = scores.shape[1]
    for metric in (*BY_SCORES, train.ConfusionMatrix(classes), train.ROC(classes)):
        metric.clear()
        with pytest.warns(UserWarning, match=f"'{type(metric).__name__}.update', .* are NaN"):
            metric.update(scores, labels)
