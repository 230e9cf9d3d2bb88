"""Normalisation: over a batch, or over the axes of each sample."""

from collections.abc import Sequence
from math import prod

from minispore import _dtype
from minispore._array import Array, device_namespace
from minispore._checks import check_bool, check_number
from minispore._functional.apply import apply1
from minispore._functional.arithmetic import add, div, mul, sub
from minispore._functional.axes import as_shape
from minispore._functional.elementwise import sqrt
from minispore._functional.operands import as_float, cast_to, dtype_of, widen
from minispore._functional.variable import T, Variable, check_tensor, writable
from minispore._rules import normalization, shape


def batch_norm(
    input_x: T,
    running_mean: T,
    running_var: T,
    weight: T,
    bias: T,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> T:
    """Normalise each channel: (input − mean) / √(variance + eps) · weight + bias.

    >>> from minispore import Tensor, ops
    >>> mean, variance, weight, bias = ops.ones(1), ops.ones(1), ops.ones(1), ops.zeros(1)
    >>> ops.batch_norm(Tensor([[1.0], [3.0]]), mean, variance, weight, bias, training=True)
    Tensor(shape=[2, 1], dtype=Float32, value=
    [[-9.99994993e-01],
     [ 9.99994993e-01]])
    >>> mean
    Tensor(shape=[1], dtype=Float32, value= [ 1.10000002e+00])

    Source: Ioffe and Szegedy, 2015.

    Args:
        input_x: Of shape (n, channels, …).
        running_mean: Of shape (channels,): the means without `training`. With it the batch's own
            are used, and this is moved towards them in place.
        running_var: The variances, likewise; towards the batch's as an estimate without bias.
        weight: What each channel is multiplied by.
        bias: What is then added.
        training: Whether to normalise by the batch.
        momentum: How far the running numbers are moved, from 0 to 1.
        eps: Keeps the divisor from 0; in (0, 1].

    Returns:
        Of the shape and type of `input_x`.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: The shapes do not fit, a number is out of range, or with `training` there is but
            one element for a channel, which has no variance.
    """
    owner = "batch_norm"
    x = as_float(input_x, owner, "input_x")
    if x.ndim < 2:
        raise ValueError(
            f"For '{owner}', 'input_x' must have channels, but its shape is {x.shape}."
        )
    channels = x.shape[1:2]
    given = {"running_mean": running_mean, "running_var": running_var}
    for name, value in (given | {"weight": weight, "bias": bias}).items():
        check_tensor(value, owner, name)
        if value.shape != channels or dtype_of(value).category != _dtype.FLOAT:
            raise ValueError(
                f"For '{owner}', '{name}' must be of floats and of shape {channels}, but it is of "
                f"{dtype_of(value)!r} and of shape {value.shape}."
            )
    check_bool(training, "training", owner)
    check_number(momentum, "momentum", owner, low=0, high=1)
    check_epsilon(eps, "eps", owner)
    wide = widen(cast_to(x, dtype_of(weight)))
    axes = (0, *range(2, x.ndim))
    count = prod(x.shape[i] for i in axes)
    if training:
        if count < 2:
            raise ValueError(
                f"For '{owner}', a batch must have more than one element for a channel, but its "
                f"shape is {x.shape}."
            )
        _move(running_mean, running_var, wide._data, axes, momentum, count / (count - 1))
        y = apply1(normalization.standardize, wide, axes, eps)
    else:
        y = _by_running(wide, running_mean, running_var, eps)
    y = add(mul(y, _per_channel(weight, x.ndim)), _per_channel(bias, x.ndim))
    return cast_to(y, dtype_of(x))


def layer_norm(
    input: T,
    normalized_shape: int | Sequence[int],
    weight: T | None = None,
    bias: T | None = None,
    eps: float = 1e-05,
) -> T:
    """Normalise the last axes of each sample: (input − mean) / √(variance + eps) · weight + bias.

    >>> from minispore import Tensor, ops
    >>> ops.layer_norm(Tensor([[1.0, 3.0]]), (2,))
    Tensor(shape=[1, 2], dtype=Float32, value=
    [[-9.99994993e-01,  9.99994993e-01]])

    Source: Ba, Kiros and Hinton, 2016.

    Args:
        input: Of shape (…, *normalized_shape).
        normalized_shape: The lengths of the axes over which mean and variance are taken.
        weight: What is multiplied by, of shape `normalized_shape`; 1 by default.
        bias: What is then added, likewise; 0 by default.
        eps: Keeps the divisor from 0.

    Returns:
        Of the shape and type of `input`.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: The shapes do not fit, or `eps` is not in (0, 1].
    """
    owner = "layer_norm"
    x = as_float(input, owner)
    lengths = as_shape(normalized_shape, owner, "normalized_shape")
    if not lengths or x.shape[-len(lengths) :] != lengths:
        raise ValueError(
            f"For '{owner}', 'normalized_shape' must be the last lengths of 'input', but they are "
            f"{lengths} and {x.shape}."
        )
    check_epsilon(eps, "eps", owner)
    y = standardize(x, x.ndim - len(lengths), eps)
    for name, value, apply in (("weight", weight, mul), ("bias", bias, add)):
        if value is None:
            continue
        check_tensor(value, owner, name)
        if value.shape != lengths:
            raise ValueError(
                f"For '{owner}', '{name}' must be of shape {lengths}, but got {value.shape}."
            )
        y = apply(y, cast_to(value, dtype_of(x)))
    return y


def standardize(x: T, first: int, epsilon: float) -> T:
    """(x − mean) / √(variance + epsilon) over the axes from `first`."""
    y = apply1(normalization.standardize, widen(x), tuple(range(first, x.ndim)), epsilon)
    return cast_to(y, dtype_of(x))


def check_epsilon(value: object, name: str, owner: str) -> float:
    """Return `value` if it is a number in (0, 1]; TypeError or ValueError otherwise."""
    number = check_number(value, name, owner, high=1)
    if number <= 0:
        raise ValueError(
            f"For '{owner}', the argument '{name}' must be in (0, 1], but got {value}."
        )
    return number


def _move(
    mean: Variable, variance: Variable, x: Array, axes: tuple[int, ...], by: float, unbiased: float
) -> None:
    """Move running numbers in place towards those of a batch."""
    xp = device_namespace(x)
    center = xp.mean(x, axis=axes, keepdims=True)
    centered = x - center
    spread = xp.mean(centered * centered, axis=axes) * unbiased
    for running, new in ((mean, xp.reshape(center, mean.shape)), (variance, spread)):
        own = writable(running)
        xp.multiply(own, 1 - by, out=own)
        xp.add(own, xp.astype(new * by, own.dtype), out=own)


def _by_running(x: T, mean: T, variance: T, epsilon: float) -> T:
    center, spread = (
        _per_channel(cast_to(value, dtype_of(x)), x.ndim) for value in (mean, variance)
    )
    return div(sub(x, center), sqrt(add(spread, epsilon)))


def _per_channel(values: T, ndim: int) -> T:
    """Numbers of channels, to stand beside (n, channels, …)."""
    return apply1(shape.reshape, values, (*values.shape, *(1,) * (ndim - 2)))
