"""Operations with the names and arguments of NumPy's functions.

Their results differ from those of the operations in the type of integers: where none is given, they
are int32, as in MindSpore.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias

from minispore import ops
from minispore.engine.array import Axis
from minispore.engine.dispatch import check_tensor
from minispore.engine.dtypes import DTypeLike, float32, int32, int64
from minispore.ops.creation import Size
from minispore.ops.manipulation import normalize_axis_index
from minispore.ops.tensors import Tensor
from minispore.utils.checks import as_items, check_int, check_type

__all__ = [
    "abs", "arange", "argmax", "argmin", "bitwise_and", "ceil", "concatenate", "exp",
    "expand_dims", "full", "log", "norm", "ones", "roll", "split", "stack", "tile", "where",
    "zeros",
]  # fmt: skip

Number: TypeAlias = int | float | bool


def arange(
    start: Number,
    stop: Number | None = None,
    step: Number | None = None,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Return evenly spaced numbers from `start` to below `stop`.

    Args:
        start: The first number; without `stop` the end, and the first number is 0.
        stop: The end, which is not included.
        step: The difference of two numbers; None for 1.
        dtype: The data type; None for int32, or float32 if an argument is a float.

    Returns:
        A tensor with one axis.

    Examples:
        >>> from minispore import numpy as mnp
        >>> mnp.arange(1, 7, 2)
        Tensor(shape=[3], dtype=Int32, value= [1, 3, 5])

    Source: MindSpore's `mindspore.numpy.arange`.
    """
    numbers = [number for number in (start, stop, step) if number is not None]
    for number in numbers:
        check_type(number, (int, float), "start")
    if dtype is None:
        dtype = float32 if any(isinstance(number, float) for number in numbers) else int32
    first, end = (0, start) if stop is None else (start, stop)
    return ops.arange(first, end, 1 if step is None else step, dtype=dtype)


def zeros(shape: Size, dtype: DTypeLike = float32) -> Tensor:
    """Return a tensor of zeros.

    Args:
        shape: The shape, an int or ints.
        dtype: The data type.

    Returns:
        A tensor of that shape and type.

    Examples:
        >>> from minispore import numpy as mnp
        >>> mnp.zeros((1, 2)).tolist()
        [[0.0, 0.0]]

    Source: MindSpore's `mindspore.numpy.zeros`.
    """
    return ops.zeros(shape, dtype)


def ones(shape: Size, dtype: DTypeLike = float32) -> Tensor:
    """Return a tensor of ones.

    Args:
        shape: The shape, an int or ints.
        dtype: The data type.

    Returns:
        A tensor of that shape and type.

    Examples:
        >>> from minispore import numpy as mnp
        >>> mnp.ones(2).tolist()
        [1.0, 1.0]

    Source: MindSpore's `mindspore.numpy.ones`.
    """
    return ops.ones(shape, dtype)


def full(shape: Size, fill_value: Number, dtype: DTypeLike | None = None) -> Tensor:
    """Return a tensor filled with a number.

    Args:
        shape: The shape, an int or ints.
        fill_value: The number.
        dtype: The data type; None for int32, float32 or bool, whichever holds the number.

    Returns:
        A tensor of that shape and type.

    Examples:
        >>> from minispore import numpy as mnp
        >>> mnp.full(2, 7)
        Tensor(shape=[2], dtype=Int32, value= [7, 7])

    Source: MindSpore's `mindspore.numpy.full`.
    """
    return _with_int32(ops.full(shape, fill_value, dtype=dtype), dtype)


def where(
    condition: Tensor, x: Tensor | Number | None = None, y: Tensor | Number | None = None
) -> Tensor:
    """Return the elements of `x` where the condition holds, and of `y` elsewhere.

    Args:
        condition: A tensor.
        x: A tensor or number.
        y: A tensor or number.

    Returns:
        A tensor of the broadcast shape.

    Raises:
        TypeError: `x` or `y` is not given.

    Examples:
        >>> from minispore import Tensor, numpy as mnp
        >>> mnp.where(Tensor([True, False]), Tensor([1.0, 2.0]), 0.0).tolist()
        [1.0, 0.0]

    Source: MindSpore's `mindspore.numpy.where`.
    """
    if x is None or y is None:
        raise TypeError("For 'where', both 'x' and 'y' must be given.")
    result = ops.where(condition, x, y)
    return result if isinstance(x, Tensor) or isinstance(y, Tensor) else _with_int32(result, None)


def norm(
    x: Tensor, ord: float | str | None = None, axis: Axis = None, keepdims: bool = False
) -> Tensor:
    """Return a norm of vectors or matrices, as `ops.norm` does.

    Args:
        x: A tensor.
        ord: The order of the norm; None for the root of the sum of squares.
        axis: The axis of vectors, or the two axes of matrices; None for all.
        keepdims: Whether the reduced axes stay, with length 1.

    Returns:
        A tensor of the remaining shape.

    Examples:
        >>> from minispore import Tensor, numpy as mnp
        >>> mnp.norm(Tensor([[3.0, 4.0], [0.0, 2.0]]), axis=1).tolist()
        [5.0, 2.0]

    Source: MindSpore's `mindspore.numpy.norm`.
    """
    check_tensor(x, "x")
    return ops.norm(x, ord, axis, keepdims)


def argmin(a: Tensor, axis: int | None = None) -> Tensor:
    """Return the int32 index of the first minimum along an axis.

    Args:
        a: A tensor.
        axis: The axis; None for the index in the flattened tensor.

    Returns:
        A tensor of the remaining shape.

    Examples:
        >>> from minispore import Tensor, numpy as mnp
        >>> mnp.argmin(Tensor([3.0, 1.0, 2.0])).item()
        1

    Source: MindSpore's `mindspore.numpy.argmin`.
    """
    check_tensor(a, "a")
    return ops.cast(ops.argmin(a, axis), int32)


def argmax(a: Tensor, axis: int | None = None) -> Tensor:
    """Return the int64 index of the first maximum along an axis.

    Args:
        a: A tensor.
        axis: The axis; None for the index in the flattened tensor.

    Returns:
        A tensor of the remaining shape.

    Examples:
        >>> from minispore import Tensor, numpy as mnp
        >>> mnp.argmax(Tensor([3.0, 1.0, 2.0])).item()
        0

    Source: MindSpore's `mindspore.numpy.argmax`.
    """
    check_tensor(a, "a")
    return ops.argmax(a, axis)


def abs(x: Tensor, dtype: DTypeLike | None = None) -> Tensor:
    """Return the absolute value of each element.

    Args:
        x: A tensor.
        dtype: The data type of the result; None for that of `x`.

    Returns:
        A tensor of the same shape.

    Examples:
        >>> from minispore import Tensor, numpy as mnp
        >>> mnp.abs(Tensor([-1.5, 2.0])).tolist()
        [1.5, 2.0]

    Source: MindSpore's `mindspore.numpy.abs`.
    """
    return _elementwise(ops.abs, x, dtype)


def ceil(x: Tensor, dtype: DTypeLike | None = None) -> Tensor:
    """Return the least whole number that is not below each element.

    Args:
        x: A tensor.
        dtype: The data type of the result; None for that of `x`.

    Returns:
        A tensor of the same shape.

    Examples:
        >>> from minispore import Tensor, numpy as mnp
        >>> mnp.ceil(Tensor([-1.5, 1.5])).tolist()
        [-1.0, 2.0]

    Source: MindSpore's `mindspore.numpy.ceil`.
    """
    return _elementwise(ops.ceil, x, dtype)


def exp(x: Tensor, dtype: DTypeLike | None = None) -> Tensor:
    """Return the exponential of each element.

    Args:
        x: A tensor.
        dtype: The data type of the result; None for that of `x`, or float32 for integers.

    Returns:
        A tensor of the same shape.

    Examples:
        >>> from minispore import Tensor, numpy as mnp
        >>> mnp.exp(Tensor([0.0])).tolist()
        [1.0]

    Source: MindSpore's `mindspore.numpy.exp`.
    """
    return _elementwise(ops.exp, x, dtype)


def log(x: Tensor, dtype: DTypeLike | None = None) -> Tensor:
    """Return the natural logarithm of each element.

    Args:
        x: A tensor.
        dtype: The data type of the result; None for that of `x`, or float32 for integers.

    Returns:
        A tensor of the same shape.

    Examples:
        >>> from minispore import Tensor, numpy as mnp
        >>> mnp.log(Tensor([1.0])).tolist()
        [0.0]

    Source: MindSpore's `mindspore.numpy.log`.
    """
    return _elementwise(ops.log, x, dtype)


def bitwise_and(x1: Tensor, x2: Tensor | int | bool, dtype: DTypeLike | None = None) -> Tensor:
    """Return the bits that are set in both, of integers or bools.

    Args:
        x1: A tensor.
        x2: A tensor or number.
        dtype: The data type of the result; None for that which holds both.

    Returns:
        A tensor of the broadcast shape.

    Examples:
        >>> from minispore import Tensor, numpy as mnp
        >>> mnp.bitwise_and(Tensor([6, 5]), 3).tolist()
        [2, 1]

    Source: MindSpore's `mindspore.numpy.bitwise_and`.
    """
    check_tensor(x1, "x1")
    return _cast(ops.bitwise_and(x1, x2), dtype)


def tile(a: Tensor, reps: int | Sequence[int]) -> Tensor:
    """Return a tensor repeated along its axes.

    Args:
        a: A tensor.
        reps: How often, for each of the last axes; more numbers than axes add axes in front.

    Returns:
        A tensor of the same type.

    Examples:
        >>> from minispore import Tensor, numpy as mnp
        >>> mnp.tile(Tensor([1, 2]), 2).tolist()
        [1, 2, 1, 2]

    Source: MindSpore's `mindspore.numpy.tile`.
    """
    check_tensor(a, "a")
    counts = as_items(reps) or (reps,)
    return ops.tile(a, tuple([check_int(n, "reps", low=0) for n in counts]))


def expand_dims(a: Tensor, axis: int | Sequence[int]) -> Tensor:
    """Return a tensor with new axes of length 1.

    Args:
        a: A tensor.
        axis: The positions of the axes in the result.

    Returns:
        A tensor of the same elements.

    Examples:
        >>> from minispore import Tensor, numpy as mnp
        >>> mnp.expand_dims(Tensor([1, 2]), (0, 2)).shape
        (1, 2, 1)

    Source: MindSpore's `mindspore.numpy.expand_dims`.
    """
    check_tensor(a, "a")
    axes = as_items(axis) or (axis,)
    ndim = a.ndim + len(axes)
    places = {normalize_axis_index(place, ndim, "axis") for place in axes}
    for place in sorted(places):
        a = ops.expand_dims(a, place)
    return a


def roll(a: Tensor, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Tensor:
    """Return the elements moved along axes; those beyond the end come to the front.

    Args:
        a: A tensor.
        shift: How far, for each axis.
        axis: The axes; None for the flattened tensor, whose shape is restored.

    Returns:
        A tensor of the same shape and type.

    Examples:
        >>> from minispore import Tensor, numpy as mnp
        >>> mnp.roll(Tensor([1, 2, 3]), 1).tolist()
        [3, 1, 2]

    Source: MindSpore's `mindspore.numpy.roll`.
    """
    check_tensor(a, "a")
    return ops.roll(a, shift, axis)


def split(x: Tensor, indices_or_sections: int | Sequence[int], axis: int = 0) -> tuple[Tensor, ...]:
    """Return the parts of a tensor along an axis.

    Args:
        x: A tensor.
        indices_or_sections: The number of parts of one length, or the ascending indices where a
            part begins, except for the first one.
        axis: The axis.

    Returns:
        The parts.

    Raises:
        ValueError: The length is no multiple of the number, or the indices do not ascend in it.

    Examples:
        >>> from minispore import Tensor, numpy as mnp
        >>> [part.tolist() for part in mnp.split(Tensor([1, 2, 3, 4]), [1, 3])]
        [[1], [2, 3], [4]]

    Source: MindSpore's `mindspore.numpy.split`.
    """
    size = check_tensor(x, "x").shape[normalize_axis_index(axis, x.ndim, "axis")]
    indices = as_items(indices_or_sections)
    if indices is None:
        count = check_int(indices_or_sections, "indices_or_sections", low=1)
        if size % count:
            raise ValueError(
                f"For 'split', the argument 'indices_or_sections' must divide the length {size} of "
                f"the axis, but got {count}."
            )
        return ops.split(x, size // count, axis)
    ends = [0, *(check_int(i, "indices_or_sections", low=1, high=size) for i in indices), size]
    return ops.split(x, [end - begin for begin, end in pairwise(ends)], axis)


def concatenate(arrays: Sequence[Tensor], axis: int | None = 0) -> Tensor:
    """Return tensors joined along an axis.

    Args:
        arrays: The tensors.
        axis: The axis; None joins the flattened tensors.

    Returns:
        A tensor of the type that holds all elements.

    Examples:
        >>> from minispore import Tensor, numpy as mnp
        >>> mnp.concatenate((Tensor([1, 2]), Tensor([3]))).tolist()
        [1, 2, 3]

    Source: MindSpore's `mindspore.numpy.concatenate`.
    """
    if axis is None:
        return ops.cat([ops.reshape(array, (-1,)) for array in arrays])
    return ops.cat(arrays, axis)


def stack(arrays: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Return tensors joined along a new axis.

    Args:
        arrays: Tensors of one shape.
        axis: The position of the new axis.

    Returns:
        A tensor of the type that holds all elements.

    Examples:
        >>> from minispore import Tensor, numpy as mnp
        >>> mnp.stack((Tensor([1, 2]), Tensor([3, 4])), 1).tolist()
        [[1, 3], [2, 4]]

    Source: MindSpore's `mindspore.numpy.stack`.
    """
    return ops.stack(arrays, axis)


def _elementwise(
    function: Callable[[Tensor], Tensor], x: Tensor, dtype: DTypeLike | None
) -> Tensor:
    check_tensor(x, "x")
    return _cast(function(x), dtype)


def _cast(x: Tensor, dtype: DTypeLike | None) -> Tensor:
    return x if dtype is None else ops.cast(x, dtype)


def _with_int32(x: Tensor, dtype: DTypeLike | None) -> Tensor:
    """Return a tensor that was made of numbers, with integers in int32 unless a type is given."""
    return ops.cast(x, int32) if dtype is None and x.dtype == int64 else x
