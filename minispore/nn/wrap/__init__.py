"""Cells around a network: with its loss, for evaluation, and for a training step."""

from minispore.nn.wrap.cell_wrapper import TrainOneStepCell, WithEvalCell, WithLossCell
from minispore.nn.wrap.grad_reducer import DistributedGradReducer
from minispore.nn.wrap.loss_scale import (
    DynamicLossScaleUpdateCell,
    FixedLossScaleUpdateCell,
    TrainOneStepWithLossScaleCell,
)

__all__ = [
    "DistributedGradReducer",
    "DynamicLossScaleUpdateCell",
    "FixedLossScaleUpdateCell",
    "TrainOneStepCell",
    "TrainOneStepWithLossScaleCell",
    "WithEvalCell",
    "WithLossCell",
]
