"""The optimizers."""

from minispore.nn.optim.adam import Adam
from minispore.nn.optim.momentum import Momentum
from minispore.nn.optim.optimizer import Optimizer
from minispore.nn.optim.sgd import SGD
from minispore.utils.unsupported import module_attributes

__all__ = ["SGD", "Adam", "Momentum", "Optimizer"]

globals()["__getattr__"], globals()["__dir__"] = module_attributes(__name__)
