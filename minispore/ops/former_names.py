"""Functions that MindSpore has under another name as well, as its older scripts call them."""

from collections.abc import Sequence

from minispore.engine.array import Axis
from minispore.engine.dispatch import check_tensor, dtype_of
from minispore.ops import arithmetic, reduction
from minispore.ops.tensors import Tensor
from minispore.utils.checks import as_items, caller, check_bool, type_error, value_error

__all__ = ["addn", "reduce_max", "reduce_mean", "reduce_min", "reduce_sum", "top_k"]


def reduce_sum(x: Tensor, axis: Axis = ()) -> Tensor:
    """Return the sum over axes in the data type of the tensor, as `ReduceSum` does.

    Args:
        x: A tensor of any shape.
        axis: The axis or axes to reduce; () for all.

    Returns:
        A tensor of the remaining shape and the same type.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.reduce_sum(Tensor([[1.0, 3.0], [4.0, 2.0]]), 1).tolist()
        [4.0, 6.0]

    Source: MindSpore's `mindspore.ops.reduce_sum`.
    """
    check_tensor(x, "x")
    return reduction.sum(x, axis, dtype=dtype_of(x))


def reduce_mean(x: Tensor, axis: Axis = ()) -> Tensor:
    """Return the mean over axes, as `mean` does.

    Args:
        x: A tensor of numbers of any shape.
        axis: The axis or axes to reduce; () for all.

    Returns:
        A tensor of the remaining shape and the same type.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.reduce_mean(Tensor([[1.0, 3.0], [4.0, 2.0]]), 1).tolist()
        [2.0, 3.0]

    Source: MindSpore's `mindspore.ops.reduce_mean`.
    """
    return reduction.mean(x, axis)


def reduce_max(x: Tensor, axis: Axis = ()) -> Tensor:
    """Return the maximum over axes, as `amax` does.

    Args:
        x: A tensor of any shape.
        axis: The axis or axes to reduce; () for all.

    Returns:
        A tensor of the remaining shape and the same type.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.reduce_max(Tensor([[1.0, 3.0], [4.0, 2.0]]), 1).tolist()
        [3.0, 4.0]

    Source: MindSpore's `mindspore.ops.reduce_max`.
    """
    check_tensor(x, "x")
    return reduction.amax(x, axis)


def reduce_min(x: Tensor, axis: Axis = ()) -> Tensor:
    """Return the minimum over axes, as `amin` does.

    Args:
        x: A tensor of any shape.
        axis: The axis or axes to reduce; () for all.

    Returns:
        A tensor of the remaining shape and the same type.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.reduce_min(Tensor([[1.0, 3.0], [4.0, 2.0]]), 1).tolist()
        [1.0, 2.0]

    Source: MindSpore's `mindspore.ops.reduce_min`.
    """
    check_tensor(x, "x")
    return reduction.amin(x, axis)


def top_k(input_x: Tensor, k: int, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """Return the `k` largest elements along the last axis, in order, and their indices.

    Args:
        input_x: A tensor of numbers with at least one axis.
        k: How many elements.
        sorted: Accepted and ignored: the elements are always in order.

    Returns:
        The elements, and their int32 indices along the axis.

    Raises:
        ValueError: `k` is not from 1 to the length of the axis.

    Examples:
        >>> from minispore import Tensor, ops
        >>> [x.tolist() for x in ops.top_k(Tensor([3, 1, 2]), 2)]
        [[3, 2], [0, 2]]

    Source: MindSpore's `mindspore.ops.top_k`.
    """
    check_tensor(input_x, "input_x")
    check_bool(sorted, "sorted")
    return reduction.topk(input_x, k)


def addn(x: Sequence[Tensor]) -> Tensor:
    """Return the sum of tensors of one shape and data type.

    Args:
        x: A tuple or list of tensors, at least one.

    Returns:
        A tensor of the same shape and type; of bools it is the logical or.

    Raises:
        TypeError: `x` is no tuple or list of tensors, or their types differ.
        ValueError: There are none, or their shapes differ.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.addn([Tensor([1, 2]), Tensor([3, 4]), Tensor([5, 6])]).tolist()
        [9, 12]

    Source: MindSpore's `mindspore.ops.addn`.
    """
    items = as_items(x)
    tensors = [item for item in items or () if isinstance(item, Tensor)]
    if items is None or len(tensors) < len(items):
        raise type_error(x, "x", "be a tuple or list of tensors")
    if not tensors:
        raise value_error(x, "x", "have at least one tensor")
    first, *others = tensors
    for other in others:
        if other.dtype != first.dtype or other.shape != first.shape:
            kind = TypeError if other.dtype != first.dtype else ValueError
            raise kind(
                f"For '{caller()}', the tensors of the argument 'x' must have one shape and type, "
                f"but got {first.shape} of {first.dtype} and {other.shape} of {other.dtype}."
            )
    total = first.copy()
    for other in others:
        total = arithmetic.add(total, other)
    return total
