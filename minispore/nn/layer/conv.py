"""Where MindSpore keeps the convolutions."""

from minispore.nn.convolution import Conv2d

__all__ = ["Conv2d"]
