"""Reductions: many elements to one, over one axis, several, or all."""

from minispore import _dtype
from minispore._array import Axis, device_namespace
from minispore._checks import as_items
from minispore._functional.apply import apply1
from minispore._functional.operands import as_float, cast_to, dtype_of
from minispore._functional.variable import T, Variable, wrap
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
    axis = _axis(input, dim, "sum")
    if wanted is None:
        return apply1(rules.sum, input, axis, keepdim)
    # numpy adds small integers up in a type of its own choice.
    return cast_to(apply1(rules.sum, cast_to(input, wanted), axis, keepdim), wanted)


def mean(x: T, axis: Axis = None, keep_dims: bool = False) -> T:
    """The mean over `axis`, in the type of `x` (of integers: cut to an integer)."""
    own = dtype_of(x)
    value = apply1(rules.mean, as_float(x), _axis(x, axis, "mean"), keep_dims)
    return cast_to(value, own)


def amax(input: T, axis: Axis = None, keepdims: bool = False) -> T:
    """The largest element over `axis`; equal ones share the gradient equally."""
    return apply1(rules.max, input, _axis(input, axis, "amax"), keepdims)


def amin(input: T, axis: Axis = None, keepdims: bool = False) -> T:
    """The smallest element over `axis`; equal ones share the gradient equally."""
    return apply1(rules.min, input, _axis(input, axis, "amin"), keepdims)


def logsumexp(input: T, dim: Axis, keepdim: bool = False) -> T:
    """log Σ exp(input) over `dim`, without overflow."""
    x = as_float(input)
    return apply1(rules.logsumexp, x, _axis(x, dim, "logsumexp"), keepdim)


def argmax(input: T, dim: int | None = None, keepdim: bool = False) -> T:
    """The index (int64) of the first largest element along `dim`, or in the flattened tensor."""
    xp = device_namespace(input._data)
    _axis(input, dim, "argmax")
    return wrap(xp.argmax(input._data, axis=dim, keepdims=keepdim), input)


def argmin(input: T, axis: int | None = None, keepdims: bool = False) -> T:
    """The index (int64) of the first smallest element along `axis`, or in the flattened tensor."""
    xp = device_namespace(input._data)
    _axis(input, axis, "argmin")
    return wrap(xp.argmin(input._data, axis=axis, keepdims=keepdims), input)


def _axis(x: Variable, axis: object, owner: str) -> Axis:
    """`axis` if it names axes of `x`, each once; a list counts as a tuple, an empty one as all."""
    items = as_items(axis)
    if axis is None or items == ():
        return None
    named: list[int] = []
    for item in (axis,) if items is None else items:
        if not isinstance(item, int) or isinstance(item, bool):
            raise TypeError(
                f"For '{owner}', the argument 'axis' must be an int or a tuple of ints, "
                f"but got {axis!r}."
            )
        if not -x.ndim <= item < x.ndim:
            raise ValueError(
                f"For '{owner}', the argument 'axis' must be in [{-x.ndim}, {x.ndim}) for a tensor "
                f"of shape {x.shape}, but got {axis!r}."
            )
        named.append(item)
    if len({item % x.ndim for item in named}) < len(named):
        raise ValueError(f"For '{owner}', the argument 'axis' names an axis twice: {axis!r}.")
    return named[0] if items is None else tuple(named)
