"""MindSpore's older form of operations, which scripts import as P: one is made, and then called.

`ReLU()(x)` is `relu(x)`, and `Softmax(0)(x)` is `softmax(x, 0)`: first come the settings, later the
tensors. What is wrong with these is said by the function.
"""

from collections.abc import Callable
from typing import Final, Generic, ParamSpec, TypeVar

from minispore._dtype import DTypeLike
from minispore._functional import arithmetic, comparison, elementwise, shape
from minispore._functional.indexing import gather_elements
from minispore._functional.operands import Number
from minispore._functional.repeating import tile
from minispore._left_out import refusing
from minispore.common.tensor import Tensor
from minispore.ops import _properties
from minispore.ops._assign import assign
from minispore.ops._creation import full, ones, ones_like, zeros, zeros_like
from minispore.ops._grad_operation import GradOperation
from minispore.ops._summary import HistogramSummary, ImageSummary, ScalarSummary, TensorSummary
from minispore.ops._with_settings import (
    Argmax,
    BatchMatMul,
    BroadcastTo,
    Concat,
    Gather,
    LogSoftmax,
    MatMul,
    OneHot,
    ReduceAll,
    ReduceAny,
    ReduceMax,
    ReduceMean,
    ReduceMin,
    ReduceSum,
    Softmax,
    Squeeze,
    Stack,
    TopK,
)

P = ParamSpec("P")
R = TypeVar("R")


class _Plain(Generic[P, R]):
    """An operation without settings."""

    def __init__(self, name: str, function: Callable[P, R]) -> None:
        self._name = name
        self._function = function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Prim[{self._name}]"


def _plain(name: str, function: Callable[P, R]) -> Callable[[], Callable[P, R]]:
    """What makes an operation without settings."""

    def make() -> Callable[P, R]:
        return _Plain(name, function)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"`{function.__name__}`."
    return make


def _filled(dtype: DTypeLike, dims: tuple[int, ...], x: Number) -> Tensor:
    return full(dims, x, dtype=dtype)


Abs: Final = _plain("Abs", elementwise.abs)
Cos: Final = _plain("Cos", elementwise.cos)
Exp: Final = _plain("Exp", elementwise.exp)
Flatten: Final = _plain("Flatten", shape.flatten)
Floor: Final = _plain("Floor", elementwise.floor)
Log: Final = _plain("Log", elementwise.log)
LogicalNot: Final = _plain("LogicalNot", comparison.logical_not)
Neg: Final = _plain("Neg", arithmetic.neg)
OnesLike: Final = _plain("OnesLike", ones_like)
ReLU: Final = _plain("ReLU", elementwise.relu)
Sigmoid: Final = _plain("Sigmoid", elementwise.sigmoid)
Sign: Final = _plain("Sign", elementwise.sign)
Sin: Final = _plain("Sin", elementwise.sin)
Sqrt: Final = _plain("Sqrt", elementwise.sqrt)
Square: Final = _plain("Square", elementwise.square)
StopGradient: Final = _plain("StopGradient", elementwise.stop_gradient)
Tanh: Final = _plain("Tanh", elementwise.tanh)
ZerosLike: Final = _plain("ZerosLike", zeros_like)

Add: Final = _plain("Add", arithmetic.add)
Div: Final = _plain("Div", arithmetic.div)
Equal: Final = _plain("Equal", comparison.equal)
FloorDiv: Final = _plain("FloorDiv", arithmetic.floor_divide)
Greater: Final = _plain("Greater", comparison.greater)
GreaterEqual: Final = _plain("GreaterEqual", comparison.greater_equal)
Less: Final = _plain("Less", comparison.less)
LessEqual: Final = _plain("LessEqual", comparison.less_equal)
LogicalAnd: Final = _plain("LogicalAnd", comparison.logical_and)
LogicalOr: Final = _plain("LogicalOr", comparison.logical_or)
Maximum: Final = _plain("Maximum", arithmetic.maximum)
Minimum: Final = _plain("Minimum", arithmetic.minimum)
Mul: Final = _plain("Mul", arithmetic.mul)
NotEqual: Final = _plain("NotEqual", comparison.not_equal)
Pow: Final = _plain("Pow", arithmetic.pow)
RealDiv: Final = _plain("RealDiv", arithmetic.div)
Sub: Final = _plain("Sub", arithmetic.sub)

Assign: Final = _plain("Assign", assign)
Cast: Final = _plain("Cast", elementwise.cast)
ExpandDims: Final = _plain("ExpandDims", shape.expand_dims)
Fill: Final = _plain("Fill", _filled)
GatherD: Final = _plain("GatherD", gather_elements)
Ones: Final = _plain("Ones", ones)
Rank: Final = _plain("Rank", _properties.rank)
Reshape: Final = _plain("Reshape", shape.reshape)
Select: Final = _plain("Select", arithmetic.where)
Shape: Final = _plain("Shape", _properties.shape)
Size: Final = _plain("Size", _properties.size)
Tile: Final = _plain("Tile", tile)
Transpose: Final = _plain("Transpose", shape.permute)
Zeros: Final = _plain("Zeros", zeros)

__all__ = [
    "Abs",
    "Add",
    "Argmax",
    "Assign",
    "BatchMatMul",
    "BroadcastTo",
    "Cast",
    "Concat",
    "Cos",
    "Div",
    "Equal",
    "Exp",
    "ExpandDims",
    "Fill",
    "Flatten",
    "Floor",
    "FloorDiv",
    "Gather",
    "GatherD",
    "GradOperation",
    "Greater",
    "GreaterEqual",
    "HistogramSummary",
    "ImageSummary",
    "Less",
    "LessEqual",
    "Log",
    "LogSoftmax",
    "LogicalAnd",
    "LogicalNot",
    "LogicalOr",
    "MatMul",
    "Maximum",
    "Minimum",
    "Mul",
    "Neg",
    "NotEqual",
    "OneHot",
    "Ones",
    "OnesLike",
    "Pow",
    "Rank",
    "ReLU",
    "RealDiv",
    "ReduceAll",
    "ReduceAny",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceSum",
    "Reshape",
    "ScalarSummary",
    "Select",
    "Shape",
    "Sigmoid",
    "Sign",
    "Sin",
    "Size",
    "Softmax",
    "Sqrt",
    "Square",
    "Squeeze",
    "Stack",
    "StopGradient",
    "Sub",
    "Tanh",
    "TensorSummary",
    "Tile",
    "TopK",
    "Transpose",
    "Zeros",
    "ZerosLike",
]

# In a dictionary, since a definition would tell type checkers that there is every attribute.
globals()["__getattr__"] = refusing(
    __name__,
    {},
    "there are those of MindSpore's operations in this form that older tutorials' networks need; "
    "look for a function in 'minispore.ops'",
)
