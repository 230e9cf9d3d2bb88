# The names of the module; each is imported when it is first used.

from minispore._metrics import *
from minispore.nn import _multi_output_vjp as _multi_output_vjp
from minispore.nn import metrics as metrics
from minispore.nn.cell import Cell as Cell
from minispore.nn.dynamic_lr import *
from minispore.nn.layer import *
from minispore.nn.learning_rate_schedule import *
from minispore.nn.loss import *
from minispore.nn.optim import *
from minispore.nn.wrap import *
from minispore.nn.wrap.loss_scale import DynamicLossScaleUpdateCell as DynamicLossScaleUpdateCell
from minispore.nn.wrap.loss_scale import FixedLossScaleUpdateCell as FixedLossScaleUpdateCell
from minispore.nn.wrap.loss_scale import (
    TrainOneStepWithLossScaleCell as TrainOneStepWithLossScaleCell,
)
