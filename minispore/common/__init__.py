"""Tensors, parameters, initializers, data types, the random seed and the context."""

# First, since `Tensor` is made of operations, and is complete before those that create tensors.
import minispore.ops as _ops  # noqa: F401  # pyright: ignore[reportUnusedImport]
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
