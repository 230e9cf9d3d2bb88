"""Variables as an array library: the contract of `Namespace`, met with recorded operations.

Given to a rule instead of numpy, it makes the rule's pullbacks leave nodes: see `apply.replay`.
"""

from collections.abc import Sequence

from minispore._array import Axis, Shape, device_namespace
from minispore._dtype import as_dtype
from minispore._functional import arithmetic, comparison, elementwise, reduction, shape
from minispore._functional.apply import apply1
from minispore._functional.operands import cast_to
from minispore._functional.variable import T, wrap
from minispore._rules import indexing as rules
from minispore._rules import reduction as reduction_rules
from minispore._rules import windows as window_rules

abs = elementwise.abs
exp = elementwise.exp
log = elementwise.log
sqrt = elementwise.sqrt
sign = elementwise.sign
tanh = elementwise.tanh
sin = elementwise.sin
cos = elementwise.cos
maximum = arithmetic.maximum
minimum = arithmetic.minimum
remainder = arithmetic.remainder
floor_divide = arithmetic.floor_divide
where = arithmetic.where
equal = comparison.equal
reshape = shape.reshape
permute_dims = shape.permute
broadcast_to = shape.broadcast_to
constant = elementwise.stop_gradient
isfinite = elementwise.isfinite
squeeze = shape.squeeze


def sum(x: T, /, *, axis: Axis = None, keepdims: bool = False) -> T:
    """The sum over `axis`."""
    return x if axis == () else reduction.sum(x, axis, keepdims)


def mean(x: T, /, *, axis: Axis = None, keepdims: bool = False) -> T:
    """The mean over `axis`."""
    return reduction.mean(x, axis, keepdims)


def cumulative_sum(x: T, /, *, axis: int) -> T:
    """The sums up to each element along `axis`."""
    return apply1(reduction_rules.cumsum, x, axis)


def max(x: T, /, *, axis: Axis = None, keepdims: bool = False) -> T:
    """The largest element over `axis`."""
    return reduction.amax(x, axis, keepdims)


def min(x: T, /, *, axis: Axis = None, keepdims: bool = False) -> T:
    """The smallest element over `axis`."""
    return reduction.amin(x, axis, keepdims)


def expand_dims(x: T, /, *, axis: int) -> T:
    """A new axis of length 1."""
    return shape.expand_dims(x, axis)


def concat(arrays: Sequence[T], /, *, axis: int) -> T:
    """Arrays one behind the other."""
    return shape.concat(arrays, axis)


def stack(arrays: Sequence[T], /, *, axis: int) -> T:
    """Arrays side by side."""
    return shape.stack(arrays, axis)


def astype(x: T, dtype: object, /) -> T:
    """`x` in another type."""
    return cast_to(x, as_dtype(dtype, "astype"))


def zeros_like(x: T, /) -> T:
    """Zeros of the shape and type of `x`."""
    return wrap(device_namespace(x._data).zeros_like(x._data), x)


def ones_like(x: T, /) -> T:
    """Ones of the shape and type of `x`."""
    return wrap(device_namespace(x._data).ones_like(x._data), x)


def scatter(values: T, /, *, index: tuple[object, ...], shape: Shape) -> T:
    """Zeros of `shape` with `values` added at `index`."""
    return apply1(rules.scatter, values, index, shape)


def windows(x: T, /, *, axis: int, size: int, step: int, spread: int) -> T:
    """Windows along an axis."""
    return apply1(window_rules.windows, x, axis, size, step, spread)


def fold(x: T, /, *, axis: int, length: int, step: int, spread: int) -> T:
    """The sum of windows, each in its place along an axis."""
    return apply1(window_rules.fold, x, axis, length, step, spread)
