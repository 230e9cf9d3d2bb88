"""Where MindSpore keeps the poolings."""

from minispore.nn.pooling import AvgPool2d, MaxPool2d

__all__ = ["AvgPool2d", "MaxPool2d"]
