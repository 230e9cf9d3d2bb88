"""The names under which metrics can be asked for."""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet

from minispore._checks import check_type
from minispore.train.metrics._accuracy import Accuracy
from minispore.train.metrics._loss import Loss
from minispore.train.metrics._metric import Metric

_METRICS: dict[str, Callable[..., Metric]] = {"acc": Accuracy, "accuracy": Accuracy, "loss": Loss}


def names() -> list[str]:
    """Return the names of all metrics.

    Examples:
        >>> names()
        ['acc', 'accuracy', 'loss']
    """
    return sorted(_METRICS)


def get_metric_fn(name: str, *args: object, **kwargs: object) -> Metric:
    """Return a new metric by its name.

    Args:
        name: one of `names()`.
        *args: for the metric's class.
        **kwargs: for the metric's class.

    Raises:
        KeyError: if there is no such metric.

    Examples:
        >>> get_metric_fn("accuracy", eval_type="multilabel")([[1, 0]], [[1, 0]])
        1.0
    """
    if name not in _METRICS:
        raise KeyError(
            f"For 'get_metric_fn', unsupported metric {name!r}; it must be one of {names()}."
        )
    return _METRICS[name](*args, **kwargs)


def get_metrics(metrics: AbstractSet[str] | Mapping[str, Metric] | None) -> dict[str, Metric]:
    """Return the metrics of `Model`'s argument: a set of names, a dict of metrics, or None."""
    check_type(metrics, (dict, set, frozenset), "metrics", "Model", none=True)
    if metrics is None:
        return {}
    if isinstance(metrics, Mapping):
        for name, metric in metrics.items():
            check_type(name, str, "metrics.keys", "Model")
            check_type(metric, Metric, f"metrics[{name!r}]", "Model")
        return dict(metrics)
    # In the order of their names: that of a set changes from run to run.
    return {name: get_metric_fn(name) for name in sorted(metrics, key=str)}
