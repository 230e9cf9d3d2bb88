"""Where MindSpore keeps what averages gradients over processes."""

from minispore.nn._grad_reducer import DistributedGradReducer

__all__ = ["DistributedGradReducer"]
