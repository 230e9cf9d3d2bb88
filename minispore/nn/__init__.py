"""Cells, layers, losses, optimizers, learning-rate schedules, and training steps."""

from minispore._metrics import *  # noqa: F403
from minispore.nn import (
    dynamic_lr,
    layer,
    learning_rate_schedule,
    loss,
    metrics,
    optim,
    wrap,
)
from minispore.nn.cell import Cell as Cell
from minispore.nn.dynamic_lr import *  # noqa: F403
from minispore.nn.layer import *  # noqa: F403
from minispore.nn.learning_rate_schedule import *  # noqa: F403
from minispore.nn.loss import *  # noqa: F403
from minispore.nn.optim import *  # noqa: F403
from minispore.nn.wrap import *  # noqa: F403

# Assigned by name: type checkers take a list of names that are not written here for an empty one.
_PARTS = (dynamic_lr, layer, learning_rate_schedule, loss, metrics, optim, wrap)
globals()["__all__"] = ["Cell", *(name for part in _PARTS for name in part.__all__)]
