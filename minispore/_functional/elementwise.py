"""Functions of one tensor, element by element. Integers are taken as float32 where needed."""

from minispore import _dtype
from minispore._array import device_namespace
from minispore._checks import check_type
from minispore._functional.apply import apply1, unfit
from minispore._functional.arithmetic import div, mul, where
from minispore._functional.comparison import greater, less
from minispore._functional.operands import Number, as_float, cast_to, check_numbers, dtype_of, pair
from minispore._functional.variable import T, Variable, check_tensor, wrap
from minispore._rules import elementwise as rules

_BOUND = (Variable, int, float, type(None))


def exp(input: T) -> T:
    """The exponential function.

    >>> from minispore import Tensor, ops
    >>> ops.exp(Tensor([0.0, 1.0]))
    Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  2.71828198e+00])

    Raises:
        TypeError: `input` is no tensor.
    """
    return apply1(rules.exp, as_float(input, "exp"))


def log(input: T) -> T:
    """The natural logarithm.

    >>> from minispore import Tensor, ops
    >>> ops.log(Tensor([1.0, 10.0]))
    Tensor(shape=[2], dtype=Float32, value= [ 0.00000000e+00,  2.30258512e+00])

    Raises:
        TypeError: `input` is no tensor.
    """
    return apply1(rules.log, as_float(input, "log"))


def sqrt(x: T) -> T:
    """The square root.

    >>> from minispore import Tensor, ops
    >>> ops.sqrt(Tensor([4.0, 9.0]))
    Tensor(shape=[2], dtype=Float32, value= [ 2.00000000e+00,  3.00000000e+00])

    Raises:
        TypeError: `x` is no tensor.
    """
    return apply1(rules.sqrt, as_float(x, "sqrt", "x"))


def square(input: T) -> T:
    """`input * input`.

    >>> from minispore import Tensor, ops
    >>> ops.square(Tensor([2, -3]))
    Tensor(shape=[2], dtype=Int64, value= [4, 9])

    Raises:
        TypeError: `input` is no tensor.
    """
    check_tensor(input, "square")
    return apply1(rules.square, input)


def abs(input: T) -> T:
    """The absolute value; its gradient at 0 is 0.

    >>> from minispore import Tensor, ops
    >>> ops.abs(Tensor([2, -3]))
    Tensor(shape=[2], dtype=Int64, value= [2, 3])

    Raises:
        TypeError: `input` is no tensor.
    """
    check_tensor(input, "abs")
    return apply1(rules.absolute, input)


def sign(input: T) -> T:
    """-1, 0 or 1.

    >>> from minispore import Tensor, ops
    >>> ops.sign(Tensor([2, 0, -3]))
    Tensor(shape=[3], dtype=Int64, value= [ 1,  0, -1])

    Raises:
        TypeError: `input` is no tensor, or of bools.
    """
    check_tensor(input, "sign")
    check_numbers(input, "sign")
    return apply1(rules.sign, input)


def tanh(input: T) -> T:
    """The hyperbolic tangent.

    >>> from minispore import Tensor, ops
    >>> ops.tanh(Tensor([0.0, 1.0]))
    Tensor(shape=[2], dtype=Float32, value= [ 0.00000000e+00,  7.61594176e-01])

    Raises:
        TypeError: `input` is no tensor.
    """
    return apply1(rules.tanh, as_float(input, "tanh"))


def sin(input: T) -> T:
    """The sine of radians.

    >>> from minispore import Tensor, ops
    >>> f"{ops.sin(Tensor(1.0)).item():.4f}"
    '0.8415'

    Raises:
        TypeError: `input` is no tensor.
    """
    return apply1(rules.sin, as_float(input, "sin"))


def cos(input: T) -> T:
    """The cosine of radians.

    >>> from minispore import Tensor, ops
    >>> ops.cos(Tensor([0.0, 1.0]))
    Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  5.40302277e-01])

    Raises:
        TypeError: `input` is no tensor.
    """
    return apply1(rules.cos, as_float(input, "cos"))


def sigmoid(input: T) -> T:
    """1 / (1 + exp(-input)).

    >>> from minispore import Tensor, ops
    >>> ops.sigmoid(Tensor([0.0, 1.0]))
    Tensor(shape=[2], dtype=Float32, value= [ 5.00000000e-01,  7.31058598e-01])

    Raises:
        TypeError: `input` is no tensor.
    """
    return apply1(rules.sigmoid, as_float(input, "sigmoid"))


def softplus(input: T, beta: Number = 1, threshold: Number = 20) -> T:
    """log(1 + exp(beta * input)) / beta, a smooth `relu`.

    >>> from minispore import Tensor, ops
    >>> ops.softplus(Tensor([0.0, 1.0]))
    Tensor(shape=[2], dtype=Float32, value= [ 6.93147182e-01,  1.31326163e+00])

    Args:
        input: The tensor.
        beta: The greater, the closer to `relu`; not 0.
        threshold: Where `beta * input` is greater, `input` itself is taken.

    Raises:
        TypeError: `input` is no tensor, or another argument no number.
        ValueError: `beta` is 0.
    """
    x = as_float(input, "softplus")
    check_type(beta, (int, float), "beta", "softplus")
    check_type(threshold, (int, float), "threshold", "softplus")
    if beta == 0:
        raise ValueError("For 'softplus', the argument 'beta' must not be 0.")
    scaled = mul(x, beta)
    return where(greater(scaled, threshold), x, div(apply1(rules.softplus, scaled), beta))


def relu(input: T) -> T:
    """max(input, 0); its gradient at 0 is 0. Bools stay as they are.

    >>> from minispore import Tensor, ops
    >>> ops.relu(Tensor([2, -3]))
    Tensor(shape=[2], dtype=Int64, value= [2, 0])

    Raises:
        TypeError: `input` is no tensor.
    """
    check_tensor(input, "relu")
    if dtype_of(input) is _dtype.bool_:
        return copy(input)
    return apply1(rules.relu, input)


def clip(input: T, min: T | Number | None = None, max: T | Number | None = None) -> T:
    """`input` kept within [min, max]; a float bound makes float32 of integers.

    Bounds may be tensors that broadcast; where they cross, the upper one holds.

    >>> from minispore import Tensor, ops
    >>> ops.clip(Tensor([1, 2, 3, 4]), 2, 3)
    Tensor(shape=[4], dtype=Int64, value= [2, 2, 3, 3])

    Raises:
        TypeError: `input` is no tensor, or a bound neither a tensor nor a number.
        ValueError: Both bounds are None, a number does not fit the type of `input`, or the shapes
            do not broadcast.
    """
    check_tensor(input, "clip")
    if min is None and max is None:
        raise ValueError("For 'clip', at least one of 'min' and 'max' must be given, got neither.")
    if not isinstance(min, _BOUND):
        check_type(min, _BOUND, "min", "clip")
    if not isinstance(max, _BOUND):
        check_type(max, _BOUND, "max", "clip")
    if isinstance(min, Variable) or isinstance(max, Variable):
        value = input
        try:
            if min is not None:
                value, low = pair(value, min, "clip")
                value = where(less(value, low), low, value)
            if max is not None:
                value, high = pair(value, max, "clip")
                value = where(greater(value, high), high, value)
            return value
        except ValueError:
            bounds = [x.shape for x in (min, max) if isinstance(x, Variable)]
            raise unfit("clip", input.shape, *bounds) from None
    floats = isinstance(min, float) or isinstance(max, float)
    try:
        return apply1(rules.clip, as_float(input, "clip") if floats else input, min, max)
    except OverflowError:
        raise ValueError(
            f"For 'clip', the bounds must fit the tensor's type {dtype_of(input)!r}, "
            f"but got {min} and {max}."
        ) from None


def floor(input: T) -> T:
    """Rounded down; its gradient is zero.

    >>> from minispore import Tensor, ops
    >>> ops.floor(Tensor([1.5, -1.5]))
    Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00, -2.00000000e+00])

    Raises:
        TypeError: `input` is no tensor.
    """
    check_tensor(input, "floor")
    return wrap(device_namespace(input._data).floor(input._data), input)


def round(input: T) -> T:
    """Rounded to the nearest integer, halves to the even one; its gradient is zero.

    >>> from minispore import Tensor, ops
    >>> ops.round(Tensor([0.5, 1.5, 2.7]))
    Tensor(shape=[3], dtype=Float32, value= [ 0.00000000e+00,  2.00000000e+00,  3.00000000e+00])

    Raises:
        TypeError: `input` is no tensor, or of bools.
    """
    check_tensor(input, "round")
    check_numbers(input, "round")
    return wrap(device_namespace(input._data).round(input._data), input)


def isnan(input: T) -> T:
    """Where the elements are no numbers.

    >>> from minispore import Tensor, ops
    >>> ops.isnan(Tensor([1.0, float("nan")]))
    Tensor(shape=[2], dtype=Bool, value= [False,  True])

    Raises:
        TypeError: `input` is no tensor.
    """
    check_tensor(input, "isnan")
    return wrap(device_namespace(input._data).isnan(input._data), input)


def isinf(input: T) -> T:
    """Where the elements are infinite.

    >>> from minispore import Tensor, ops
    >>> ops.isinf(Tensor([1.0, float("inf")]))
    Tensor(shape=[2], dtype=Bool, value= [False,  True])

    Raises:
        TypeError: `input` is no tensor.
    """
    check_tensor(input, "isinf")
    return wrap(device_namespace(input._data).isinf(input._data), input)


def isfinite(input: T) -> T:
    """Where the elements are neither infinite nor no numbers.

    >>> from minispore import Tensor, ops
    >>> ops.isfinite(Tensor([1.0, float("inf")]))
    Tensor(shape=[2], dtype=Bool, value= [ True, False])

    Raises:
        TypeError: `input` is no tensor.
    """
    check_tensor(input, "isfinite")
    return wrap(device_namespace(input._data).isfinite(input._data), input)


def copy(input: T) -> T:
    """The same elements in memory of their own; the gradient flows through."""
    return apply1(rules.copy, input)


def cast(input: T, dtype: _dtype.DTypeLike) -> T:
    """`input` in another type; differentiable between float types.

    >>> import minispore as ms
    >>> ms.ops.cast(ms.Tensor([1.7, -1.7]), ms.int32)
    Tensor(shape=[2], dtype=Int32, value= [ 1, -1])

    Raises:
        TypeError: `input` is no tensor, or `dtype` no data type.
    """
    check_tensor(input, "cast")
    return cast_to(input, _dtype.as_dtype(dtype, "cast"))


def stop_gradient(value: T) -> T:
    """`value`, as a constant: no gradient flows through it.

    >>> from minispore import Tensor, grad, ops
    >>> grad(lambda x: x * ops.stop_gradient(x))(Tensor(3.0))
    Tensor(shape=[], dtype=Float32, value= 3)

    Raises:
        TypeError: `value` is no tensor.
    """
    check_tensor(value, "stop_gradient", "value")
    return wrap(value._data, value)
