"""Where MindSpore keeps the layers: what scripts import from there, under its names."""

from minispore.nn.layer.activation import (
    LogSoftmax,
    ReLU,
    Sigmoid,
    Softmax,
    Tanh,
    get_activation,
)
from minispore.nn.layer.basic import Dense, Dropout, Flatten, Identity
from minispore.nn.layer.container import CellList, SequentialCell
from minispore.nn.layer.conv import Conv2d
from minispore.nn.layer.embedding import Embedding
from minispore.nn.layer.normalization import BatchNorm1d, BatchNorm2d, LayerNorm
from minispore.nn.layer.pooling import AvgPool2d, MaxPool2d

__all__ = [
    "AvgPool2d",
    "BatchNorm1d",
    "BatchNorm2d",
    "CellList",
    "Conv2d",
    "Dense",
    "Dropout",
    "Embedding",
    "Flatten",
    "Identity",
    "LayerNorm",
    "LogSoftmax",
    "MaxPool2d",
    "ReLU",
    "SequentialCell",
    "Sigmoid",
    "Softmax",
    "Tanh",
    "get_activation",
]
