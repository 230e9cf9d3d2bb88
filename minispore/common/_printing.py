"""The text of a tensor, as MindSpore prints it."""

from collections.abc import Callable
from math import isfinite
from typing import SupportsFloat

import numpy as np
from numpy.typing import NDArray

from minispore import _dtype


def tensor_repr(values: NDArray[np.generic]) -> str:
    """Shape, type and values: what a tensor is.

    >>> tensor_repr(np.array([1, -2]))
    'Tensor(shape=[2], dtype=Int64, value= [ 1, -2])'
    """
    shape = ", ".join(str(n) for n in values.shape)
    head = f"Tensor(shape=[{shape}], dtype={_dtype.of(values.dtype)}, value="
    if values.ndim == 0:
        return f"{head} {_scalar(values)})"
    if values.size == 0:
        return f"{head} )" if values.ndim == 1 else f"{head}\n)"
    text = np.array2string(
        values,
        separator=", ",
        max_line_width=1 << 30,
        formatter={"float_kind": _float_format(values)},
    )
    # Between the values left out MindSpore writes no commas.
    text = text.replace(", ..., ", " ... ").replace("...,\n", "...\n")
    return f"{head}{' ' if values.ndim == 1 else chr(10)}{text})"


def _scalar(values: NDArray[np.generic]) -> str:
    value = values.item()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _float_format(values: NDArray[np.generic]) -> Callable[[SupportsFloat], str]:
    digits = 4 if values.dtype.itemsize == 2 else 8
    # A sign, a digit, a point, the digits and an exponent of four; without them `nan` and `inf`.
    width = digits + 7

    def text(element: SupportsFloat) -> str:
        value = float(element)
        return f"{value: .{digits}e}" if isfinite(value) else f"{value:>{width}}"

    return text
