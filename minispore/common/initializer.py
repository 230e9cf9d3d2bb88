"""Initialisers: the first values of parameters, by name or as objects.

All draw from the program's random stream "init" (`minispore.set_seed`), always in float64 numbers
that are then rounded: the same seed gives the same weights whatever their type.
"""

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minispore._checks import as_items, check_number, check_one_of, check_type, described
from minispore.common.dtype import DType, float32
from minispore.common.seed import generator
from minispore.common.tensor import Tensor

Values: TypeAlias = NDArray[np.generic]
FanMode = Literal["fan_in", "fan_out"]
Nonlinearity = Literal["sigmoid", "tanh", "relu", "leaky_relu"]


# Of float32: what random numbers are made of must be finite.
_LARGEST = float(np.finfo(np.float32).max)


class Initializer:
    """The base: a subclass fills an array in `_initialize`.

    >>> from minispore.common.initializer import Initializer, initializer
    >>> class Half(Initializer):
    ...     def _initialize(self, arr):
    ...         arr[:] = 0.5
    >>> initializer(Half(), [2])
    Tensor(shape=[2], dtype=Float32, value= [ 5.00000000e-01,  5.00000000e-01])

    Args:
        **kwargs: Kept, as MindSpore does, for subclasses that pass their settings on.
    """

    def __init__(self, **kwargs: object) -> None:
        self._kwargs = kwargs

    def __call__(self, arr: Values) -> None:
        """Fill `arr` in place."""
        self._initialize(arr)

    def _initialize(self, arr: Values) -> None:
        raise NotImplementedError(
            f"For '{type(self).__name__}', the method '_initialize' is not defined."
        )


class Zero(Initializer):
    """Zeros."""

    def _initialize(self, arr: Values) -> None:
        arr[...] = 0


class One(Initializer):
    """Ones."""

    def _initialize(self, arr: Values) -> None:
        arr[...] = 1


class Constant(Initializer):
    """One number everywhere.

    Args:
        value: The number.

    Raises:
        TypeError: `value` is no number.
    """

    def __init__(self, value: float) -> None:
        super().__init__(value=value)
        check_type(value, (bool, int, float), "value", "Constant")
        self.value = value

    def _initialize(self, arr: Values) -> None:
        arr[...] = self.value


class Uniform(Initializer):
    """Even between -`scale` and `scale`.

    Args:
        scale: The greatest value.

    Raises:
        TypeError: `scale` is no number.
    """

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale: float = _check_finite(scale, "scale", "Uniform")

    def _initialize(self, arr: Values) -> None:
        _uniform(arr, abs(self.scale))


class Normal(Initializer):
    """Gaussian.

    Args:
        sigma: The standard deviation.
        mean: The mean.

    Raises:
        TypeError: An argument is no number.
        ValueError: `sigma` is negative.
    """

    def __init__(self, sigma: float = 0.01, mean: float = 0.0) -> None:
        super().__init__(sigma=sigma, mean=mean)
        self.sigma: float = _check_finite(sigma, "sigma", "Normal", low=0.0)
        self.mean: float = _check_finite(mean, "mean", "Normal")

    def _initialize(self, arr: Values) -> None:
        _normal(arr, self.sigma, self.mean)


class TruncatedNormal(Initializer):
    """Gaussian, of which only what falls within [a, b] is taken.

    Args:
        sigma: The standard deviation.
        mean: The mean.
        a: The smallest value.
        b: The greatest value.

    Raises:
        TypeError: An argument is no number.
        ValueError: `sigma` is negative, or `a` not smaller than `b`.
    """

    def __init__(
        self, sigma: float = 0.01, mean: float = 0.0, a: float = -2.0, b: float = 2.0
    ) -> None:
        super().__init__(sigma=sigma, mean=mean, a=a, b=b)
        owner = "TruncatedNormal"
        self.sigma: float = _check_finite(sigma, "sigma", owner, low=0.0)
        self.mean: float = _check_finite(mean, "mean", owner)
        self.a: float = check_number(a, "a", owner)
        self.b: float = check_number(b, "b", owner)
        if not self.a < self.b:
            raise ValueError(f"For '{owner}', 'a' must be smaller than 'b', but got {a} and {b}.")

    def _initialize(self, arr: Values) -> None:
        arr[...] = _truncated(arr.shape, self.sigma, self.mean, self.a, self.b)


class _Xavier(Initializer):
    """What the two initialisers of Glorot and Bengio, 2010, share."""

    def __init__(self, gain: float = 1) -> None:
        super().__init__(gain=gain)
        self.gain: float = _check_finite(gain, "gain", type(self).__name__)


class XavierUniform(_Xavier):
    """Even within `gain` · √(6 / (fan_in + fan_out)): Glorot and Bengio, 2010.

    Args:
        gain: The factor.

    Raises:
        TypeError: `gain` is no number.
    """

    def _initialize(self, arr: Values) -> None:
        _uniform(arr, abs(self.gain) * math.sqrt(6.0 / sum(_fans(arr.shape))))


class XavierNormal(_Xavier):
    """Gaussian with deviation `gain` · √(2 / (fan_in + fan_out)); `gain` as for `XavierUniform`."""

    def _initialize(self, arr: Values) -> None:
        _normal(arr, abs(self.gain) * math.sqrt(2.0 / sum(_fans(arr.shape))))


class _He(Initializer):
    """What the two initialisers of He et al., 2015, share: the standard deviation."""

    def __init__(
        self,
        negative_slope: float = 0,
        mode: FanMode = "fan_in",
        nonlinearity: Nonlinearity = "leaky_relu",
    ) -> None:
        super().__init__(negative_slope=negative_slope, mode=mode, nonlinearity=nonlinearity)
        owner = type(self).__name__
        check_one_of(mode, ("fan_in", "fan_out"), "mode", owner)
        self.negative_slope: float = _check_finite(negative_slope, "negative_slope", owner)
        self.mode = mode
        self.nonlinearity = nonlinearity
        self._gain = _gain(nonlinearity, self.negative_slope, owner)

    def _deviation(self, arr: Values) -> float:
        fan_in, fan_out = _fans(arr.shape)
        return self._gain / math.sqrt(fan_in if self.mode == "fan_in" else fan_out)


class HeUniform(_He):
    """Even within gain · √(3 / fan): He et al., 2015.

    Args:
        negative_slope: The slope below 0 of a leaky_relu.
        mode: Which fan: of the inputs of a neuron ("fan_in") or the outputs of one ("fan_out").
        nonlinearity: What follows the layer, for the gain.

    Raises:
        TypeError: `negative_slope` is no number.
        ValueError: `mode` or `nonlinearity` is none of those.
    """

    def _initialize(self, arr: Values) -> None:
        _uniform(arr, math.sqrt(3.0) * self._deviation(arr))


class HeNormal(_He):
    """Gaussian with deviation gain / √fan; arguments as for `HeUniform`."""

    def _initialize(self, arr: Values) -> None:
        _normal(arr, self._deviation(arr))


_NAMED: dict[str, type[Initializer]] = {
    "zero": Zero,
    "zeros": Zero,
    "one": One,
    "ones": One,
    "normal": Normal,
    "uniform": Uniform,
    "truncatednormal": TruncatedNormal,
    "heuniform": HeUniform,
    "he_uniform": HeUniform,
    "henormal": HeNormal,
    "he_normal": HeNormal,
    "xavieruniform": XavierUniform,
    "xavier_uniform": XavierUniform,
    "xaviernormal": XavierNormal,
    "xavier_normal": XavierNormal,
}


def initializer(
    init: Tensor | str | Initializer | float,
    shape: Sequence[int] | int | None = None,
    dtype: DType = float32,
) -> Tensor:
    """A tensor of first values.

    >>> from minispore.common.initializer import initializer
    >>> initializer("ones", [2, 2])
    Tensor(shape=[2, 2], dtype=Float32, value=
    [[ 1.00000000e+00,  1.00000000e+00],
     [ 1.00000000e+00,  1.00000000e+00]])

    Unlike MindSpore's, which fills its memory when it becomes a parameter, it has them at once.

    Args:
        init: An initialiser, its name in any case ("normal", "he_uniform", "zeros" …), a number
            for all, or a Tensor with the values.
        shape: The lengths of the axes; may be left out for a Tensor.
        dtype: The type of the elements.

    Raises:
        TypeError: `init` is none of these.
        ValueError: There is no initialiser of that name, a length is not above 0, or the Tensor
            is of another shape.
    """
    check_type(dtype, DType, "dtype", "initializer")
    if isinstance(init, Tensor):
        if shape is not None and init.shape != _checked_shape(shape):
            raise ValueError(
                f"For 'initializer', 'init' must be of the shape {_checked_shape(shape)}, "
                f"but it is of shape {init.shape}."
            )
        return Tensor(init, dtype)
    return Tensor(shape=_checked_shape(shape), dtype=dtype, init=_by_object(init))


def _by_object(init: object) -> Initializer:
    if isinstance(init, Initializer):
        return init
    if isinstance(init, str):
        if init.lower() not in _NAMED:
            listed = ", ".join(repr(name) for name in _NAMED)
            raise ValueError(
                f"For 'initializer', the name 'init' must be one of {listed}, but got {init!r}."
            )
        return _NAMED[init.lower()]()
    if isinstance(init, bool | int | float):
        return Constant(init)
    raise TypeError(
        "For 'initializer', the argument 'init' must be a Tensor, a number, a name or an "
        f"Initializer, but got {described(init)}."
    )


def _checked_shape(shape: object) -> tuple[int, ...]:
    lengths = (shape,) if isinstance(shape, int) else shape
    check_type(lengths, (tuple, list), "shape", "initializer")
    items = as_items(lengths) or ()
    positive = tuple(n for n in items if isinstance(n, int) and type(n) is not bool and n > 0)
    if len(positive) < len(items):
        raise ValueError(
            f"For 'initializer', the argument 'shape' must be of positive ints, "
            f"but got {described(shape)}."
        )
    return positive


def _check_finite(value: object, name: str, owner: str, low: float = -_LARGEST) -> float:
    return check_number(value, name, owner, low=low, high=_LARGEST)


def _gain(nonlinearity: str, negative_slope: float, owner: str) -> float:
    check_one_of(nonlinearity, ("sigmoid", "tanh", "relu", "leaky_relu"), "nonlinearity", owner)
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + negative_slope**2))
    return {"sigmoid": 1.0, "tanh": 5.0 / 3, "relu": math.sqrt(2.0)}[nonlinearity]


def _fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """How many inputs a neuron has and how many outputs an input reaches, of (out, in, *kernel)."""
    if len(shape) < 2:
        raise ValueError(
            "The fans of an initialiser need a shape of at least 2 axes (out, in), "
            f"but got {shape}."
        )
    kernel = math.prod(shape[2:])
    return shape[1] * kernel, shape[0] * kernel


def _uniform(arr: Values, bound: float) -> None:
    arr[...] = generator("init").uniform(-bound, bound, arr.shape)


def _normal(arr: Values, sigma: float, mean: float = 0.0) -> None:
    arr[...] = generator("init").normal(mean, sigma, arr.shape)


def _truncated(
    shape: tuple[int, ...], sigma: float, mean: float, low: float, high: float
) -> NDArray[np.float64]:
    nearest = min(max(mean, low), high)
    values = np.full(shape, nearest)
    variance = sigma**2
    if variance == 0:
        return values
    # Rejection from an even distribution: up to where the density has fallen to exp(-32) of its
    # greatest. Beyond that nothing would ever be drawn.
    off = abs(nearest - mean)
    reach = math.hypot(off, 8 * sigma) - off
    low, high = max(low, nearest - reach), min(high, nearest + reach)
    draw = generator("init")
    left = np.arange(values.size)
    while left.size:
        drawn = draw.uniform(low, high, left.size)
        log_density = (nearest - drawn) * (nearest / 2 + drawn / 2 - mean) / variance
        kept = np.log1p(-draw.random(left.size)) < log_density
        values.flat[left[kept]] = drawn[kept]
        left = left[~kept]
    return values
