"""Tensors on the diagonals of zeros."""

from __future__ import annotations

from math import prod

from minispore.engine.array import device_namespace
from minispore.engine.dispatch import apply1, check_tensor, shape_error
from minispore.engine.dtypes import int64
from minispore.engine.rules import indexing as rules
from minispore.ops.manipulation import movedim, normalize_axis_index, reshape
from minispore.ops.tensors import Tensor
from minispore.utils.checks import INT32_MAX, check_int

__all__ = ["diag", "diag_embed", "diagflat"]


def diag(input: Tensor) -> Tensor:
    """Return zeros with twice the axes of `input`, and its elements where equal indices repeat.

    Of a vector it is the matrix with the vector on its diagonal. `diagonal` is the reverse.

    Args:
        input: A tensor with one axis or more.

    Returns:
        A tensor of shape (*input.shape, *input.shape) and of the same type.

    Raises:
        ValueError: `input` has no axes.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.diag(Tensor([1, 2])).tolist()
        [[1, 0], [0, 2]]

    Source: MindSpore's `mindspore.ops.diag`.
    """
    check_tensor(input)
    if input.ndim == 0:
        raise shape_error(input, "input", "have axes")
    return reshape(diagflat(input), input.shape * 2)


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """Return a square matrix of zeros with all elements of `input` on a diagonal.

    Args:
        input: A tensor of any shape.
        offset: Which diagonal: 1 is the one above the main diagonal.

    Returns:
        A matrix of the same type.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.diagflat(Tensor([1, 2]), 1).tolist()
        [[0, 1, 0], [0, 0, 2], [0, 0, 0]]

    Source: MindSpore's `mindspore.ops.diagflat`.
    """
    check_tensor(input)
    check_int(offset, "offset", low=-INT32_MAX, high=INT32_MAX)
    return _matrices(reshape(input, (prod(input.shape),)), offset)


def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return square matrices of zeros with the vectors along the last axis on a diagonal.

    Args:
        input: A tensor with one axis or more.
        offset: Which diagonal: 1 is the one above the main diagonal.
        dim1: The axis of the rows in the result.
        dim2: The axis of the columns in the result.

    Returns:
        A tensor with one more axis, of the same type.

    Raises:
        ValueError: `input` has no axes, or the axes are equal or out of range.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.diag_embed(Tensor([[1, 2], [3, 4]])).tolist()
        [[[1, 0], [0, 2]], [[3, 0], [0, 4]]]

    Source: MindSpore's `mindspore.ops.diag_embed`.
    """
    check_tensor(input)
    check_int(offset, "offset", low=-INT32_MAX, high=INT32_MAX)
    if input.ndim == 0:
        raise shape_error(input, "input", "have axes")
    row = normalize_axis_index(dim1, input.ndim + 1, "dim1")
    column = normalize_axis_index(dim2, input.ndim + 1, "dim2")
    if row == column:
        raise ValueError(f"For 'diag_embed', 'dim1' and 'dim2' must differ, but both are {dim1}.")
    return movedim(_matrices(input, offset), (-2, -1), (row, column))


def _matrices(x: Tensor, offset: int) -> Tensor:
    """Return a matrix of each vector along the last axis."""
    length = x.shape[-1]
    places = device_namespace(x._data).arange(0, length, 1, int64.numpy_dtype)
    size = length + abs(offset)
    index = (..., places + max(-offset, 0), places + max(offset, 0))
    return apply1(rules.scatter_add, x, index, (*x.shape[:-1], size, size))
