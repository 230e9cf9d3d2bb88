# The names of the module; each is imported when it is first used.

from minispore.nn.optim.ada_grad import *
from minispore.nn.optim.adadelta import *
from minispore.nn.optim.adam import *
from minispore.nn.optim.adamax import *
from minispore.nn.optim.momentum import *
from minispore.nn.optim.optimizer import *
from minispore.nn.optim.rmsprop import *
from minispore.nn.optim.sgd import *
