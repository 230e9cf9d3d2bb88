"""Functions of one tensor, element by element. Integers are taken as float32 where needed."""

from minispore import _dtype
from minispore._array import device_namespace
from minispore._functional.apply import apply1
from minispore._functional.operands import as_float, cast_to
from minispore._functional.variable import T, wrap
from minispore._rules import elementwise as rules


def exp(input: T) -> T:
    """The exponential function."""
    return apply1(rules.exp, as_float(input))


def log(input: T) -> T:
    """The natural logarithm."""
    return apply1(rules.log, as_float(input))


def sqrt(input: T) -> T:
    """The square root."""
    return apply1(rules.sqrt, as_float(input))


def square(input: T) -> T:
    """`input * input`."""
    return apply1(rules.square, input)


def abs(input: T) -> T:
    """The absolute value; its gradient at 0 is 0."""
    return apply1(rules.absolute, input)


def sign(input: T) -> T:
    """-1, 0 or 1."""
    return apply1(rules.sign, input)


def tanh(input: T) -> T:
    """The hyperbolic tangent."""
    return apply1(rules.tanh, as_float(input))


def sigmoid(input: T) -> T:
    """1 / (1 + exp(-input))."""
    return apply1(rules.sigmoid, as_float(input))


def relu(input: T) -> T:
    """max(input, 0); its gradient at 0 is 0."""
    return apply1(rules.relu, input)


def clip(input: T, min: float | None = None, max: float | None = None) -> T:
    """`input` kept within [min, max]; a float bound makes float32 of integers.

    Raises:
        ValueError: Both bounds are None.
    """
    if min is None and max is None:
        raise ValueError("For 'clip', at least one of 'min' and 'max' must be given, got neither.")
    floats = isinstance(min, float) or isinstance(max, float)
    return apply1(rules.clip, as_float(input) if floats else input, min, max)


def floor(input: T) -> T:
    """Rounded down; its gradient is zero."""
    return wrap(device_namespace(input._data).floor(input._data), input)


def round(input: T) -> T:
    """Rounded to the nearest integer, halves to the even one; its gradient is zero."""
    return wrap(device_namespace(input._data).round(input._data), input)


def isnan(input: T) -> T:
    """Where the elements are no numbers."""
    return wrap(device_namespace(input._data).isnan(input._data), input)


def isinf(input: T) -> T:
    """Where the elements are infinite."""
    return wrap(device_namespace(input._data).isinf(input._data), input)


def isfinite(input: T) -> T:
    """Where the elements are neither infinite nor no numbers."""
    return wrap(device_namespace(input._data).isfinite(input._data), input)


def copy(input: T) -> T:
    """The same elements in memory of their own; the gradient flows through."""
    return apply1(rules.copy, input)


def cast(input: T, dtype: _dtype.DTypeLike) -> T:
    """`input` in another type; differentiable between float types.

    >>> import minispore as ms
    >>> ms.ops.cast(ms.Tensor([1.7, -1.7]), ms.int32)
    Tensor(shape=[2], dtype=Int32, value= [ 1, -1])
    """
    return cast_to(input, _dtype.as_dtype(dtype, "cast"))


def stop_gradient(value: T) -> T:
    """`value`, as a constant: no gradient flows through it."""
    return wrap(value._data, value)
