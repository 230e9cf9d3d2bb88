# The names of the module; each is imported when it is first used.

from minispore.common import numpy_protocol as numpy_protocol
from minispore.common import printing as printing
from minispore.common.context import GRAPH_MODE as GRAPH_MODE
from minispore.common.context import PYNATIVE_MODE as PYNATIVE_MODE
from minispore.common.context import get_context as get_context
from minispore.common.context import set_context as set_context
from minispore.common.context import set_device as set_device
from minispore.graph.jit import jit as jit
from minispore.ops.parameter import Parameter as Parameter
from minispore.ops.parameter import ParameterTuple as ParameterTuple
from minispore.ops.seed import get_seed as get_seed
from minispore.ops.seed import set_seed as set_seed
from minispore.ops.tensors import Tensor as Tensor
