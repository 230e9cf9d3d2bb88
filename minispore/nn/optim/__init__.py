"""Optimisers."""

from minispore.nn.optim.adam import Adam
from minispore.nn.optim.momentum import Momentum
from minispore.nn.optim.optimizer import Optimizer
from minispore.nn.optim.sgd import SGD

__all__ = ["SGD", "Adam", "Momentum", "Optimizer"]
