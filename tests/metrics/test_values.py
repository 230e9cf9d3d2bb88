"""What single metrics give and refuse, beside the laws and the comparisons."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, train
from minispore.train import Metric

SCORES = [[0.1, 0.9], [0.8, 0.2]]


@given(st.lists(st.floats(-10, 10, width=32), min_size=1))
def test_loss_is_the_mean_of_the_batches(losses: list[float]) -> None:
    metric = train.Loss()
    for i, loss in enumerate(losses):
        metric.update(Tensor(np.float32(loss)) if i % 2 else [loss])
    assert metric.eval() == pytest.approx(np.mean(losses), abs=1e-9)


def test_a_batch_of_several_losses_counts_once() -> None:
    loss = train.Loss()
    loss.update(np.array([1.0, 2.0]))
    loss.update([3.0])
    loss.update([])
    assert loss.eval() == 2.25


@given(st.lists(st.integers(0, 5), min_size=1), st.integers(0, 2**32 - 1))
def test_a_perfect_prediction_is_worth_1(labels: list[int], seed: int) -> None:
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


def test_a_perfect_ranking_has_the_whole_area_below_it() -> None:
    metric = train.ROC()
    metric.update([0.1, 0.7, 0.6, 0.2], [0, 1, 1, 0])
    fpr, tpr, _ = metric.eval()
    assert isinstance(fpr, np.ndarray)
    assert isinstance(tpr, np.ndarray)
    assert train.auc(fpr, tpr) == 1


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
def test_one_number_is_a_python_float(value: object) -> None:
    assert type(value) is float


def test_an_average_is_a_python_float() -> None:
    for metric in (train.Precision(), train.Recall("multilabel"), train.F1()):
        metric.update([[1, 0], [0, 1]], [[1, 0], [0, 1]])
        assert type(metric.eval(average=True)) is float
        assert metric.eval().dtype == np.float64


def test_a_mean_by_samples_leaves_out_what_is_undefined() -> None:
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


def test_integers_are_class_numbers_where_there_are_more_than_two() -> None:
    matrix = train.ConfusionMatrix(3)([2, 1, 0], [2, 2, 0])
    np.testing.assert_array_equal(matrix, [[1, 0, 0], [0, 0, 0], [0, 1, 1]])


def test_the_first_channel_is_skipped_where_that_is_asked_for() -> None:
    predicted, true = [[1, 1, 0]], [[0, 1, 1]]
    assert train.ConfusionMatrixMetric(True, "acc")(predicted, true) == 0.5
    assert train.ConfusionMatrixMetric(False, "acc")(predicted, true) == pytest.approx(1 / 3)
    assert train.ConfusionMatrixMetric(True, "acc")([[1]], [[1]]) == 1  # the only one is not


def test_top_k_of_equal_scores_and_of_several_places() -> None:
    tied = [[0.5] * 20]
    inside = [train.TopKCategoricalAccuracy(3)(tied, [label]) for label in range(20)]
    assert inside == [1, 1, 1] + [0] * 17
    places = np.moveaxis(np.eye(4)[[[0, 1, 2], [3, 0, 1]]], -1, 1)  # (2, 4, 3)
    assert train.Top1CategoricalAccuracy()(places, [[0, 1, 2], [3, 0, 0]]) == 5 / 6


def test_small_types_neither_wrap_around_nor_overflow() -> None:
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


@pytest.mark.parametrize("name", ["sensitivity", "prevalence_threshold", "mcc", "f1", "fm"])
def test_a_rate_does_not_depend_on_how_often_all_is_there(name: str) -> None:
    predicted, true = np.array([[1, 1, 0, 0, 1]]), np.array([[1, 0, 1, 0, 1]])
    metric = train.ConfusionMatrixMetric(False, name)
    once = metric(predicted, true)
    often = metric(np.tile(predicted, (60_000, 1)), np.tile(true, (60_000, 1)))
    np.testing.assert_allclose(often, once, rtol=1e-12)


def test_what_a_rate_is_called_by_default() -> None:
    assert train.ConfusionMatrixMetric().metric_name == "sensitivity"
    assert train.ConfusionMatrixMetric(metric_name="tpr").metric_name == "tpr"


def test_a_row_of_zeros_is_similar_to_nothing() -> None:
    similarities = train.CosineSimilarity(zero_diagonal=False)([[1.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(similarities, [[1, 0], [0, 0]])


@pytest.mark.parametrize(
    ("metric", "inputs"),
    [
        (train.Loss(), ([],)),
        (train.MAE(), ([], [])),
        (train.Dice(), ([], [])),
        (train.Accuracy(), (np.zeros((0, 3)), [])),
        (train.Precision(), (np.zeros((0, 3)), np.zeros(0, np.int64))),
        (train.ConfusionMatrix(2), ([], [])),
        (train.ConfusionMatrixMetric(), (np.zeros((0, 2)), np.zeros((0, 2)))),
        (train.Perplexity(), ([], [])),
        (train.ROC(), ([], [])),
        (train.CosineSimilarity(), (np.zeros((0, 2)),)),
    ],
)
def test_of_nothing_there_is_no_result(metric: Metric, inputs: tuple[object, ...]) -> None:
    with pytest.raises(RuntimeError, match="number of samples is 0"):
        metric(*inputs)


@pytest.mark.parametrize(
    ("metric", "inputs", "match"),
    [
        (train.Accuracy(), (SCORES,), "needs 2 inputs .*, but got 1[.]$"),
        (train.Accuracy(), (SCORES, [1, 0], 1), "but got 3: 'set_indexes' chooses among them"),
        (train.Accuracy(), (SCORES, [1]), r"\(2, 2\) and true value \(1,\)"),
        (train.Accuracy(), (SCORES, [[1], [0]]), r"true value \(2, 1\)"),
        (train.Accuracy(), (SCORES, [[1, 1], [0, 0]]), "or be one-hot"),
        (train.Accuracy(), ([1.0, 2.0], [1, 2]), r"second dimension, but got shape \(2,\)"),
        (train.Accuracy(), (np.zeros((2, 0)), [1, 2]), r"shape \(2, 0\)"),
        (train.Accuracy("multilabel"), ([[1, 0.5]], [[1, 0]]), "must be 0 or 1"),
        (train.Accuracy("multilabel"), ([[1, 0]], [[1]]), r"\(1, 2\) and \(1, 1\)"),
        (train.Precision(), (SCORES, [2, 0]), r"2 classes, .* in \[0, 2\), but got 2"),
        (train.Recall(), (SCORES, [0, -1]), "but got -1"),
        (train.F1(), (SCORES, [0, np.nan]), "but got nan"),
        (train.Fbeta(2), (SCORES, [0.5, 1]), "but got 0.5"),
        (train.Top5CategoricalAccuracy(), (SCORES, [0, 1]), r"at least k = 5 .* \(2, 2\)"),
        (train.Loss(), ([1.0], [2.0]), "needs 1 input .* but got 2"),
        (train.Loss(), ([[1.0]],), "must be 0 or 1, but got 2"),
        (train.MAE(), ([1.0, 2.0], [1.0]), r"\(2,\) and \(1,\)"),
        (train.Dice(), ([[1.0, 2.0]], [1.0, 2.0]), r"\(1, 2\) and \(2,\)"),
        (train.Perplexity(), (SCORES, [0, 2]), r"in \[0, 2\), but got 2"),
        (train.CosineSimilarity(), ([1.0],), r"a matrix but got shape \(1,\)"),
        (train.ConfusionMatrix(2), ([0, 1], [0]), r"true value \(1,\) and .* value \(2,\)"),
        (train.ConfusionMatrix(2), ([0, 1], [0, 2]), "but got 2"),
        (train.ConfusionMatrixMetric(), ([[0.5]], [[1]]), "of the predicted value must be 0 or 1"),
        (train.ConfusionMatrixMetric(), ([0], [1]), r"\(1,\) and \(1,\)"),
        (train.ROC(), (SCORES, [1, 0]), r"'class_num' must be 2 for .* \(2, 2\), but got None"),
        (train.ROC(2), (SCORES, SCORES), "must be None or 1"),
        (train.ROC(2, 1), (SCORES, [0, 1]), "'pos_label' must be None"),
        (train.ROC(), ([0.1], [[[1]]]), r"value \(1,\) and true value \(1, 1, 1\)"),
    ],
)
def test_update_says_what_is_wrong(metric: Metric, inputs: tuple[object, ...], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        metric.update(*inputs)


def test_batches_have_the_same_classes() -> None:
    def refused(metric: Metric, first: tuple[object, ...], second: tuple[object, ...]) -> str:
        metric.update(*first)
        with pytest.raises(ValueError, match="For '") as caught:
            metric.update(*second)
        return str(caught.value)

    two, three = (SCORES, [1, 0]), ([[1.0, 2.0, 3.0]], [2])
    for metric in (train.Accuracy(), train.Precision(), train.F1()):
        assert "had 2 classes, this one has 3" in refused(metric, two, three)
    assert "2 wide" in refused(train.CosineSimilarity(), (SCORES,), ([[1.0, 2.0, 3.0]],))
    by_sample = train.ConfusionMatrixMetric(calculation_method=True, skip_channel=False)
    assert "got 1 after 2" in refused(by_sample, ([[0, 1]], [[0, 1]]), ([[0]], [[1]]))
    one = train.ROC(1)
    one.update([0.1, 0.2], [0, 1])
    one.update([[0.3], [0.4]], [1, 0])  # a column is the same
    assert len(one.eval()[0]) == 5


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: train.Accuracy("foo"), TypeError, "eval_type"),
        (lambda: train.Recall("foo"), TypeError, "'Recall', the argument 'eval_type'"),
        (lambda: train.Fbeta(0), ValueError, "positive and finite, but got 0"),
        (lambda: train.Fbeta(float("inf")), ValueError, "but got inf"),
        (lambda: train.TopKCategoricalAccuracy(0), ValueError, "'k' must be at least 1"),
        (lambda: train.ConfusionMatrix(0), ValueError, "'num_classes' must be at least 1"),
        (lambda: train.ConfusionMatrix(2, "x"), ValueError, "'no_norm', 'target'"),
        (lambda: train.ConfusionMatrixMetric(decrease="x"), ValueError, "'mean_batch'"),
        (lambda: train.ConfusionMatrixMetric(metric_name="x"), NotImplementedError, "markedness"),
        (lambda: train.CosineSimilarity("x"), ValueError, "'dot', 'cosine'"),
        (lambda: train.Dice(0.0), ValueError, "must be positive, but got 0.0"),
        (lambda: train.ROC(0), ValueError, "'class_num' must be at least 1"),
        (lambda: train.ROC(pos_label="1"), TypeError, "pos_label"),  # type: ignore[arg-type]
    ],
)
def test_arguments_are_checked_at_once(
    make: Callable[[], Metric], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        make()


def test_an_average_is_asked_for_with_a_bool() -> None:
    precision = train.Precision()
    precision.update(SCORES, [1, 0])
    with pytest.raises(TypeError, match="'Precision', the type of 'average' must be"):
        precision.eval(average="macro")  # type: ignore[call-overload]
