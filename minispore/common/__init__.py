"""Floor 4: tensors, parameters, data types, seed and context."""

from minispore.common.context import (
    GRAPH_MODE,
    PYNATIVE_MODE,
    get_context,
    set_context,
    set_device,
)
from minispore.common.parameter import Parameter, ParameterTuple
from minispore.common.seed import get_seed, set_seed
from minispore.common.tensor import Tensor

__all__ = [
    "GRAPH_MODE",
    "PYNATIVE_MODE",
    "Parameter",
    "ParameterTuple",
    "Tensor",
    "get_context",
    "get_seed",
    "set_context",
    "set_device",
    "set_seed",
]
