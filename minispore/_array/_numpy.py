"""numpy as a device namespace: its own functions, under the names of the contract."""

import builtins
from types import EllipsisType
from typing import cast

import numpy as np
from numpy import (
    abs,
    add,
    all,
    any,
    arange,
    argmax,
    argmin,
    asarray,
    astype,
    bitwise_and,
    bitwise_invert,
    bitwise_or,
    bitwise_xor,
    broadcast_to,
    concat,
    copyto,
    divide,
    empty,
    empty_like,
    equal,
    exp,
    expand_dims,
    eye,
    floor,
    floor_divide,
    full,
    isfinite,
    isinf,
    isnan,
    log,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    max,
    maximum,
    mean,
    min,
    minimum,
    multiply,
    not_equal,
    ones,
    ones_like,
    permute_dims,
    remainder,
    reshape,
    round,
    sign,
    sqrt,
    square,
    squeeze,
    stack,
    subtract,
    sum,
    tanh,
    trunc,
    where,
    zeros,
    zeros_like,
)
from numpy.typing import NDArray

__all__ = [
    "abs",
    "add",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "asarray",
    "astype",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_or",
    "bitwise_xor",
    "broadcast_to",
    "concat",
    "copyto",
    "divide",
    "empty",
    "empty_like",
    "equal",
    "exp",
    "expand_dims",
    "eye",
    "floor",
    "floor_divide",
    "full",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "multiply",
    "not_equal",
    "ones",
    "ones_like",
    "permute_dims",
    "remainder",
    "reshape",
    "round",
    "sign",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "subtract",
    "sum",
    "tanh",
    "trunc",
    "where",
    "zeros",
    "zeros_like",
    "assign",
    "constant",
    "scatter",
]

Floats = NDArray[np.generic]


def constant(x: Floats, /) -> Floats:
    """An array carries no graph, so it is a constant already."""
    return x


def scatter(values: Floats, /, *, index: tuple[object, ...], shape: tuple[int, ...]) -> Floats:
    """Zeros of `shape` with `values` added at `index`; positions named twice add up."""
    out = zeros(shape, values.dtype)
    if _is_basic(index):
        # Basic indices name each position once: assignment is the same and far faster.
        out[cast("tuple[slice, ...]", index)] = values
    else:
        # ufunc.at takes any index that `[]` takes, but its stub says only integers.
        np.add.at(out, cast("list[int]", index), values)
    return out


def assign(destination: Floats, index: tuple[object, ...], value: Floats | float, /) -> None:
    """`destination[index] = value`."""
    destination[cast("tuple[slice, ...]", index)] = value


def _is_basic(index: tuple[object, ...]) -> bool:
    return builtins.all(
        item is None or isinstance(item, int | slice | EllipsisType) for item in index
    )
