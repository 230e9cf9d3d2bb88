"""The metrics of an evaluation: how a model is told them, and which outputs each is given."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import cast

import numpy as np

from minispore._checks import check_type
from minispore.train.metrics import Loss, Metric, get_metric_fn


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
    return {name: _by_name(name) for name in sorted(metrics, key=str)}


def _by_name(name: str) -> Metric:
    if name == "auc":
        raise TypeError(
            "For 'Model', 'auc' is computed of a curve: evaluate 'roc', and call auc(x, y) with "
            "its result."
        )
    try:
        return get_metric_fn(name)
    except TypeError as error:
        error.add_note(
            f"For 'Model', the metric {name!r} needs arguments, so its name alone does not do: "
            f"give 'metrics' a dict, {{{name!r}: the metric}}."
        )
        raise


class Scores:
    """The metrics of one evaluation, cleared at its beginning.

    Args:
        metrics: by the names under which the results are returned.
        indexes: the places of loss, prediction and label among the outputs. `Loss` metrics are
            given the first, all others the other two. Without it, every metric is given all.
    """

    def __init__(self, metrics: Mapping[str, Metric], indexes: Sequence[int] | None) -> None:
        self._metrics = metrics
        self._indexes = indexes
        self._eval_loss = Loss()
        for metric in metrics.values():
            metric.clear()

    def update(self, outputs: object) -> None:
        """Take in what the evaluation network returned for one batch."""
        items = cast("tuple[object, ...]", outputs if isinstance(outputs, tuple) else (outputs,))
        if self._indexes is None:
            for metric in self._metrics.values():
                metric.update(*items)
            return
        loss, prediction, label = (items[index] for index in self._indexes)
        self._eval_loss.update(loss)
        for metric in self._metrics.values():
            if isinstance(metric, Loss):
                metric.update(loss)
            else:
                metric.update(prediction, label)

    def results(self) -> dict[str, float]:
        """Return each metric's result: for nearly all of them a number."""
        return {name: _plain(metric.eval()) for name, metric in self._metrics.items()}

    def eval_loss(self) -> dict[str, float]:
        """Return the mean loss as the entry "eval_loss", or nothing if outputs hold no loss."""
        return {} if self._indexes is None else {"eval_loss": self._eval_loss.eval()}


def _plain(result: object) -> float:
    # A numpy scalar would print as np.float64(0.5). What is no number is passed on as it is.
    return cast("float", result.item() if isinstance(result, np.generic) else result)
