# The names of the module; each is imported when it is first used.

from minispore.nn.loss._base import *
from minispore.nn.loss.cross_entropy import *
from minispore.nn.loss.loss import *
