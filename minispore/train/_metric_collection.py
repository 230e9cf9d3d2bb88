"""The metrics of an evaluation: `Model`'s argument, and the outputs that each metric receives."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import NoneType
from typing import Any

import numpy as np

from minispore import _metrics
from minispore._metrics.metric import Metric
from minispore.utils.checks import as_tuple, check_type


def get_metrics(
    metrics: AbstractSet[str] | Mapping[str, Metric | str] | None,
) -> dict[str, Metric]:
    """Return the metrics of `Model`'s argument: a set of names, a dict of both, or None."""
    check_type(metrics, (dict, set, frozenset, NoneType), "metrics")
    if metrics is None:
        return {}
    if isinstance(metrics, Mapping):
        for name, metric in metrics.items():
            check_type(name, str, "metrics.keys")
            check_type(metric, (Metric, str), f"metrics[{name!r}]")
        return {
            name: _metric_from_name(metric) if isinstance(metric, str) else metric
            for name, metric in metrics.items()
        }
    # Sorted, since the order of a set changes from run to run.
    return {name: _metric_from_name(name) for name in sorted(metrics, key=str)}


def _metric_from_name(name: str) -> Metric:
    if name == "auc":
        raise TypeError(
            "For 'Model', 'auc' is computed of a curve: evaluate 'roc', and call auc(x, y) with "
            "its result."
        )
    try:
        return _metrics.get_metric_fn(name)
    except TypeError as error:
        error.add_note(
            f"For 'Model', the metric {name!r} cannot be created from its name, since it needs "
            f"arguments: pass 'metrics' a dict, {{{name!r}: the metric}}."
        )
        raise


class MetricCollection:
    """The metrics of one evaluation, which starts by clearing them.

    Args:
        metrics: The metrics by name.
        indexes: The positions of loss, prediction and label among the outputs. A `Loss` receives
            the first of them, every other metric the other two. Without it, every metric receives
            all outputs.
    """

    def __init__(self, metrics: Mapping[str, Metric], indexes: Sequence[int] | None) -> None:
        self._metrics = metrics
        self._indexes = indexes
        self._eval_loss = _metrics.loss.LossOfRows()
        for metric in metrics.values():
            metric.clear()

    def update(self, outputs: object, rows: int) -> None:
        """Update the metrics with the outputs of the evaluation network for a batch of `rows`."""
        items = as_tuple(outputs)
        self._eval_loss.rows = rows
        if self._indexes is None:
            for metric in self._metrics.values():
                metric.update(*items)
            return
        loss, *others = (items[index] for index in self._indexes)
        for metric in (self._eval_loss, *self._metrics.values()):
            metric.update(*([loss] if isinstance(metric, _metrics.Loss) else others))

    def results(self) -> dict[str, Any]:
        """Return the result of each metric: a number, for nearly all of them."""
        # A numpy scalar would be printed as np.float64(0.5).
        results = {name: metric.eval() for name, metric in self._metrics.items()}
        return {
            name: result.item() if isinstance(result, np.generic) else result
            for name, result in results.items()
        }

    def eval_loss(self) -> dict[str, float]:
        """Return the mean loss over rows as "eval_loss"; an empty dict without `indexes`."""
        return {} if self._indexes is None else {"eval_loss": self._eval_loss.eval()}
