"""Initializers of parameters, as objects or by name.

They draw from the random stream "init" of `minispore.set_seed` in float64 and then round: the same
seed gives the same weights in each data type. Where no seed was set, they draw from numpy's global
state, so that networks made after the same `np.random.seed` are equal, as in MindSpore.

Source: MindSpore's `mindspore.common.initializer`.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from minispore.engine.dispatch import check_fits
from minispore.engine.dtypes import DType, float32, from_array_dtype
from minispore.ops.seed import generator, get_seed
from minispore.ops.tensors import Tensor
from minispore.utils.arrays import AnyArray, Float64Array
from minispore.utils.checks import as_items, check_number, check_one_of, check_type, type_error
from minispore.utils.facade import facade

__all__ = [
    "Constant", "HeNormal", "HeUniform", "Initializer", "Normal", "One", "TruncatedNormal",
    "Uniform", "XavierNormal", "XavierUniform", "Zero", "initializer",
]  # fmt: skip

if not TYPE_CHECKING:  # type checkers take it for a definition of every name
    __getattr__, __dir__ = facade(__name__)

FanMode = Literal["fan_in", "fan_out"]
Nonlinearity = Literal["sigmoid", "tanh", "relu", "leaky_relu"]


# The arguments of random initializers must be finite in float32.
_MAX = float(np.finfo(np.float32).max)
_check_finite = partial(check_number, low=-_MAX, high=_MAX)


class Initializer:
    """The base class. A subclass fills an array in its method `_initialize`.

    Args:
        **kwargs: The arguments of a subclass, which are stored.

    Examples:
        >>> from minispore.common.initializer import Initializer, initializer
        >>> class Half(Initializer):
        ...     def _initialize(self, arr):
        ...         arr[:] = 0.5
        >>> initializer(Half(), [2]).tolist()
        [0.5, 0.5]

    Source: MindSpore's `mindspore.common.initializer.Initializer`.
    """

    def __init__(self, **kwargs: object) -> None:
        self._kwargs = kwargs

    def __repr__(self) -> str:
        settings: dict[str, object] = vars(self).get("_kwargs", {})
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in settings.items())})"

    def __call__(self, arr: AnyArray) -> None:
        """Fill `arr` in place."""
        self._initialize(arr)

    def _initialize(self, arr: AnyArray) -> None:
        raise NotImplementedError(
            f"For '{type(self).__name__}', the method '_initialize' is not defined."
        )


class Zero(Initializer):
    """Fill with zeros.

    Examples:
        >>> from minispore.common.initializer import Zero, initializer
        >>> initializer(Zero(), [2]).tolist()
        [0.0, 0.0]

    Source: MindSpore's `mindspore.common.initializer.Zero`.
    """

    def _initialize(self, arr: AnyArray) -> None:
        arr[...] = 0


class One(Initializer):
    """Fill with ones.

    Examples:
        >>> from minispore.common.initializer import One, initializer
        >>> initializer(One(), [2]).tolist()
        [1.0, 1.0]

    Source: MindSpore's `mindspore.common.initializer.One`.
    """

    def _initialize(self, arr: AnyArray) -> None:
        arr[...] = 1


class Constant(Initializer):
    """Fill with a number.

    Args:
        value: The number.

    Raises:
        TypeError: `value` is not a number.

    Examples:
        >>> from minispore.common.initializer import Constant, initializer
        >>> initializer(Constant(3), [2]).tolist()
        [3.0, 3.0]

    Source: MindSpore's `mindspore.common.initializer.Constant`.
    """

    def __init__(self, value: float) -> None:
        super().__init__(value=value)
        check_type(value, (bool, int, float), "value")
        self.value = value

    def _initialize(self, arr: AnyArray) -> None:
        check_fits(self.value, from_array_dtype(arr.dtype))
        arr[...] = self.value


class Uniform(Initializer):
    """Draw from the uniform distribution on [-`scale`, `scale`].

    Args:
        scale: The largest value.

    Raises:
        TypeError: `scale` is not a number.

    Examples:
        >>> from minispore.common.initializer import Uniform, initializer
        >>> bool((initializer(Uniform(0.5), [100]).abs() <= 0.5).all())
        True

    Source: MindSpore's `mindspore.common.initializer.Uniform`.
    """

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale: float = _check_finite(scale, "scale")

    def _initialize(self, arr: AnyArray) -> None:
        _uniform(arr, abs(self.scale))


class Normal(Initializer):
    """Draw from a normal distribution.

    Args:
        sigma: The standard deviation.
        mean: The mean.

    Raises:
        TypeError: An argument is not a number.
        ValueError: `sigma` is negative.

    Examples:
        >>> from minispore.common.initializer import Normal, initializer
        >>> initializer(Normal(sigma=0, mean=2), [2]).tolist()
        [2.0, 2.0]

    Source: MindSpore's `mindspore.common.initializer.Normal`.
    """

    def __init__(self, sigma: float = 0.01, mean: float = 0.0) -> None:
        super().__init__(sigma=sigma, mean=mean)
        self.sigma: float = _check_finite(sigma, "sigma", low=0.0)
        self.mean: float = _check_finite(mean, "mean")

    def _initialize(self, arr: AnyArray) -> None:
        _normal(arr, self.sigma, self.mean)


class TruncatedNormal(Initializer):
    """Draw from a normal distribution truncated to [a, b].

    Args:
        sigma: The standard deviation of the normal distribution.
        mean: The mean of the normal distribution.
        a: The smallest value.
        b: The largest value.

    Raises:
        TypeError: An argument is not a number.
        ValueError: `sigma` is negative, or `a` is not smaller than `b`.

    Examples:
        >>> from minispore.common.initializer import TruncatedNormal, initializer
        >>> bool((initializer(TruncatedNormal(sigma=1, a=0, b=1), [100]) >= 0).all())
        True

    Source: MindSpore's `mindspore.common.initializer.TruncatedNormal`.
    """

    def __init__(
        self, sigma: float = 0.01, mean: float = 0.0, a: float = -2.0, b: float = 2.0
    ) -> None:
        super().__init__(sigma=sigma, mean=mean, a=a, b=b)
        self.sigma: float = _check_finite(sigma, "sigma", low=0.0)
        self.mean: float = _check_finite(mean, "mean")
        self.a: float = check_number(a, "a")
        self.b: float = check_number(b, "b")
        if not self.a < self.b:
            raise ValueError(
                f"For 'TruncatedNormal', 'a' must be smaller than 'b', but got {a} and {b}."
            )

    def _initialize(self, arr: AnyArray) -> None:
        arr[...] = _truncated(arr.shape, self.sigma, self.mean, self.a, self.b)


class _Xavier(Initializer):
    """The base class of the initializers of Glorot and Bengio (2010)."""

    def __init__(self, gain: float = 1) -> None:
        super().__init__(gain=gain)
        self.gain: float = _check_finite(gain, "gain", type(self).__name__)


class XavierUniform(_Xavier):
    """Draw uniformly from ±`gain` · √(6 / (fan_in + fan_out)): Glorot and Bengio (2010).

    Args:
        gain: The factor.

    Raises:
        TypeError: `gain` is not a number.

    Examples:
        >>> from minispore.common.initializer import XavierUniform, initializer
        >>> bool((initializer(XavierUniform(), [2, 4]).abs() <= 1).all())
        True

    Source: MindSpore's `mindspore.common.initializer.XavierUniform`.
    """

    def _initialize(self, arr: AnyArray) -> None:
        _uniform(arr, abs(self.gain) * math.sqrt(6.0 / sum(_fans(arr.shape))))


class XavierNormal(_Xavier):
    """Draw from a normal distribution with deviation `gain` · √(2 / (fan_in + fan_out)).

    Args:
        gain: The factor.

    Raises:
        TypeError: `gain` is not a number.

    Examples:
        >>> from minispore.common.initializer import XavierNormal, initializer
        >>> initializer(XavierNormal(gain=0), [1, 2]).tolist()
        [[0.0, 0.0]]

    Source: MindSpore's `mindspore.common.initializer.XavierNormal`.
    """

    def _initialize(self, arr: AnyArray) -> None:
        _normal(arr, abs(self.gain) * math.sqrt(2.0 / sum(_fans(arr.shape))))


class _He(Initializer):
    """The base class of the initializers of He et al. (2015)."""

    def __init__(
        self,
        negative_slope: float = 0,
        mode: FanMode = "fan_in",
        nonlinearity: Nonlinearity = "leaky_relu",
    ) -> None:
        super().__init__(negative_slope=negative_slope, mode=mode, nonlinearity=nonlinearity)
        check_one_of(mode, ("fan_in", "fan_out"), "mode")
        self.negative_slope: float = _check_finite(negative_slope, "negative_slope")
        self.mode = mode
        self.nonlinearity = nonlinearity
        self._gain = _gain(nonlinearity, self.negative_slope)

    def _deviation(self, arr: AnyArray) -> float:
        fan_in, fan_out = _fans(arr.shape)
        return self._gain / math.sqrt(fan_in if self.mode == "fan_in" else fan_out)


class HeUniform(_He):
    """Draw uniformly from ±gain · √(3 / fan): He et al. (2015).

    Args:
        negative_slope: The derivative of leaky_relu for negative numbers.
        mode: The fan: the number of inputs of a neuron ("fan_in") or of outputs ("fan_out").
        nonlinearity: The activation function after the layer, which determines the gain.

    Raises:
        TypeError: `negative_slope` is not a number.
        ValueError: `mode` or `nonlinearity` is not one of the supported values.

    Examples:
        >>> from minispore.common.initializer import HeUniform, initializer
        >>> bool((initializer(HeUniform(), [2, 6]).abs() <= 1).all())
        True

    Source: MindSpore's `mindspore.common.initializer.HeUniform`.
    """

    def _initialize(self, arr: AnyArray) -> None:
        _uniform(arr, math.sqrt(3.0) * self._deviation(arr))


class HeNormal(_He):
    """Draw from a normal distribution with deviation gain / √fan.

    The arguments are those of `HeUniform`.

    Examples:
        >>> from minispore.common.initializer import HeNormal, initializer
        >>> initializer(HeNormal(mode="fan_out"), [2, 6]).shape
        (2, 6)

    Source: MindSpore's `mindspore.common.initializer.HeNormal`.
    """

    def _initialize(self, arr: AnyArray) -> None:
        _normal(arr, self._deviation(arr))


_INITIALIZERS: dict[str, type[Initializer]] = {
    "zero": Zero, "zeros": Zero, "one": One, "ones": One, "normal": Normal, "uniform": Uniform,
    "truncatednormal": TruncatedNormal, "heuniform": HeUniform, "he_uniform": HeUniform,
    "henormal": HeNormal, "he_normal": HeNormal, "xavieruniform": XavierUniform,
    "xavier_uniform": XavierUniform, "xaviernormal": XavierNormal, "xavier_normal": XavierNormal,
}  # fmt: skip


def initializer(
    init: Tensor | str | Initializer | float,
    shape: Sequence[int] | int | None = None,
    dtype: DType = float32,
) -> Tensor:
    """Return an initialized tensor.

    MindSpore initializes the tensor when it becomes a parameter; here this happens immediately.

    Args:
        init: An initializer, its name in upper or lower case ("normal", "he_uniform", "zeros", …),
            a number, or a Tensor with the values.
        shape: The shape, of positive lengths. It may be omitted for a Tensor.
        dtype: The data type of the elements.

    Returns:
        A new tensor of this shape and type.

    Raises:
        TypeError: `init` is not one of these.
        ValueError: There is no initializer of this name, a length is not positive, or the Tensor
            has another shape.

    Examples:
        >>> from minispore.common.initializer import initializer
        >>> initializer("ones", [2, 2]).tolist()
        [[1.0, 1.0], [1.0, 1.0]]

    Source: MindSpore's `mindspore.common.initializer.initializer`.
    """
    check_type(dtype, DType, "dtype")
    if isinstance(init, Tensor):
        if shape is not None and init.shape != _checked_shape(shape):
            raise ValueError(
                f"For 'initializer', 'init' must be of the shape {_checked_shape(shape)}, "
                f"but it is of shape {init.shape}."
            )
        return Tensor(init, dtype)
    return Tensor(shape=_checked_shape(shape), dtype=dtype, init=_as_initializer(init))


def _as_initializer(init: object) -> Initializer:
    if isinstance(init, Initializer):
        return init
    if isinstance(init, str):
        if init.lower() not in _INITIALIZERS:
            listed = ", ".join(repr(name) for name in _INITIALIZERS)
            raise ValueError(
                f"For 'initializer', the name 'init' must be one of {listed}, but got {init!r}."
            )
        return _INITIALIZERS[init.lower()]()
    if isinstance(init, bool | int | float):
        return Constant(init)
    raise type_error(init, "init", "be a Tensor, a number, a name or an Initializer")


def _checked_shape(shape: object) -> tuple[int, ...]:
    lengths = (shape,) if isinstance(shape, int) else shape
    check_type(lengths, (tuple, list), "shape")
    items = as_items(lengths) or ()
    positive = tuple(n for n in items if isinstance(n, int) and type(n) is not bool and n > 0)
    if len(positive) < len(items):
        raise type_error(shape, "shape", "be of positive ints", ValueError)
    return positive


def _gain(nonlinearity: str, negative_slope: float) -> float:
    check_one_of(nonlinearity, ("sigmoid", "tanh", "relu", "leaky_relu"), "nonlinearity")
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + negative_slope**2))
    return {"sigmoid": 1.0, "tanh": 5.0 / 3, "relu": math.sqrt(2.0)}[nonlinearity]


def _fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return the numbers of inputs and outputs of a neuron, for the shape (out, in, *kernel)."""
    if len(shape) < 2:
        raise ValueError(
            "The fans of an initializer need a shape of at least 2 axes (out, in), "
            f"but got {shape}."
        )
    kernel = math.prod(shape[2:])
    return shape[1] * kernel, shape[0] * kernel


def _generator() -> np.random.Generator:
    if get_seed() is not None:
        return generator("init")
    return np.random.default_rng(np.random.randint(2**32, size=4, dtype=np.uint64))  # noqa: NPY002


def _uniform(arr: AnyArray, bound: float) -> None:
    arr[...] = _generator().uniform(-bound, bound, arr.shape)


def _normal(arr: AnyArray, sigma: float, mean: float = 0.0) -> None:
    arr[...] = _generator().normal(mean, sigma, arr.shape)


def _truncated(
    shape: tuple[int, ...], sigma: float, mean: float, low: float, high: float
) -> Float64Array:
    mode = min(max(mean, low), high)
    values = np.full(shape, mode)
    variance = sigma**2
    if variance == 0:
        return values
    # Rejection sampling from a uniform distribution, up to where the density is exp(-32) times its
    # maximum: practically no number beyond that would be accepted.
    offset = abs(mode - mean)
    reach = math.hypot(offset, 8 * sigma) - offset
    low, high = max(low, mode - reach), min(high, mode + reach)
    rng = _generator()
    remaining = np.arange(values.size)
    while remaining.size:
        drawn = rng.uniform(low, high, remaining.size)
        log_density = (mode - drawn) * (mode / 2 + drawn / 2 - mean) / variance
        accepted = np.log1p(-rng.random(remaining.size)) < log_density
        values.flat[remaining[accepted]] = drawn[accepted]
        remaining = remaining[~accepted]
    return values
