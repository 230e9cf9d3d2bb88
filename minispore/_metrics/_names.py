"""The names under which metrics can be asked for."""

from collections.abc import Callable
from typing import Any, Literal, overload

import numpy.typing as npt

from minispore._metrics._accuracy import Accuracy
from minispore._metrics._auc import auc
from minispore._metrics._confusion_matrix import ConfusionMatrix
from minispore._metrics._confusion_matrix_metric import ConfusionMatrixMetric
from minispore._metrics._cosine_similarity import CosineSimilarity
from minispore._metrics._dice import Dice
from minispore._metrics._fbeta import F1
from minispore._metrics._left_out import LEFT_OUT, LEFT_OUT_NAMES
from minispore._metrics._loss import Loss
from minispore._metrics._mae import MAE
from minispore._metrics._metric import Metric
from minispore._metrics._mse import MSE
from minispore._metrics._perplexity import Perplexity
from minispore._metrics._precision import Precision
from minispore._metrics._recall import Recall
from minispore._metrics._roc import ROC
from minispore._metrics._topk import (
    Top1CategoricalAccuracy,
    Top5CategoricalAccuracy,
    TopKCategoricalAccuracy,
)

_METRICS: dict[str, Callable[..., Metric | float]] = {
    "F1": F1,
    "acc": Accuracy,
    "accuracy": Accuracy,
    "auc": auc,
    "confusion_matrix": ConfusionMatrix,
    "confusion_matrix_metric": ConfusionMatrixMetric,
    "cosine_similarity": CosineSimilarity,
    "dice": Dice,
    "loss": Loss,
    "mae": MAE,
    "mse": MSE,
    "perplexity": Perplexity,
    "precision": Precision,
    "recall": Recall,
    "roc": ROC,
    "top_1_accuracy": Top1CategoricalAccuracy,
    "top_5_accuracy": Top5CategoricalAccuracy,
    "topk": TopKCategoricalAccuracy,
}


def names() -> list[str]:
    """Return the names of all metrics.

    Source: mindspore.train.names.

    Examples:
        >>> names()[:5]
        ['F1', 'acc', 'accuracy', 'auc', 'confusion_matrix']
    """
    return sorted(_METRICS)


# "auc" names a function: its result is no metric but the area itself.
@overload
def get_metric_fn(  # type: ignore[overload-overlap]
    name: Literal["auc"],  # pyright: ignore[reportOverlappingOverload]
    x: npt.NDArray[Any],
    y: npt.NDArray[Any],
    reorder: bool = False,
) -> float: ...
@overload
def get_metric_fn(name: str, *args: object, **kwargs: object) -> Metric: ...
def get_metric_fn(name: str, *args: object, **kwargs: object) -> Metric | float:
    """Return a new metric by its name; for "auc", which is a function, its result.

    Args:
        name: one of `names()`.
        *args: for the metric's class.
        **kwargs: for the metric's class.

    Raises:
        KeyError: if there is no such metric.

    Source: mindspore.train.get_metric_fn.

    Examples:
        >>> get_metric_fn("accuracy", eval_type="multilabel")([[1, 0]], [[1, 0]])
        1.0
    """
    if name not in _METRICS:
        if name in LEFT_OUT_NAMES:
            left_out = LEFT_OUT_NAMES[name]
            raise KeyError(
                f"For 'get_metric_fn', the metric {name!r} is left out of minispore. "
                f"{LEFT_OUT[left_out]}"
            )
        raise KeyError(
            f"For 'get_metric_fn', unsupported metric {name!r}; it must be one of {names()}."
        )
    return _METRICS[name](*args, **kwargs)
