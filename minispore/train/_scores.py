"""The metrics of an evaluation: which of the network's outputs each of them is given."""

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from minispore.train.metrics import Loss, Metric


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
