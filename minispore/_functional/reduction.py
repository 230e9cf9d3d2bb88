"""Reductions: many elements to one, over one axis, several, or all."""

from minispore import _dtype
from minispore._array import Axis, device_namespace
from minispore._functional.apply import apply1
from minispore._functional.axes import as_axes
from minispore._functional.operands import as_float, cast_to, dtype_of
from minispore._functional.variable import T, wrap
from minispore._rules import reduction as rules


def sum(
    input: T, dim: Axis = None, keepdim: bool = False, *, dtype: _dtype.DTypeLike | None = None
) -> T:
    """The sum over `dim`, in the type `dtype`; if it is None, of integers and bools in int64.

    >>> from minispore import Tensor, ops
    >>> ops.sum(Tensor([[1.0, 2.0], [3.0, 4.0]]), 0)
    Tensor(shape=[2], dtype=Float32, value= [ 4.00000000e+00,  6.00000000e+00])
    """
    wanted = None if dtype is None else _dtype.as_dtype(dtype, "sum")
    if wanted is None and dtype_of(input).category < _dtype.FLOAT:
        wanted = _dtype.int64
    axis = as_axes(dim, input.ndim, "sum")
    if wanted is None:
        return apply1(rules.sum, input, axis, keepdim)
    # numpy adds small integers up in a type of its own choice.
    return cast_to(apply1(rules.sum, cast_to(input, wanted), axis, keepdim), wanted)


def mean(x: T, axis: Axis = None, keep_dims: bool = False) -> T:
    """The mean over `axis`, in the type of `x` (of integers: cut to an integer)."""
    own = dtype_of(x)
    value = apply1(rules.mean, as_float(x), as_axes(axis, x.ndim, "mean"), keep_dims)
    return cast_to(value, own)


def amax(input: T, axis: Axis = None, keepdims: bool = False) -> T:
    """The largest element over `axis`; equal ones share the gradient equally."""
    return apply1(rules.max, input, as_axes(axis, input.ndim, "amax"), keepdims)


def amin(input: T, axis: Axis = None, keepdims: bool = False) -> T:
    """The smallest element over `axis`; equal ones share the gradient equally."""
    return apply1(rules.min, input, as_axes(axis, input.ndim, "amin"), keepdims)


def logsumexp(input: T, dim: Axis, keepdim: bool = False) -> T:
    """log Σ exp(input) over `dim`, without overflow."""
    x = as_float(input)
    return apply1(rules.logsumexp, x, as_axes(dim, x.ndim, "logsumexp"), keepdim)


def argmax(input: T, dim: int | None = None, keepdim: bool = False) -> T:
    """The index (int64) of the first largest element along `dim`, or in the flattened tensor."""
    xp = device_namespace(input._data)
    as_axes(dim, input.ndim, "argmax")
    return wrap(xp.argmax(input._data, axis=dim, keepdims=keepdim), input)


def argmin(input: T, axis: int | None = None, keepdims: bool = False) -> T:
    """The index (int64) of the first smallest element along `axis`, or in the flattened tensor."""
    xp = device_namespace(input._data)
    as_axes(axis, input.ndim, "argmin")
    return wrap(xp.argmin(input._data, axis=axis, keepdims=keepdims), input)
