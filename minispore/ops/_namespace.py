"""The array namespace of variables: the functions of `Namespace` as recorded operations.

A rule that is called with variables computes with these functions, so that its pullbacks are
recorded themselves: see `rerecord_pullbacks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minispore import ops
from minispore.engine.array import Axis, Shape, device_namespace
from minispore.engine.dispatch import apply1, cast_to, wrap
from minispore.engine.dtypes import as_dtype
from minispore.engine.rules import indexing as rules
from minispore.engine.rules import reduction as reduction_rules
from minispore.engine.rules import unfold as window_rules
from minispore.ops import arithmetic, manipulation, reduction
from minispore.ops.arithmetic import *  # noqa: F403
from minispore.ops.comparison import *  # noqa: F403
from minispore.ops.elementwise import *  # noqa: F403
from minispore.ops.manipulation import *  # noqa: F403

if TYPE_CHECKING:
    from minispore.ops.tensors import Tensor

# Most functions are operations of these modules. The others have another name or other arguments.
permute_dims = manipulation.permute
max = reduction.amax
min = reduction.amin


def sum(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the sum over `axis`."""
    return x if axis == () else reduction.sum(x, axis, keepdims)


def inner(x: Tensor, y: Tensor, /, *, axis: Axis, keepdims: bool = False) -> Tensor:
    """Return the sum of the products of two tensors of one shape over `axis`."""
    return sum(arithmetic.mul(x, y), axis=axis, keepdims=keepdims)


def mean(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the mean over `axis`."""
    return reduction.mean(x, axis, keepdims)


def cumulative_sum(x: Tensor, /, *, axis: int) -> Tensor:
    """Return the cumulative sum along `axis`."""
    return apply1(reduction_rules.cumsum, x, axis)


def astype(x: Tensor, dtype: object, /) -> Tensor:
    """Return `x` in another type."""
    return cast_to(x, as_dtype(dtype))


def zeros_like(x: Tensor, /) -> Tensor:
    """Return zeros of the shape and type of `x`."""
    return wrap(device_namespace(x._data).zeros_like(x._data), x)


def ones_like(x: Tensor, /) -> Tensor:
    """Return ones of the shape and type of `x`."""
    return wrap(device_namespace(x._data).ones_like(x._data), x)


def getitem(x: Tensor, /, *, index: tuple[object, ...]) -> Tensor:
    """Return `x[index]`."""
    return apply1(rules.getitem, x, index)


def scatter_add(values: Tensor, /, *, index: tuple[object, ...], shape: Shape) -> Tensor:
    """Return zeros of `shape` with `values` added at `index`."""
    return apply1(rules.scatter_add, values, index, shape)


def unfold(x: Tensor, /, *, axis: int, kernel_size: int, stride: int, dilation: int) -> Tensor:
    """Return the sliding windows along an axis."""
    return apply1(window_rules.unfold, x, axis, kernel_size, stride, dilation)


def fold(x: Tensor, /, *, axis: int, length: int, stride: int, dilation: int) -> Tensor:
    """Return the sum of windows along an axis."""
    return apply1(window_rules.fold, x, axis, length, stride, dilation)


def atan2(y: Tensor, x: Tensor, /) -> Tensor:
    """Return the angle of (x, y)."""
    return ops.atan2(y, x)


def decompose(x: Tensor, /, *, kind: str) -> Tensor:
    """Return a function of matrices."""
    return ops.decompositions.decompose(x, kind)
