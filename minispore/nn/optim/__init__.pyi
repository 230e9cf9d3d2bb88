# The names of the module; each is imported when it is first used.

from minispore.nn.optim.ada_grad import Adagrad as Adagrad
from minispore.nn.optim.adadelta import Adadelta as Adadelta
from minispore.nn.optim.adam import Adam as Adam
from minispore.nn.optim.adam import AdamWeightDecay as AdamWeightDecay
from minispore.nn.optim.adamax import AdaMax as AdaMax
from minispore.nn.optim.momentum import Momentum as Momentum
from minispore.nn.optim.optimizer import Optimizer as Optimizer
from minispore.nn.optim.rmsprop import RMSProp as RMSProp
from minispore.nn.optim.sgd import SGD as SGD
