"""Cells, layers, losses, optimizers, learning-rate schedules, and training steps."""

from minispore._metrics import *  # noqa: F403
from minispore.nn import metrics as metrics
from minispore.nn.cell import Cell as Cell
from minispore.nn.dynamic_lr import *  # noqa: F403
from minispore.nn.layer import *  # noqa: F403
from minispore.nn.learning_rate_schedule import *  # noqa: F403
from minispore.nn.loss import *  # noqa: F403
from minispore.nn.optim import *  # noqa: F403
from minispore.nn.wrap import *  # noqa: F403
