"""The optimizers."""

from minispore.nn.optim.ada_grad import Adagrad
from minispore.nn.optim.adadelta import Adadelta
from minispore.nn.optim.adam import Adam, AdamWeightDecay
from minispore.nn.optim.adamax import AdaMax
from minispore.nn.optim.momentum import Momentum
from minispore.nn.optim.optimizer import Optimizer
from minispore.nn.optim.rmsprop import RMSProp
from minispore.nn.optim.sgd import SGD

__all__ = [
    "SGD",
    "AdaMax",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamWeightDecay",
    "Momentum",
    "Optimizer",
    "RMSProp",
]
