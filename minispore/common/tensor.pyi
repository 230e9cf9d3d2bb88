# The names of the module; each is imported when it is first used.

from minispore.ops.tensors import Tensor as Tensor
from minispore.ops.tensors import from_numpy as from_numpy
from minispore.ops.tensors import tensor as tensor
