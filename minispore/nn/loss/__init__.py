"""The loss functions."""

from minispore.nn.loss import loss
from minispore.nn.loss.loss import *  # noqa: F403

# Assigned by name; see `minispore.nn`.
globals()["__all__"] = loss.__all__
