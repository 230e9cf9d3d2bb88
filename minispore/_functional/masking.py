"""A tensor with the elements under a mask replaced by one value."""

from minispore import _dtype
from minispore._array import device_namespace
from minispore._checks import check_int, check_type
from minispore._functional.apply import apply3, unfit
from minispore._functional.operands import Number, cast_to, dtype_of, pair
from minispore._functional.variable import T, Variable, check_tensor, wrap
from minispore._rules.arithmetic import where


def masked_fill(input_x: T, mask: Variable, value: T | Number) -> T:
    """`value` where `mask` holds, `input_x` elsewhere, in the type of `input_x`.

    >>> from minispore import Tensor, ops
    >>> ops.masked_fill(Tensor([1.0, 2.0]), Tensor([True, False]), -1.0)
    Tensor(shape=[2], dtype=Float32, value= [-1.00000000e+00,  2.00000000e+00])

    Source: MindSpore's `mindspore.ops.masked_fill`.

    Args:
        input_x: The tensor.
        mask: Bools, whose shape broadcasts with that of `input_x`.
        value: A number, or a tensor without axes; the gradient flows to that, too.

    Raises:
        TypeError: `input_x` or `mask` is no tensor, the mask is not of bools, or `value` neither a
            number nor a tensor, or of a kind that the type of `input_x` cannot hold.
        ValueError: The shapes do not broadcast, or `value` has axes or does not fit.
    """
    owner = "masked_fill"
    check_tensor(input_x, owner, "input_x")
    check_tensor(mask, owner, "mask")
    if dtype_of(mask) is not _dtype.bool_:
        raise TypeError(
            f"For '{owner}', the argument 'mask' must be a Tensor of bools, "
            f"but got {dtype_of(mask)!r}."
        )
    if not isinstance(value, Variable):
        check_type(value, (Variable, bool, int, float), "value", owner)
        filling = pair(input_x, value, owner)[1]
    elif value.ndim:
        raise ValueError(
            f"For '{owner}', a Tensor 'value' must have no axes, but its shape is {value.shape}."
        )
    else:
        filling = value
    own = dtype_of(input_x)
    if dtype_of(filling).category > own.category:
        raise TypeError(
            f"For '{owner}', the argument 'value' must fit the type of 'input_x', {own!r}, "
            f"but got {dtype_of(filling)!r}."
        )
    try:
        return apply3(where, wrap(mask._data, input_x), cast_to(filling, own), input_x)
    except ValueError:
        raise unfit(owner, input_x.shape, mask.shape) from None


def tril(input: T, diagonal: int = 0) -> T:
    """The lower triangles of matrices, which the last two axes are; zeros above the diagonal.

    >>> from minispore import ops
    >>> ops.tril(ops.ones((2, 3))).tolist()
    [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]

    Source: MindSpore's `mindspore.ops.tril`.

    Args:
        input: The matrices.
        diagonal: Up to which diagonal elements stay: 1 is the one above the main one.

    Raises:
        TypeError: `input` is no tensor, or `diagonal` no int.
        ValueError: `input` has fewer than two axes.
    """
    return _triangle(input, diagonal, "tril")


def triu(input: T, diagonal: int = 0) -> T:
    """The upper triangles of matrices, which the last two axes are; zeros below the diagonal.

    >>> from minispore import ops
    >>> ops.triu(ops.ones((2, 3)), 1).tolist()
    [[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]

    Source: MindSpore's `mindspore.ops.triu`.

    Args:
        input: The matrices.
        diagonal: From which diagonal on elements stay: 1 is the one above the main one.

    Raises:
        TypeError: `input` is no tensor, or `diagonal` no int.
        ValueError: `input` has fewer than two axes.
    """
    return _triangle(input, diagonal, "triu")


def _triangle(x: T, diagonal: int, owner: str) -> T:
    check_tensor(x, owner)
    check_int(diagonal, "diagonal", owner)
    if x.ndim < 2:
        raise ValueError(
            f"For '{owner}', the argument 'input' must have two axes or more, "
            f"but its shape is {x.shape}."
        )
    rows, columns = x.shape[-2:]
    xp, counted = device_namespace(x._data), _dtype.int64.numpy_dtype
    row = xp.reshape(xp.arange(0, rows, 1, counted), (rows, 1))
    column = xp.arange(0, columns, 1, counted)
    # Beyond the corners nothing changes, and any number fits.
    edge = row + max(-rows - 1, min(columns, diagonal))
    kept = column <= edge if owner == "tril" else column >= edge
    zero = xp.zeros((), x._data.dtype)
    return apply3(where, wrap(kept, x), x, wrap(zero, x))
