"""Metrics match scikit-learn's."""

import warnings
from collections.abc import Iterator
from typing import cast

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from minispore import train
from tests._metrics.cases import (
    Inputs,
    array_pairs,
    matrices,
    scores_and_labels,
    scores_of_all_classes,
)

sklearn = pytest.importorskip("sklearn.metrics")

LABELS = array_pairs(1, min_dims=2, max_dims=2)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    # scikit-learn warns of classes without labels, which hypothesis draws often.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def exact(inputs: Inputs) -> Inputs:
    """Return the same numbers in a type in which scikit-learn computes accurately."""
    return tuple(array.astype(np.float64) for array in inputs)


def flat(inputs: Inputs) -> Inputs:
    """Return scores (M, C) and class indices (M,), with further axes merged into the first."""
    scores, labels = inputs
    return np.moveaxis(scores, 1, -1).reshape(-1, scores.shape[1]), labels.ravel()


@given(scores_and_labels())
def test_accuracy(inputs: Inputs) -> None:
    scores, labels = flat(inputs)
    expected = sklearn.accuracy_score(labels, scores.argmax(axis=1))
    assert train.Accuracy()(*inputs) == pytest.approx(expected)


@given(LABELS)
def test_multilabel_accuracy(inputs: Inputs) -> None:
    expected = np.mean([(p == t).all() for p, t in zip(*inputs, strict=True)])
    assert train.Accuracy("multilabel")(*inputs) == pytest.approx(expected)
    if inputs[0].shape[1] > 1:  # scikit-learn reads a single column as class indices
        predicted, true = exact(inputs)
        assert sklearn.accuracy_score(true, predicted) == pytest.approx(expected)


@given(scores_and_labels())
def test_precision_recall_and_fbeta(inputs: Inputs) -> None:
    scores, labels = flat(inputs)
    for beta in (0.5, 1.0, 2.0):
        precision, recall, f, _ = sklearn.precision_recall_fscore_support(
            labels,
            scores.argmax(axis=1),
            beta=beta,
            labels=range(scores.shape[1]),
            zero_division=0,
        )
        for metric, expected in (
            (train.Precision(), precision),
            (train.Recall(), recall),
            (train.Fbeta(beta), f),
        ):
            metric.update(*inputs)
            np.testing.assert_allclose(metric.eval(), expected)
            assert metric.eval(average=True) == pytest.approx(expected.mean())
    np.testing.assert_allclose(train.F1()(*inputs), train.Fbeta(1)(*inputs))


@given(LABELS)
def test_multilabel_precision_and_recall(inputs: Inputs) -> None:
    predicted, true = exact(inputs)
    assume(true.shape[1] > 1)
    for metric, score in (
        (train.Precision("multilabel"), sklearn.precision_score),
        (train.Recall("multilabel"), sklearn.recall_score),
    ):
        metric.update(predicted, true)
        expected = score(true, predicted, average="samples", zero_division=0)
        assert metric.eval(average=True) == pytest.approx(expected)


@given(scores_and_labels(min_classes=3))
def test_top_k_accuracy(inputs: Inputs) -> None:
    tied, labels = flat(inputs)
    # Without ties, which the two libraries order differently.
    scores = tied - np.linspace(0, 0.1, tied.shape[1])
    for k in range(1, scores.shape[1]):
        expected = sklearn.top_k_accuracy_score(labels, scores, k=k, labels=range(scores.shape[1]))
        assert train.TopKCategoricalAccuracy(k)(scores, labels) == pytest.approx(expected)


@given(array_pairs(8, 8))
def test_mean_errors(inputs: Inputs) -> None:
    predicted, true = (array.reshape(len(array), -1) for array in exact(inputs))
    per_sample = predicted.shape[
        1
    ]  # scikit-learn takes the mean over a sample's values, minispore the sum
    expected = sklearn.mean_absolute_error(true, predicted) * per_sample
    assert train.MAE()(*inputs) == pytest.approx(expected)
    expected = sklearn.mean_squared_error(true, predicted) * per_sample
    assert train.MSE()(*inputs) == pytest.approx(expected)


@given(scores_and_labels())
def test_confusion_matrix(inputs: Inputs) -> None:
    scores, labels = flat(inputs)
    classes = scores.shape[1]
    for normalize, theirs in (
        ("no_norm", None),
        ("target", "true"),
        ("prediction", "pred"),
        ("all", "all"),
    ):
        expected = sklearn.confusion_matrix(
            labels, scores.argmax(axis=1), labels=range(classes), normalize=theirs
        )
        np.testing.assert_allclose(train.ConfusionMatrix(classes, normalize)(*inputs), expected)


@given(array_pairs(1, min_dims=2))
def test_rates_of_masks(inputs: Inputs) -> None:
    predicted, true = (array.ravel() for array in exact(inputs))
    for name, expected in {
        "accuracy": sklearn.accuracy_score(true, predicted),
        "precision": sklearn.precision_score(true, predicted, zero_division=np.nan),
        "recall": sklearn.recall_score(true, predicted, zero_division=np.nan),
        "specificity": sklearn.recall_score(true, predicted, pos_label=0, zero_division=np.nan),
        "npv": sklearn.precision_score(true, predicted, pos_label=0, zero_division=np.nan),
        "f1_score": sklearn.f1_score(true, predicted, zero_division=np.nan),
    }.items():
        np.testing.assert_allclose(
            train.ConfusionMatrixMetric(False, name)(*inputs), [expected], err_msg=name
        )
    if (
        len({*predicted}) == len({*true}) == 2
    ):  # otherwise scikit-learn returns 0 for undefined values
        expected = sklearn.jaccard_score(true, predicted)
        np.testing.assert_allclose(train.ConfusionMatrixMetric(False, "ts")(*inputs), [expected])
        expected = sklearn.matthews_corrcoef(true, predicted)
        mcc = train.ConfusionMatrixMetric(False, "mcc")(*inputs)
        np.testing.assert_allclose(mcc, [expected], atol=1e-12)
        expected = sklearn.balanced_accuracy_score(true, predicted)
        np.testing.assert_allclose(train.ConfusionMatrixMetric(False, "ba")(*inputs), [expected])


@given(LABELS)
def test_dice_equals_f1_of_samples(inputs: Inputs) -> None:
    predicted, true = exact(inputs)
    assume(true.shape[1] > 1)
    expected = sklearn.f1_score(true, predicted, average="samples", zero_division=0)
    assert train.Dice(1e-12)(*inputs) == pytest.approx(expected)


@given(scores_of_all_classes(2))
def test_roc_and_auc(inputs: Inputs) -> None:
    scores, labels = exact(inputs)
    fpr, tpr, thresholds = cast("Inputs", train.ROC()(*inputs))
    expected = sklearn.roc_curve(labels, scores, drop_intermediate=False)
    np.testing.assert_allclose(fpr, expected[0])
    np.testing.assert_allclose(tpr, expected[1])
    np.testing.assert_allclose(thresholds[1:], expected[2][1:])
    assert thresholds[0] == scores.max() + 1  # infinite in scikit-learn
    assert train.auc(fpr, tpr) == pytest.approx(sklearn.roc_auc_score(labels, scores))
    assert train.auc(fpr[::-1], tpr[::-1]) == pytest.approx(sklearn.auc(fpr, tpr))


@given(scores_and_labels(), st.sampled_from([0.5, 1 / 3, 100.0]))
def test_confusion_matrix_of_one_score_for_each_sample(inputs: Inputs, threshold: float) -> None:
    scores, labels = inputs[0][:, :1], np.minimum(inputs[1], 1)
    above = scores.astype(np.float64).ravel() >= threshold
    expected = sklearn.confusion_matrix(labels.ravel(), above, labels=[0, 1])
    matrix = train.ConfusionMatrix(2, threshold=threshold)
    np.testing.assert_array_equal(matrix(scores, labels), expected)


@given(scores_of_all_classes(3))
def test_roc_of_several_classes(inputs: Inputs) -> None:
    scores, labels = inputs
    metric = train.ROC(3)
    metric.update(scores, labels)
    fpr, tpr, _ = metric.eval()
    for number in range(3):
        expected = sklearn.roc_curve(labels == number, scores[:, number], drop_intermediate=False)
        np.testing.assert_allclose(fpr[number], expected[0])
        np.testing.assert_allclose(tpr[number], expected[1])


@given(matrices())
def test_cosine_similarity(inputs: Inputs) -> None:
    ours = train.CosineSimilarity(zero_diagonal=False)(*inputs)
    np.testing.assert_allclose(ours, sklearn.pairwise.cosine_similarity(*exact(inputs)), atol=1e-12)


@given(scores_and_labels(min_classes=2))
def test_perplexity_is_exp_of_log_loss(inputs: Inputs) -> None:
    scores, labels = flat(inputs)
    scores = scores.astype(np.float64) + 0.01
    scores /= scores.sum(axis=1, keepdims=True)
    expected = np.exp(sklearn.log_loss(labels, scores, labels=range(scores.shape[1])))
    assert train.Perplexity()(scores, labels) == pytest.approx(expected)
