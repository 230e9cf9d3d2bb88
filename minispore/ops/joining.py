"""Tensors joined as rows, columns or layers: those with fewer axes get more."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from minispore.engine.array import Shape
from minispore.ops.manipulation import join, promote_tensors, reshape
from minispore.ops.tensors import Tensor

__all__ = ["column_stack", "dstack", "hstack", "row_stack", "vstack"]


def vstack(inputs: Sequence[Tensor]) -> Tensor:
    """Return tensors stacked vertically, along the first axis; a vector is one row.

    Args:
        inputs: A list or tuple of tensors whose other axes have equal lengths.

    Returns:
        A tensor of their promoted type with two axes or more.

    Raises:
        ValueError: There is no tensor, or their other lengths differ.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.vstack([Tensor([1, 2]), Tensor([3, 4])]).tolist()
        [[1, 2], [3, 4]]

    Source: MindSpore's `mindspore.ops.vstack`.
    """
    return _join(inputs, "inputs", _as_rows, 0)


def row_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Return `vstack(tensors)`.

    Args:
        tensors: A list or tuple of tensors whose other axes have equal lengths.

    Returns:
        A tensor of their promoted type with two axes or more.

    Raises:
        ValueError: There is no tensor, or their other lengths differ.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.row_stack([Tensor([1, 2]), Tensor([3, 4])]).tolist()
        [[1, 2], [3, 4]]

    Source: MindSpore's `mindspore.ops.row_stack`.
    """
    return _join(tensors, "tensors", _as_rows, 0)


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Return tensors stacked horizontally, along the second axis; vectors along their only one.

    Args:
        tensors: A list or tuple of tensors whose other axes have equal lengths.

    Returns:
        A tensor of their promoted type with one axis or more.

    Raises:
        ValueError: There is no tensor, or their other lengths differ.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.hstack([Tensor([[1], [2]]), Tensor([[3], [4]])]).tolist()
        [[1, 3], [2, 4]]
        >>> ops.hstack([Tensor([1, 2]), Tensor([3, 4])]).tolist()
        [1, 2, 3, 4]

    Source: MindSpore's `mindspore.ops.hstack`.
    """
    return _join(tensors, "tensors", lambda shape: shape or (1,), 1)


def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Return tensors joined along the third axis; a vector is one row, and has one layer.

    Args:
        tensors: A list or tuple of tensors whose other axes have equal lengths.

    Returns:
        A tensor of their promoted type with three axes or more.

    Raises:
        ValueError: There is no tensor, or their other lengths differ.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.dstack([Tensor([1, 2]), Tensor([3, 4])]).tolist()
        [[[1, 3], [2, 4]]]

    Source: MindSpore's `mindspore.ops.dstack`.
    """

    def with_layers(shape: Shape) -> Shape:
        matrix = _as_rows(shape)
        return matrix if len(matrix) > 2 else (*matrix, 1)

    return _join(tensors, "tensors", with_layers, 2)


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Return tensors stacked horizontally, along the second axis; a vector is one column.

    Args:
        tensors: A list or tuple of tensors whose other axes have equal lengths.

    Returns:
        A tensor of their promoted type with two axes or more.

    Raises:
        ValueError: There is no tensor, or their other lengths differ.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.column_stack([Tensor([1, 2]), Tensor([3, 4])]).tolist()
        [[1, 3], [2, 4]]

    Source: MindSpore's `mindspore.ops.column_stack`.
    """

    def with_columns(shape: Shape) -> Shape:
        return shape if len(shape) > 1 else (*(shape or (1,)), 1)

    return _join(tensors, "tensors", with_columns, 1)


def _as_rows(shape: Shape) -> Shape:
    """Return a shape with two axes or more: a vector is one row."""
    return (1,) * (2 - len(shape)) + shape


def _join(
    tensors: Sequence[Tensor], name: str, with_axes: Callable[[Shape], Shape], axis: int
) -> Tensor:
    """Return tensors joined along an axis, or along their last one if they have fewer axes."""
    parts = [reshape(x, with_axes(x.shape)) for x in promote_tensors(tensors, name)]
    return join(parts, min(axis, parts[0].ndim - 1))
