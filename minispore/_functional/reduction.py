"""Reductions: many elements to one, over one axis, several, or all."""

from minispore import _dtype
from minispore._array import Axis, device_namespace
from minispore._checks import check_bool
from minispore._functional.apply import apply1
from minispore._functional.axes import as_axes, check_axis, check_elements
from minispore._functional.indexing import gather_elements
from minispore._functional.operands import as_float, cast_to, dtype_of, widen
from minispore._functional.shape import squeeze
from minispore._functional.variable import T, Variable, check_tensor, wrap
from minispore._rules import reduction as rules


def sum(
    input: T, dim: Axis = None, keepdim: bool = False, *, dtype: _dtype.DTypeLike | None = None
) -> T:
    """The sum over `dim`, in the type `dtype`; if it is None, of integers and bools in int64.

    >>> from minispore import Tensor, ops
    >>> ops.sum(Tensor([[1.0, 2.0], [3.0, 4.0]]), 0)
    Tensor(shape=[2], dtype=Float32, value= [ 4.00000000e+00,  6.00000000e+00])

    Raises:
        TypeError: `input` is no tensor, an axis no int, or `keepdim` no bool.
        ValueError: An axis is out of range or named twice.
    """
    check_tensor(input, "sum")
    check_bool(keepdim, "keepdim", "sum")
    wanted = None if dtype is None else _dtype.as_dtype(dtype, "sum")
    if wanted is None and dtype_of(input).category < _dtype.FLOAT:
        wanted = _dtype.int64
    axis = as_axes(dim, input.ndim, "sum", "dim")
    if wanted is None:
        return apply1(rules.sum, input, axis, keepdim)
    # numpy adds small integers up in a type of its own choice.
    return cast_to(apply1(rules.sum, cast_to(input, wanted), axis, keepdim), wanted)


def mean(x: T, axis: Axis = None, keep_dims: bool = False) -> T:
    """The mean over `axis`, in the type of `x` (of integers: cut to an integer).

    >>> from minispore import Tensor, ops
    >>> ops.mean(Tensor([[1.0, 2.0], [3.0, 4.0]]), 0)
    Tensor(shape=[2], dtype=Float32, value= [ 2.00000000e+00,  3.00000000e+00])

    Raises:
        TypeError: `x` is no tensor, an axis no int, or `keep_dims` no bool.
        ValueError: An axis is out of range or named twice.
    """
    floats = as_float(x, "mean", "x")
    check_bool(keep_dims, "keep_dims", "mean")
    value = apply1(rules.mean, floats, as_axes(axis, x.ndim, "mean"), keep_dims)
    return value if floats is x else cast_to(value, dtype_of(x))


def amax(input: T, axis: Axis = None, keepdims: bool = False) -> T:
    """The largest element over `axis`; equal ones share the gradient equally.

    >>> from minispore import Tensor, ops
    >>> ops.amax(Tensor([[1, 2], [4, 3]]), 1)
    Tensor(shape=[2], dtype=Int64, value= [2, 4])

    Raises:
        TypeError: `input` is no tensor, an axis no int, or `keepdims` no bool.
        ValueError: An axis is out of range, named twice, or has no elements.
    """
    check_tensor(input, "amax")
    check_bool(keepdims, "keepdims", "amax")
    return apply1(rules.max, input, _axes_with_elements(input, axis, "amax"), keepdims)


def amin(input: T, axis: Axis = None, keepdims: bool = False) -> T:
    """The smallest element over `axis`; equal ones share the gradient equally.

    >>> from minispore import Tensor, ops
    >>> ops.amin(Tensor([[1, 2], [4, 3]]), 1)
    Tensor(shape=[2], dtype=Int64, value= [1, 3])

    Raises:
        TypeError: `input` is no tensor, an axis no int, or `keepdims` no bool.
        ValueError: An axis is out of range, named twice, or has no elements.
    """
    check_tensor(input, "amin")
    check_bool(keepdims, "keepdims", "amin")
    return apply1(rules.min, input, _axes_with_elements(input, axis, "amin"), keepdims)


def max(input: T, axis: int | None = None, keepdims: bool = False) -> tuple[T, T]:
    """The largest elements along `axis`, and the index (int64) of the first of each.

    Along an axis the gradient goes to the first of equal ones; over all, they share it equally.

    >>> from minispore import Tensor, ops
    >>> [found.tolist() for found in ops.max(Tensor([[1, 2], [4, 3]]), 1)]
    [[2, 4], [1, 0]]

    Raises:
        TypeError: `input` is no tensor, `axis` no int, or `keepdims` no bool.
        ValueError: `axis` is out of range, or has no elements.
    """
    check_tensor(input, "max")
    check_bool(keepdims, "keepdims", "max")
    place = _axis_with_elements(input, axis, "max")
    if place is None:
        return amax(input, None, keepdims), argmax(input, None, keepdims)
    return _at(input, argmax(input, place, True), place, keepdims)


def min(input: T, axis: int | None = None, keepdims: bool = False) -> tuple[T, T]:
    """The smallest elements along `axis`, and the index (int64) of the first of each.

    Along an axis the gradient goes to the first of equal ones; over all, they share it equally.

    >>> from minispore import Tensor, ops
    >>> [found.tolist() for found in ops.min(Tensor([[1, 2], [4, 3]]), 1)]
    [[1, 3], [0, 1]]

    Raises:
        TypeError: `input` is no tensor, `axis` no int, or `keepdims` no bool.
        ValueError: `axis` is out of range, or has no elements.
    """
    check_tensor(input, "min")
    check_bool(keepdims, "keepdims", "min")
    place = _axis_with_elements(input, axis, "min")
    if place is None:
        return amin(input, None, keepdims), argmin(input, None, keepdims)
    return _at(input, argmin(input, place, True), place, keepdims)


def logsumexp(input: T, dim: Axis, keepdim: bool = False) -> T:
    """log Σ exp(input) over `dim`, without overflow.

    >>> from minispore import Tensor, ops
    >>> ops.logsumexp(Tensor([1000.0, 1000.0]), 0)
    Tensor(shape=[], dtype=Float32, value= 1000.69)

    Raises:
        TypeError: `input` is no tensor, an axis no int, or `keepdim` no bool.
        ValueError: An axis is out of range, named twice, or has no elements.
    """
    x = as_float(input, "logsumexp")
    check_bool(keepdim, "keepdim", "logsumexp")
    axes = as_axes(dim, x.ndim, "logsumexp", "dim")
    check_elements(x.shape, axes, "logsumexp")
    return cast_to(apply1(rules.logsumexp, widen(x), axes, keepdim), dtype_of(x))


def argmax(input: T, dim: int | None = None, keepdim: bool = False) -> T:
    """The index (int64) of the first largest element along `dim`, or in the flattened tensor.

    >>> from minispore import Tensor, ops
    >>> ops.argmax(Tensor([[1.0, 3.0], [4.0, 2.0]]), 1)
    Tensor(shape=[2], dtype=Int64, value= [1, 0])

    Raises:
        TypeError: `input` is no tensor, `dim` no int, or `keepdim` no bool.
        ValueError: `dim` is out of range, or has no elements.
    """
    check_tensor(input, "argmax")
    check_bool(keepdim, "keepdim", "argmax")
    place = _axis_with_elements(input, dim, "argmax", "dim")
    found = device_namespace(input._data).argmax(input._data, axis=place, keepdims=keepdim)
    return cast_to(wrap(found, input), _dtype.int64)  # it is int32 where addresses have 32 bits


def argmin(input: T, axis: int | None = None, keepdims: bool = False) -> T:
    """The index (int64) of the first smallest element along `axis`, or in the flattened tensor.

    >>> from minispore import Tensor, ops
    >>> ops.argmin(Tensor([[1.0, 3.0], [4.0, 2.0]]), 1)
    Tensor(shape=[2], dtype=Int64, value= [0, 1])

    Raises:
        TypeError: `input` is no tensor, `axis` no int, or `keepdims` no bool.
        ValueError: `axis` is out of range, or has no elements.
    """
    check_tensor(input, "argmin")
    check_bool(keepdims, "keepdims", "argmin")
    place = _axis_with_elements(input, axis, "argmin")
    found = device_namespace(input._data).argmin(input._data, axis=place, keepdims=keepdims)
    return cast_to(wrap(found, input), _dtype.int64)  # it is int32 where addresses have 32 bits


def _at(x: T, indices: T, axis: int, keepdims: bool) -> tuple[T, T]:
    values = gather_elements(x, axis, indices)
    return (values, indices) if keepdims else (squeeze(values, axis), squeeze(indices, axis))


def _axis_with_elements(
    x: Variable, axis: int | None, owner: str, name: str = "axis"
) -> int | None:
    place = None if axis is None else check_axis(axis, x.ndim, name, owner)
    check_elements(x.shape, place, owner)
    return place


def _axes_with_elements(x: Variable, axis: Axis, owner: str) -> Axis:
    axes = as_axes(axis, x.ndim, owner)
    check_elements(x.shape, axes, owner)
    return axes
