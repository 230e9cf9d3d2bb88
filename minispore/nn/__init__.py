"""Floor 4: cells, layers, losses, optimisers, learning rates, and the cells that train."""

from minispore.nn.activation import LogSoftmax, ReLU, Sigmoid, Softmax, Tanh, get_activation
from minispore.nn.basic import Dense, Dropout, Flatten, Identity
from minispore.nn.cell import Cell
from minispore.nn.container import CellList, SequentialCell
from minispore.nn.dynamic_lr import (
    cosine_decay_lr,
    exponential_decay_lr,
    inverse_decay_lr,
    natural_exp_decay_lr,
    piecewise_constant_lr,
    polynomial_decay_lr,
    warmup_lr,
)
from minispore.nn.learning_rate_schedule import (
    CosineDecayLR,
    ExponentialDecayLR,
    InverseDecayLR,
    LearningRateSchedule,
    NaturalExpDecayLR,
    PolynomialDecayLR,
    WarmUpLR,
)
from minispore.nn.loss import (
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    L1Loss,
    LossBase,
    MSELoss,
    SoftmaxCrossEntropyWithLogits,
)
from minispore.nn.optim import SGD, Adam, Momentum, Optimizer
from minispore.nn.wrap import TrainOneStepCell, WithEvalCell, WithLossCell

__all__ = [
    "SGD",
    "Adam",
    "BCELoss",
    "BCEWithLogitsLoss",
    "Cell",
    "CellList",
    "CosineDecayLR",
    "CrossEntropyLoss",
    "Dense",
    "Dropout",
    "ExponentialDecayLR",
    "Flatten",
    "Identity",
    "InverseDecayLR",
    "L1Loss",
    "LearningRateSchedule",
    "LogSoftmax",
    "LossBase",
    "MSELoss",
    "Momentum",
    "NaturalExpDecayLR",
    "Optimizer",
    "PolynomialDecayLR",
    "ReLU",
    "SequentialCell",
    "Sigmoid",
    "Softmax",
    "SoftmaxCrossEntropyWithLogits",
    "Tanh",
    "TrainOneStepCell",
    "WarmUpLR",
    "WithEvalCell",
    "WithLossCell",
    "cosine_decay_lr",
    "exponential_decay_lr",
    "get_activation",
    "inverse_decay_lr",
    "natural_exp_decay_lr",
    "piecewise_constant_lr",
    "polynomial_decay_lr",
    "warmup_lr",
]
