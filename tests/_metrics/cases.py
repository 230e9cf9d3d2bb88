"""Strategies for inputs of each metric, models in plain Python, and properties of its results."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import exp, hypot, log, prod
from operator import mul
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore import train
from minispore.train import Metric

Array = npt.NDArray[Any]
Inputs = tuple[Array, ...]
Strategy = st.SearchStrategy[Inputs]

SAMPLES = st.integers(1, 7)
FLOATS = st.sampled_from([np.float32, np.float16, np.float64])


def arrays(shape: Sequence[int], highest: int, divisor: int = 1) -> st.SearchStrategy[Array]:
    """Return arrays of the multiples of 1 / divisor from 0 to highest / divisor.

    All elements are drawn at once, as bytes, which is much faster than one by one. Multiples of 1/8
    often tie, and their sums are exact in any order.
    """
    size = prod(shape)
    return st.binary(min_size=size, max_size=size).map(
        lambda drawn: np.frombuffer(drawn, np.uint8).reshape(shape) % (highest + 1) / divisor
    )


@dataclass(frozen=True)
class Case:
    """A metric with a strategy for its inputs.

    Attributes:
        make: Returns a new metric.
        model: Returns the result for the arguments of one `update`.
        inputs: Draws the arguments of `update`: arrays of equally many samples.
        bounds: The range of each number of the result.
        sample_axes: The number of axes of the result that run over samples.
    """

    make: Callable[[], Metric]
    model: Callable[..., object]
    inputs: Strategy
    bounds: tuple[float, float] = (0.0, 1.0)
    sample_axes: int = 0


@st.composite
def scores(draw: st.DrawFn, shape: Sequence[int]) -> Array:
    """Draw scores of some type and magnitude, sometimes all equal."""
    drawn = draw(arrays(shape, 8, 8)) if draw(st.integers(0, 7)) else np.full(shape, 0.5)
    dtype = draw(FLOATS)
    # 1 cannot be added to the last one in float16, nor to the first but one exactly.
    return (drawn * draw(st.sampled_from([1.0, 1 / 3, 2.0**12]))).astype(dtype)


@st.composite
def scores_and_labels(draw: st.DrawFn, min_classes: int = 2) -> Inputs:
    """Draw scores (N, C, …) and class indices (N, …)."""
    samples, classes = draw(SAMPLES), draw(st.integers(min_classes, 6))
    trailing = draw(st.sampled_from([(), (1,), (2,), (2, 3)]))
    labels = draw(arrays((samples, *trailing), classes - 1)).astype(np.int32)
    return draw(scores((samples, classes, *trailing))), labels


@st.composite
def array_pairs(
    draw: st.DrawFn, highest: int, divisor: int = 1, min_dims: int = 1, max_dims: int = 3
) -> Inputs:
    """Draw two arrays of the same shape with `min_dims` to `max_dims` axes."""
    shape, dtype = (
        draw(hnp.array_shapes(min_dims=min_dims, max_dims=max_dims, max_side=5)),
        draw(FLOATS),
    )
    one, other = draw(arrays(shape, highest, divisor)), draw(arrays(shape, highest, divisor))
    return one.astype(dtype), other.astype(dtype)


@st.composite
def token_predictions(draw: st.DrawFn) -> Inputs:
    """Draw probabilities (N, 4) and class indices (N,), not all of which are 3."""
    labels = np.array([0, *draw(st.lists(st.integers(0, 3), max_size=6))])
    return draw(arrays((len(labels), 4), 8, 8)).astype(draw(FLOATS)), labels


@st.composite
def scores_of_all_classes(draw: st.DrawFn, classes: int) -> Inputs:
    """Draw scores (N, classes), or (N,) for two classes, and class indices (N,) of all classes."""
    labels = np.array([*range(classes), *draw(st.lists(st.integers(0, classes - 1), max_size=6))])
    shape = (len(labels),) if classes == 2 else (len(labels), classes)
    return draw(scores(shape)), labels


@st.composite
def matrices(draw: st.DrawFn) -> Inputs:
    """Draw a matrix (N, 3)."""
    return (draw(arrays((draw(SAMPLES), 3), 8, 8)).astype(draw(FLOATS)),)


def samples_of(scores: Array, labels: Array) -> Iterator[tuple[list[float], int]]:
    """Yield the scores and the label of each sample."""
    for index in np.ndindex(labels.shape):
        row: list[float] = scores[(index[0], slice(None), *index[1:])].tolist()
        yield row, int(labels[index])


def ranking(row: Sequence[float]) -> list[int]:
    """Return the classes from the highest score to the lowest."""
    return sorted(range(len(row)), key=lambda number: (-row[number], number))


def share(condition: Sequence[object]) -> float:
    return sum(map(bool, condition)) / len(condition)


def quotient(a: float, b: float, undefined: float = 0.0) -> float:
    return a / b if b else undefined


def top(k: int) -> Callable[[Array, Array], float]:
    return lambda scores, labels: share(
        [label in ranking(row)[:k] for row, label in samples_of(scores, labels)]
    )


def by_class(formula: Callable[[int, int, int], float]) -> Callable[[Array, Array], object]:
    """Return the model of a formula of the true, predicted and actual positives of each class."""

    def model(scores: Array, labels: Array) -> object:
        pairs = [(ranking(row)[0], label) for row, label in samples_of(scores, labels)]
        return [
            formula(
                sum(p == t == number for p, t in pairs),
                sum(p == number for p, _ in pairs),
                sum(t == number for _, t in pairs),
            )
            for number in range(scores.shape[1])
        ]

    return model


def by_sample(formula: Callable[[int, int, int], float]) -> Callable[[Array, Array], object]:
    """Return the model of a formula of the true, predicted and actual positives of each sample."""
    return lambda predicted, true: [
        formula(sum(p * t for p, t in zip(ps, ts, strict=True)), sum(ps), sum(ts))
        for ps, ts in zip(predicted.tolist(), true.tolist(), strict=True)
    ]


def precision(hits: int, predicted: int, actual: int) -> float:
    return quotient(hits, predicted)


def recall(hits: int, predicted: int, actual: int) -> float:
    return quotient(hits, actual)


def confusion_matrix(normalized: bool) -> Callable[[Array, Array], object]:
    def model(scores: Array, labels: Array) -> object:
        counts = [[0.0] * 6 for _ in range(6)]
        for row, label in samples_of(scores, labels):
            counts[label][ranking(row)[0]] += 1
        return [[quotient(n, sum(row)) if normalized else n for n in row] for row in counts]

    return model


def outcomes(predicted: Array, true: Array) -> tuple[int, int, int, int]:
    """Return the numbers of true and false positives, and of true and false negatives."""
    pairs = list(zip(predicted.ravel().tolist(), true.ravel().tolist(), strict=True))
    return (
        pairs.count((1, 1)), pairs.count((1, 0)), pairs.count((0, 0)), pairs.count((0, 1)),
    )  # fmt: skip


def f1_without_background(predicted: Array, true: Array) -> object:
    background = 1 if true.shape[1] > 1 else 0
    tp, fp, _, fn = outcomes(predicted[:, background:], true[:, background:])
    return [quotient(2 * tp, 2 * tp + fp + fn, np.nan)]


def matthews(predicted: Array, true: Array) -> object:
    tp, fp, tn, fn = outcomes(predicted, true)
    product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return [quotient(tp * tn - fp * fn, product**0.5, np.nan)]


def specificities(predicted: Array, true: Array) -> object:
    """Return the mean over the channels of each sample of those that are defined."""
    rates: list[float] = []
    for ps, ts in zip(predicted, true, strict=True):
        of_channels = [
            tn / (tn + fp)
            for _, fp, tn, _ in map(outcomes, ps.reshape(-1, 1), ts.reshape(-1, 1))
            if tn + fp
        ]
        rates.append(quotient(sum(of_channels), len(of_channels), np.nan))
    return rates


def error(power: int) -> Callable[[Array, Array], object]:
    def model(predicted: Array, true: Array) -> object:
        pairs = zip(predicted.ravel().tolist(), true.ravel().tolist(), strict=True)
        return sum(abs(p - t) ** power for p, t in pairs) / len(true)

    return model


def perplexity(probabilities: Array, labels: Array) -> float:
    chosen = [row[label] for row, label in samples_of(probabilities, labels) if label != 3]
    return exp(-sum(log(max(p, 1e-10)) for p in chosen) / len(chosen))


def roc(scores: Array, labels: Array) -> tuple[list[float], list[float], list[float]]:
    pairs = [(float(score), bool(label)) for score, label in zip(scores, labels, strict=True)]
    thresholds = sorted({score for score, _ in pairs}, reverse=True)
    thresholds = [thresholds[0] + 1, *thresholds]
    positive = [score for score, label in pairs if label]
    negative = [score for score, label in pairs if not label]
    fpr, tpr = (
        [share([score >= threshold for score in of]) for threshold in thresholds]
        for of in (negative, positive)
    )
    return fpr, tpr, thresholds


def roc_of_classes(scores: Array, labels: Array) -> object:
    curves = [roc(scores[:, number], labels == number) for number in range(scores.shape[1])]
    return [list(parts) for parts in zip(*curves, strict=True)]


def dice(predicted: Array, true: Array) -> float:
    coefficients = [
        2 * float(np.sum(p * t)) / (float(np.sum(p * p)) + float(np.sum(t * t)) + 1e-5)
        for p, t in zip(predicted, true, strict=True)
    ]
    return sum(coefficients) / len(coefficients)


def similarities(rows: Array) -> object:
    """Return the cosines of the angles between different rows, 0 for a row of zeros."""
    lists: list[list[float]] = rows.tolist()
    return [
        [
            quotient(sum(map(mul, x, y)), hypot(*x) * hypot(*y)) if i != j else 0.0
            for j, y in enumerate(lists)
        ]
        for i, x in enumerate(lists)
    ]


MASKS = array_pairs(1, min_dims=2)
LABELS = array_pairs(1, min_dims=2, max_dims=2)
POSITIVE = (0.0, np.inf)
JUST_ABOVE_1 = 1 + 1e-12

CASES: dict[str, Case] = {
    "accuracy": Case(train.Accuracy, top(1), scores_and_labels()),
    "accuracy, multilabel": Case(
        lambda: train.Accuracy("multilabel"),
        lambda p, t: np.mean(np.all(p == t, axis=1)),
        MASKS,
    ),
    "precision": Case(train.Precision, by_class(precision), scores_and_labels()),
    "recall": Case(train.Recall, by_class(recall), scores_and_labels()),
    "Fbeta": Case(
        lambda: train.Fbeta(0.5),
        by_class(lambda hits, p, t: quotient(1.25 * hits, 0.25 * t + p)),
        scores_and_labels(),
    ),
    "F1": Case(
        train.F1, by_class(lambda hits, p, t: quotient(2 * hits, t + p)), scores_and_labels()
    ),
    "top 1": Case(train.Top1CategoricalAccuracy, top(1), scores_and_labels()),
    "top 3": Case(
        lambda: train.TopKCategoricalAccuracy(3), top(3), scores_and_labels(min_classes=3)
    ),
    "top 5": Case(train.Top5CategoricalAccuracy, top(5), scores_and_labels(min_classes=5)),
    "MAE": Case(train.MAE, error(1), array_pairs(8, 8), POSITIVE),
    "MSE": Case(train.MSE, error(2), array_pairs(8, 8), POSITIVE),
    "confusion matrix": Case(
        lambda: train.ConfusionMatrix(6), confusion_matrix(False), scores_and_labels(), POSITIVE
    ),
    "confusion matrix, shares": Case(
        lambda: train.ConfusionMatrix(6, normalize="target"),
        confusion_matrix(True),
        scores_and_labels(),
    ),
    "F1 of masks": Case(
        lambda: train.ConfusionMatrixMetric(metric_name="f1"), f1_without_background, MASKS
    ),
    "Matthews of masks": Case(
        lambda: train.ConfusionMatrixMetric(False, "mcc"), matthews, MASKS, (-1, JUST_ABOVE_1)
    ),
    "mean accuracy of masks": Case(
        lambda: train.ConfusionMatrixMetric(False, "acc", True, "mean"),
        lambda p, t: np.mean(p == t),
        MASKS,
    ),
    "perplexity": Case(
        lambda: train.Perplexity(ignore_label=3), perplexity, token_predictions(), (1, 1.001e10)
    ),
    "ROC": Case(train.ROC, roc, scores_of_all_classes(2), POSITIVE),
    "ROC of classes": Case(
        lambda: train.ROC(3), roc_of_classes, scores_of_all_classes(3), POSITIVE
    ),
    "Dice": Case(train.Dice, dice, array_pairs(8, 8)),
    "precision, multilabel": Case(
        lambda: train.Precision("multilabel"), by_sample(precision), LABELS, sample_axes=1
    ),
    "recall, multilabel": Case(
        lambda: train.Recall("multilabel"), by_sample(recall), LABELS, sample_axes=1
    ),
    "cosine similarity": Case(
        train.CosineSimilarity, similarities, matrices(), (0, JUST_ABOVE_1), sample_axes=2
    ),
    "specificity of masks": Case(
        lambda: train.ConfusionMatrixMetric(False, "tnr", True, "mean_channel"),
        specificities,
        LABELS,
        sample_axes=1,
    ),
}
