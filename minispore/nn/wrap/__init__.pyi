# The names of the module; each is imported when it is first used.

from minispore.nn.wrap.cell_wrapper import *
from minispore.nn.wrap.grad_reducer import *
from minispore.nn.wrap.loss_scale import *
