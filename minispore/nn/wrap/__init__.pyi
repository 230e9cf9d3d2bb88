# The names of the module; each is imported when it is first used.

from minispore.nn.wrap.cell_wrapper import *
from minispore.nn.wrap.grad_reducer import *
from minispore.nn.wrap.loss_scale import DynamicLossScaleUpdateCell as DynamicLossScaleUpdateCell
from minispore.nn.wrap.loss_scale import FixedLossScaleUpdateCell as FixedLossScaleUpdateCell
from minispore.nn.wrap.loss_scale import (
    TrainOneStepWithLossScaleCell as TrainOneStepWithLossScaleCell,
)
