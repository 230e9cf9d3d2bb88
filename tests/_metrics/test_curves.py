"""ROC curves and the area under them."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from minispore import train
from tests._metrics.cases import Array, Inputs, arrays, scores_of_all_classes


def test_perfect_ranking_has_area_1() -> None:
    metric = train.ROC()
    metric.update([0.1, 0.7, 0.6, 0.2], [0, 1, 1, 0])
    fpr, tpr, _ = metric.eval()
    assert isinstance(fpr, np.ndarray)
    assert isinstance(tpr, np.ndarray)
    assert train.auc(fpr, tpr) == 1


@given(scores_of_all_classes(2), st.integers(-3, 3), st.integers(-3, 3))
def test_any_label_may_be_the_positive_one(inputs: Inputs, positive: int, shift: int) -> None:
    scores, labels = inputs
    negative = positive + (shift or 4)
    chosen = train.ROC(pos_label=positive)(scores, np.where(labels, positive, negative))
    for one, other in zip(chosen, train.ROC()(scores, labels), strict=True):
        np.testing.assert_array_equal(one, other)


@given(arrays((6,), 3), arrays((6,), 8, 8))
def test_auc_sorts_points_by_x_and_then_by_y(x: Array, y: Array) -> None:
    points = sorted(zip(x.tolist(), y.tolist(), strict=True))
    area = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(points))
    assert train.auc(x, y, reorder=True) == area
