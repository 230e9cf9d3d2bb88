"""Random inputs for each metric, and what is true of its results on them."""

from collections.abc import Callable
from dataclasses import dataclass
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

SAMPLES = st.integers(1, 12)
# Multiples of 1/8 often tie, and their sums are exact in any order.
EIGHTHS = st.integers(0, 8).map(lambda n: n / 8)
BINARY = st.sampled_from([0.0, 1.0])


@dataclass(frozen=True)
class Case:
    """A metric.

    Args:
        make: gives a new one.
        inputs: draws what it is updated with: arrays of as many samples.
        bounds: what each number of its result lies between.
        by_sample: the number of the result's axes that belong to the samples.
    """

    make: Callable[[], Metric]
    inputs: Strategy
    bounds: tuple[float, float] = (0.0, 1.0)
    by_sample: int = 0


@st.composite
def classified(draw: st.DrawFn, least: int = 1) -> Inputs:
    """Scores (N, C, …) and class numbers (N, …)."""
    samples, classes = draw(SAMPLES), draw(st.integers(least, 6))
    rest = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
    scores = draw(hnp.arrays(np.float32, (samples, classes, *rest), elements=EIGHTHS))
    labels = draw(hnp.arrays(np.int32, (samples, *rest), elements=st.integers(0, classes - 1)))
    return scores, labels


@st.composite
def pairs(
    draw: st.DrawFn, elements: st.SearchStrategy[float], least: int = 1, most: int = 3
) -> Inputs:
    """Two arrays of one shape of `least` to `most` dimensions."""
    shape = draw(hnp.array_shapes(min_dims=least, max_dims=most, max_side=5))
    numbers = hnp.arrays(np.float64, shape, elements=elements)
    return draw(numbers), draw(numbers)


@st.composite
def words(draw: st.DrawFn) -> Inputs:
    """Probabilities (N, 4) and words (N,), of which some are not the last one."""
    labels = np.array([0, *draw(st.lists(st.integers(0, 3), max_size=11))])
    return draw(hnp.arrays(np.float64, (len(labels), 4), elements=EIGHTHS)), labels


@st.composite
def ranked(draw: st.DrawFn, classes: int) -> Inputs:
    """Scores and class numbers (N,), of which each is there; scores (N,) if there are two."""
    labels = np.array([*range(classes), *draw(st.lists(st.integers(0, classes - 1), max_size=9))])
    shape = (len(labels),) if classes == 2 else (len(labels), classes)
    return draw(hnp.arrays(np.float64, shape, elements=EIGHTHS)), labels


@st.composite
def rows(draw: st.DrawFn) -> Inputs:
    """A matrix (N, 3)."""
    return (draw(hnp.arrays(np.float64, (draw(SAMPLES), 3), elements=EIGHTHS)),)


MASKS = pairs(BINARY, least=2)
LABELS = pairs(BINARY, least=2, most=2)
POSITIVE = (0.0, np.inf)
JUST_ABOVE_1 = 1 + 1e-12

CASES: dict[str, Case] = {
    "accuracy": Case(train.Accuracy, classified()),
    "accuracy, multilabel": Case(lambda: train.Accuracy("multilabel"), MASKS),
    "precision": Case(train.Precision, classified()),
    "recall": Case(train.Recall, classified()),
    "Fbeta": Case(lambda: train.Fbeta(0.5), classified()),
    "F1": Case(train.F1, classified()),
    "top 1": Case(train.Top1CategoricalAccuracy, classified()),
    "top 3": Case(lambda: train.TopKCategoricalAccuracy(3), classified(least=3)),
    "top 5": Case(train.Top5CategoricalAccuracy, classified(least=5)),
    "MAE": Case(train.MAE, pairs(EIGHTHS), POSITIVE),
    "MSE": Case(train.MSE, pairs(EIGHTHS), POSITIVE),
    "confusion matrix": Case(lambda: train.ConfusionMatrix(6), classified(), POSITIVE),
    "confusion matrix, shares": Case(
        lambda: train.ConfusionMatrix(6, normalize="target"), classified()
    ),
    "F1 of masks": Case(lambda: train.ConfusionMatrixMetric(metric_name="f1"), MASKS),
    "Matthews of masks": Case(
        lambda: train.ConfusionMatrixMetric(False, "mcc"), MASKS, (-1, JUST_ABOVE_1)
    ),
    "mean accuracy of masks": Case(
        lambda: train.ConfusionMatrixMetric(False, "acc", True, "mean"), MASKS
    ),
    "perplexity": Case(lambda: train.Perplexity(ignore_label=3), words(), (1, 1.001e10)),
    "ROC": Case(train.ROC, ranked(2), (0, 2)),
    "ROC of classes": Case(lambda: train.ROC(3), ranked(3), (0, 2)),
    "Dice": Case(train.Dice, pairs(EIGHTHS)),
    "precision, multilabel": Case(lambda: train.Precision("multilabel"), LABELS, by_sample=1),
    "recall, multilabel": Case(lambda: train.Recall("multilabel"), LABELS, by_sample=1),
    "cosine similarity": Case(train.CosineSimilarity, rows(), (0, JUST_ABOVE_1), by_sample=2),
    "specificity of masks": Case(
        lambda: train.ConfusionMatrixMetric(False, "tnr", True, "mean_channel"), LABELS, by_sample=1
    ),
}
