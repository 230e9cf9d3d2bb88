"""Metrics: what `Model.eval` measures, by class and by name."""

from minispore.train.metrics._accuracy import Accuracy
from minispore.train.metrics._loss import Loss
from minispore.train.metrics._metric import Metric, rearrange_inputs
from minispore.train.metrics._names import get_metric_fn, names

__all__ = ["Accuracy", "Loss", "Metric", "get_metric_fn", "names", "rearrange_inputs"]
