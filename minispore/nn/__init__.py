"""Floor 6: cells, layers, losses, optimisers, learning rates, and the cells that train."""

from minispore._left_out import refusing
from minispore._metrics._left_out import LEFT_OUT
from minispore.nn._grad_reducer import DistributedGradReducer
from minispore.nn.activation import LogSoftmax, ReLU, Sigmoid, Softmax, Tanh, get_activation
from minispore.nn.basic import Dense, Dropout, Flatten, Identity
from minispore.nn.cell import Cell
from minispore.nn.container import CellList, SequentialCell
from minispore.nn.convolution import Conv2d
from minispore.nn.dynamic_lr import (
    cosine_decay_lr,
    exponential_decay_lr,
    inverse_decay_lr,
    natural_exp_decay_lr,
    piecewise_constant_lr,
    polynomial_decay_lr,
    warmup_lr,
)
from minispore.nn.embedding import Embedding
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
from minispore.nn.metrics import (
    F1,
    MAE,
    MSE,
    ROC,
    Accuracy,
    ConfusionMatrix,
    ConfusionMatrixMetric,
    CosineSimilarity,
    Dice,
    Fbeta,
    Loss,
    Metric,
    Perplexity,
    Precision,
    Recall,
    Top1CategoricalAccuracy,
    Top5CategoricalAccuracy,
    TopKCategoricalAccuracy,
    auc,
    get_metric_fn,
    names,
    rearrange_inputs,
)
from minispore.nn.normalization import BatchNorm1d, BatchNorm2d, LayerNorm
from minispore.nn.optim import SGD, Adam, Momentum, Optimizer
from minispore.nn.pooling import AvgPool2d, MaxPool2d
from minispore.nn.wrap import TrainOneStepCell, WithEvalCell, WithLossCell

__all__ = [
    "F1",
    "MAE",
    "MSE",
    "ROC",
    "SGD",
    "Accuracy",
    "Adam",
    "BCELoss",
    "MaxPool2d",
    "LayerNorm",
    "Embedding",
    "Conv2d",
    "BatchNorm2d",
    "BatchNorm1d",
    "AvgPool2d",
    "BCEWithLogitsLoss",
    "Cell",
    "CellList",
    "ConfusionMatrix",
    "ConfusionMatrixMetric",
    "CosineDecayLR",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "Dense",
    "Dice",
    "DistributedGradReducer",
    "Dropout",
    "ExponentialDecayLR",
    "Fbeta",
    "Flatten",
    "Identity",
    "InverseDecayLR",
    "L1Loss",
    "LearningRateSchedule",
    "LogSoftmax",
    "Loss",
    "LossBase",
    "MSELoss",
    "Metric",
    "Momentum",
    "NaturalExpDecayLR",
    "Optimizer",
    "Perplexity",
    "PolynomialDecayLR",
    "Precision",
    "ReLU",
    "Recall",
    "SequentialCell",
    "Sigmoid",
    "Softmax",
    "SoftmaxCrossEntropyWithLogits",
    "Tanh",
    "Top1CategoricalAccuracy",
    "Top5CategoricalAccuracy",
    "TopKCategoricalAccuracy",
    "TrainOneStepCell",
    "WarmUpLR",
    "WithEvalCell",
    "WithLossCell",
    "auc",
    "cosine_decay_lr",
    "exponential_decay_lr",
    "get_activation",
    "get_metric_fn",
    "inverse_decay_lr",
    "names",
    "natural_exp_decay_lr",
    "piecewise_constant_lr",
    "polynomial_decay_lr",
    "rearrange_inputs",
    "warmup_lr",
]

# In a dictionary, since a definition would tell type checkers that there is every attribute.
globals()["__getattr__"] = refusing(__name__, LEFT_OUT)
