"""The loss functions."""

from minispore.nn.loss.loss import *  # noqa: F403
