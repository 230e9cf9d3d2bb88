"""Training: `Model`, callbacks, metrics and checkpoints, under MindSpore's names."""

from minispore.train.callback import Callback, LossMonitor, RunContext, TimeMonitor
from minispore.train.metrics import Accuracy, Loss, Metric, get_metric_fn, names, rearrange_inputs
from minispore.train.model import Model

__all__ = [
    "Accuracy",
    "Callback",
    "Loss",
    "LossMonitor",
    "Metric",
    "Model",
    "RunContext",
    "TimeMonitor",
    "get_metric_fn",
    "names",
    "rearrange_inputs",
]
