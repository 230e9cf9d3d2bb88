"""The cells around a network: with its loss, for evaluation, and for a training step."""

from minispore.nn._grad_reducer import DistributedGradReducer
from minispore.nn.wrap.cell_wrapper import TrainOneStepCell, WithEvalCell, WithLossCell

__all__ = ["DistributedGradReducer", "TrainOneStepCell", "WithEvalCell", "WithLossCell"]
