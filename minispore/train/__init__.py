"""Training: `Model`, callbacks, metrics and checkpoints, under MindSpore's names."""

from minispore.train.callback import (
    Callback,
    CheckpointConfig,
    LossMonitor,
    ModelCheckpoint,
    RunContext,
    TimeMonitor,
)
from minispore.train.metrics import Accuracy, Loss, Metric, get_metric_fn, names, rearrange_inputs
from minispore.train.model import Model
from minispore.train.serialization import load_checkpoint, load_param_into_net, save_checkpoint

__all__ = [
    "Accuracy",
    "Callback",
    "CheckpointConfig",
    "Loss",
    "LossMonitor",
    "Metric",
    "Model",
    "ModelCheckpoint",
    "RunContext",
    "TimeMonitor",
    "get_metric_fn",
    "load_checkpoint",
    "load_param_into_net",
    "names",
    "rearrange_inputs",
    "save_checkpoint",
]
