"""Metrics by their names, and MindSpore's metrics that minispore does not have."""

from collections.abc import Callable
from typing import Literal, overload

from minispore import _metrics
from minispore._metrics.metric import Metric
from minispore.utils.arrays import HostArray
from minispore.utils.unsupported import find_advice

__all__ = ["get_metric_fn", "names"]

# The classes, and the function `auc`, by name.
_METRICS = {
    "F1": "F1",
    "acc": "Accuracy",
    "accuracy": "Accuracy",
    "auc": "auc",
    "confusion_matrix": "ConfusionMatrix",
    "confusion_matrix_metric": "ConfusionMatrixMetric",
    "cosine_similarity": "CosineSimilarity",
    "dice": "Dice",
    "loss": "Loss",
    "mae": "MAE",
    "mse": "MSE",
    "perplexity": "Perplexity",
    "precision": "Precision",
    "recall": "Recall",
    "roc": "ROC",
    "top_1_accuracy": "Top1CategoricalAccuracy",
    "top_5_accuracy": "Top5CategoricalAccuracy",
    "topk": "TopKCategoricalAccuracy",
}
# By the name for `get_metric_fn`.
_UNSUPPORTED = {
    "bleu_score": "BleuScore",
    "hausdorff_distance": "HausdorffDistance",
    "mean_surface_distance": "MeanSurfaceDistance",
    "occlusion_sensitivity": "OcclusionSensitivity",
    "root_mean_square_distance": "RootMeanSquareDistance",
}


def names() -> list[str]:
    """Return the names of all metrics.

    Returns:
        The names, sorted, with upper case first.

    Examples:
        >>> names()[:5]
        ['F1', 'acc', 'accuracy', 'auc', 'confusion_matrix']

    Source: MindSpore's `mindspore.train.names`.
    """
    return sorted(_METRICS)


# "auc" names a function: the result is not a metric but the area.
@overload
def get_metric_fn(  # type: ignore[overload-overlap]
    name: Literal["auc"],  # pyright: ignore[reportOverlappingOverload]
    x: HostArray,
    y: HostArray,
    reorder: bool = False,
) -> float: ...
@overload
def get_metric_fn(name: str, *args: object, **kwargs: object) -> Metric: ...
def get_metric_fn(name: str, *args: object, **kwargs: object) -> Metric | float:
    """Return a new metric by its name; for "auc", which is a function, return its result.

    Args:
        name: One of `names()`.
        *args: Arguments of the metric's class.
        **kwargs: Arguments of the metric's class by name.

    Returns:
        The metric.

    Raises:
        KeyError: There is no such metric.

    Examples:
        >>> get_metric_fn("accuracy", eval_type="multilabel")([[1, 0]], [[1, 0]])
        1.0

    Source: MindSpore's `mindspore.train.get_metric_fn`.
    """
    if name in _UNSUPPORTED:
        raise KeyError(
            f"For 'get_metric_fn', the metric {name!r} is left out of minispore. "
            f"{find_advice(f'minispore.{_UNSUPPORTED[name]}')}"
        )
    if name not in _METRICS:
        raise KeyError(
            f"For 'get_metric_fn', unsupported metric {name!r}; it must be one of {names()}."
        )
    make: Callable[..., Metric | float] = getattr(_metrics, _METRICS[name])
    return make(*args, **kwargs)
