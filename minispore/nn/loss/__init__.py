"""The loss functions."""

from minispore.nn.loss import loss
from minispore.nn.loss.loss import *  # noqa: F403
from minispore.utils.unsupported import module_attributes

# Assigned by name; see `minispore.nn`.
globals()["__all__"] = loss.__all__
globals()["__getattr__"], globals()["__dir__"] = module_attributes(__name__)
