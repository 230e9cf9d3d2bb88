"""Confusion matrices and rates: undefined rates, channels, class indices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import train
from tests._metrics.cases import Array, Inputs, array_pairs, arrays


def test_reductions_omit_undefined_rates() -> None:
    predicted = [[1, 0], [1, 1], [0, 1]]
    true = [[0, 0], [1, 0], [1, 1]]

    def rates(decrease: str) -> object:
        return train.ConfusionMatrixMetric(False, "tpr", True, decrease)(predicted, true)

    nan = np.nan
    np.testing.assert_array_equal(rates("none"), [[nan, nan], [1, nan], [0, 1]])
    np.testing.assert_array_equal(rates("mean_batch"), [0.5, 1])
    np.testing.assert_array_equal(rates("sum_channel"), [0, 1, 1])
    np.testing.assert_array_equal(rates("mean_channel"), [nan, 1, 0.5])
    assert rates("mean") == 0.75
    assert rates("sum") == 2


@given(array_pairs(1, min_dims=2, max_dims=2))
def test_rates_are_related(inputs: Inputs) -> None:
    def rate(name: str) -> float:
        (value,) = np.asarray(train.ConfusionMatrixMetric(False, name)(*inputs))
        return float(value)

    def same(one: float, other: float) -> bool:
        undefined = np.isnan(one) or np.isnan(other)
        return bool(undefined or np.isclose(one, other, rtol=1e-9, atol=1e-12))

    for share, complement in (("tpr", "fnr"), ("tnr", "fpr"), ("ppv", "fdr"), ("npv", "for")):
        assert same(rate(complement), 1 - rate(share))
    assert same(rate("bm"), rate("tpr") + rate("tnr") - 1)
    assert same(rate("mk"), rate("ppv") + rate("npv") - 1)
    assert same(rate("fm") ** 2, rate("ppv") * rate("tpr"))
    assert same(rate("mcc") ** 2, rate("bm") * rate("mk"))
    assert same(rate("ba"), (rate("tpr") + rate("tnr")) / 2)
    assert same(rate("f1"), 2 * rate("ts") / (1 + rate("ts")))
    if abs(rate("tpr") - rate("fpr")) > 0.01:
        odds = np.sqrt(rate("fpr"))
        assert same(rate("pt"), odds / (np.sqrt(rate("tpr")) + odds))


NAMES = [
    ("sensitivity", "recall", "hit_rate", "true_positive_rate", "tpr"),
    ("specificity", "selectivity", "true_negative_rate", "tnr"),
    ("precision", "positive_predictive_value", "ppv"),
    ("negative_predictive_value", "npv"),
    ("miss_rate", "false_negative_rate", "fnr"),
    ("fall_out", "false_positive_rate", "fpr"),
    ("false_discovery_rate", "fdr"),
    ("false_omission_rate", "for"),
    ("prevalence_threshold", "pt"),
    ("threat_score", "critical_success_index", "ts", "csi"),
    ("accuracy", "acc"),
    ("balanced_accuracy", "ba"),
    ("f1_score", "f1"),
    ("matthews_correlation_coefficient", "mcc"),
    ("fowlkes_mallows_index", "fm"),
    ("informedness", "bookmaker_informedness", "bm"),
    ("markedness", "deltap", "mk"),
]


def test_synonyms_are_equal_and_others_are_not() -> None:
    predicted = [[1] * 11 + [0] * 12]
    true = [[1] * 7 + [0] * 4 + [1] * 2 + [0] * 10]
    values = [
        {
            float(np.asarray(train.ConfusionMatrixMetric(False, spelled)(predicted, true))[0])
            for name in names
            for spelled in (name, name.upper(), name.title().replace("_", " "))
        }
        for names in NAMES
    ]
    assert all(len(distinct) == 1 for distinct in values)
    assert len(set[float]().union(*values)) == len(NAMES)


@given(arrays((6,), 8, 8), arrays((6,), 1), st.sampled_from([0.25, 0.5, 1.0]))
def test_one_score_per_sample_is_compared_with_the_threshold(
    scores: Array, labels: Array, threshold: float
) -> None:
    matrix = train.ConfusionMatrix(2, threshold=threshold)(scores, labels)
    expected = train.ConfusionMatrix(2)((scores >= threshold).astype(int), labels)
    np.testing.assert_array_equal(matrix, expected)
    pairs = [
        [int(np.sum((labels == i) & ((scores >= threshold) == j))) for j in (0, 1)] for i in (0, 1)
    ]
    np.testing.assert_array_equal(matrix, pairs)


def test_integer_predictions_are_class_indices() -> None:
    matrix = train.ConfusionMatrix(3)([2, 1, 0], [2, 2, 0])
    np.testing.assert_array_equal(matrix, [[1, 0, 0], [0, 0, 0], [0, 1, 1]])
    # Those of two classes are scores.
    np.testing.assert_array_equal(train.ConfusionMatrix(2)([3, 0, -1], [1, 0, 1]), [[1, 0], [1, 1]])


def test_skip_channel_omits_the_first_channel() -> None:
    predicted, true = [[1, 1, 0]], [[0, 1, 1]]
    assert train.ConfusionMatrixMetric(True, "acc")(predicted, true) == 0.5
    assert train.ConfusionMatrixMetric(False, "acc")(predicted, true) == pytest.approx(1 / 3)
    assert train.ConfusionMatrixMetric(True, "acc")([[1]], [[1]]) == 1  # the only one is not


@pytest.mark.parametrize("name", ["sensitivity", "prevalence_threshold", "mcc", "f1", "fm"])
def test_rates_do_not_depend_on_repetition(name: str) -> None:
    predicted, true = np.array([[1, 1, 0, 0, 1]]), np.array([[1, 0, 1, 0, 1]])
    metric = train.ConfusionMatrixMetric(False, name)
    single = metric(predicted, true)
    repeated = metric(np.tile(predicted, (60_000, 1)), np.tile(true, (60_000, 1)))
    np.testing.assert_allclose(repeated, single, rtol=1e-12)


def test_metric_name_attribute() -> None:
    assert train.ConfusionMatrixMetric().metric_name == "sensitivity"
    assert train.ConfusionMatrixMetric(metric_name="tpr").metric_name == "tpr"
