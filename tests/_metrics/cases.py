"""Strategies for inputs of each metric, and properties of its results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
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
        inputs: Draws the arguments of `update`: arrays of equally many samples.
        bounds: The range of each number of the result.
        sample_axes: The number of axes of the result that run over samples.
    """

    make: Callable[[], Metric]
    inputs: Strategy
    bounds: tuple[float, float] = (0.0, 1.0)
    sample_axes: int = 0


@st.composite
def scores_and_labels(draw: st.DrawFn, min_classes: int = 1) -> Inputs:
    """Draw scores (N, C, …) and class indices (N, …)."""
    samples, classes = draw(SAMPLES), draw(st.integers(min_classes, 6))
    trailing = draw(st.sampled_from([(), (1,), (2,), (2, 3)]))
    labels = draw(arrays((samples, *trailing), classes - 1)).astype(np.int32)
    return draw(arrays((samples, classes, *trailing), 8, 8)).astype(np.float32), labels


@st.composite
def array_pairs(
    draw: st.DrawFn, highest: int, divisor: int = 1, min_dims: int = 1, max_dims: int = 3
) -> Inputs:
    """Draw two arrays of the same shape with `min_dims` to `max_dims` axes."""
    shape = draw(hnp.array_shapes(min_dims=min_dims, max_dims=max_dims, max_side=5))
    return draw(arrays(shape, highest, divisor)), draw(arrays(shape, highest, divisor))


@st.composite
def token_predictions(draw: st.DrawFn) -> Inputs:
    """Draw probabilities (N, 4) and class indices (N,), not all of which are 3."""
    labels = np.array([0, *draw(st.lists(st.integers(0, 3), max_size=6))])
    return draw(arrays((len(labels), 4), 8, 8)), labels


@st.composite
def scores_of_all_classes(draw: st.DrawFn, classes: int) -> Inputs:
    """Draw scores (N, classes), or (N,) for two classes, and class indices (N,) of all classes."""
    labels = np.array([*range(classes), *draw(st.lists(st.integers(0, classes - 1), max_size=6))])
    shape = (len(labels),) if classes == 2 else (len(labels), classes)
    return draw(arrays(shape, 8, 8)), labels


@st.composite
def matrices(draw: st.DrawFn) -> Inputs:
    """Draw a matrix (N, 3)."""
    return (draw(arrays((draw(SAMPLES), 3), 8, 8)),)


MASKS = array_pairs(1, min_dims=2)
LABELS = array_pairs(1, min_dims=2, max_dims=2)
POSITIVE = (0.0, np.inf)
JUST_ABOVE_1 = 1 + 1e-12

CASES: dict[str, Case] = {
    "accuracy": Case(train.Accuracy, scores_and_labels()),
    "accuracy, multilabel": Case(lambda: train.Accuracy("multilabel"), MASKS),
    "precision": Case(train.Precision, scores_and_labels()),
    "recall": Case(train.Recall, scores_and_labels()),
    "Fbeta": Case(lambda: train.Fbeta(0.5), scores_and_labels()),
    "F1": Case(train.F1, scores_and_labels()),
    "top 1": Case(train.Top1CategoricalAccuracy, scores_and_labels()),
    "top 3": Case(lambda: train.TopKCategoricalAccuracy(3), scores_and_labels(min_classes=3)),
    "top 5": Case(train.Top5CategoricalAccuracy, scores_and_labels(min_classes=5)),
    "MAE": Case(train.MAE, array_pairs(8, 8), POSITIVE),
    "MSE": Case(train.MSE, array_pairs(8, 8), POSITIVE),
    "confusion matrix": Case(lambda: train.ConfusionMatrix(6), scores_and_labels(), POSITIVE),
    "confusion matrix, shares": Case(
        lambda: train.ConfusionMatrix(6, normalize="target"), scores_and_labels()
    ),
    "F1 of masks": Case(lambda: train.ConfusionMatrixMetric(metric_name="f1"), MASKS),
    "Matthews of masks": Case(
        lambda: train.ConfusionMatrixMetric(False, "mcc"), MASKS, (-1, JUST_ABOVE_1)
    ),
    "mean accuracy of masks": Case(
        lambda: train.ConfusionMatrixMetric(False, "acc", True, "mean"), MASKS
    ),
    "perplexity": Case(
        lambda: train.Perplexity(ignore_label=3), token_predictions(), (1, 1.001e10)
    ),
    "ROC": Case(train.ROC, scores_of_all_classes(2), (0, 2)),
    "ROC of classes": Case(lambda: train.ROC(3), scores_of_all_classes(3), (0, 2)),
    "Dice": Case(train.Dice, array_pairs(8, 8)),
    "precision, multilabel": Case(lambda: train.Precision("multilabel"), LABELS, sample_axes=1),
    "recall, multilabel": Case(lambda: train.Recall("multilabel"), LABELS, sample_axes=1),
    "cosine similarity": Case(train.CosineSimilarity, matrices(), (0, JUST_ABOVE_1), sample_axes=2),
    "specificity of masks": Case(
        lambda: train.ConfusionMatrixMetric(False, "tnr", True, "mean_channel"),
        LABELS,
        sample_axes=1,
    ),
}
