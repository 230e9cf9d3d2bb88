"""Batch, layer and root-mean-square normalization."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from minispore.engine import dtypes
from minispore.engine.array import Array, device_namespace
from minispore.engine.dispatch import (
    apply1,
    apply3,
    as_float,
    cast_to,
    check_shape,
    check_tensor,
    dtype_of,
    half_to_float32,
)
from minispore.engine.rules import normalization, shape
from minispore.ops._writes import writable
from minispore.ops.arithmetic import add, div, mul, sub
from minispore.ops.elementwise import rsqrt, sqrt
from minispore.ops.manipulation import as_shape
from minispore.ops.reduction import mean
from minispore.ops.tensors import Tensor
from minispore.utils.checks import caller, check_bool, check_number, value_error

__all__ = ["batch_norm", "layer_norm", "rms_norm"]


def batch_norm(
    input_x: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor,
    bias: Tensor,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Return (x − mean) / √(variance + eps) · weight + bias for each channel.

    Args:
        input_x: Of shape (n, channels, …).
        running_mean: Of shape (channels,): the means to normalize with, unless `training`. In
            training the means of the batch are used, and the running means are updated in place.
        running_var: Of shape (channels,): the variances, used and updated like the means, but
            with the unbiased variance of the batch.
        weight: The factor of each channel, of shape (channels,).
        bias: The summand of each channel, of shape (channels,).
        training: Whether to normalize with the statistics of the batch.
        momentum: The weight of the batch in the running statistics, in [0, 1].
        eps: Added to the variance, in (0, 1].

    Returns:
        A tensor of the shape and type of `input_x`.

    Raises:
        ValueError: The shapes do not match, or in training a channel has only one element and thus
            no variance.

    Examples:
        >>> from minispore import Tensor, ops
        >>> mean, variance, weight, bias = ops.ones(1), ops.ones(1), ops.ones(1), ops.zeros(1)
        >>> x = Tensor([[1.0], [3.0]])
        >>> y = ops.batch_norm(x, mean, variance, weight, bias, training=True)
        >>> [round(row[0].item(), 4) for row in y], round(mean.item(), 4)
        ([-1.0, 1.0], 1.1)

    Source: MindSpore's `mindspore.ops.batch_norm`.
    """
    x = as_float(input_x, "input_x")
    if x.ndim < 2:
        raise ValueError(
            f"For '{caller()}', 'input_x' must have channels, but its shape is {x.shape}."
        )
    channels = x.shape[1:2]
    statistics = {"running_mean": running_mean, "running_var": running_var}
    for name, value in (statistics | {"weight": weight, "bias": bias}).items():
        check_tensor(value, name)
        if value.shape != channels or dtype_of(value).category != dtypes.FLOAT:
            raise ValueError(
                f"For '{caller()}', '{name}' must be of floats and of shape {channels}, but it is "
                f"of {dtype_of(value)!r} and of shape {value.shape}."
            )
    check_bool(training, "training")
    check_number(momentum, "momentum", low=0, high=1)
    check_epsilon(eps, "eps")
    wide = half_to_float32(cast_to(x, dtype_of(weight)))
    factor, summand = _per_channel(weight, wide), _per_channel(bias, wide)
    axes = (0, *range(2, x.ndim))
    count = prod(x.shape[i] for i in axes)
    if training:
        if count < 2:
            raise ValueError(
                f"For '{caller()}', a batch must have more than one element for a channel, but its "
                f"shape is {x.shape}."
            )
        moments: list[Array] = []
        y = apply3(normalization.batch_norm, wide, factor, summand, axes, eps, moments.extend)
        mean, variance = moments
        _move(running_mean, mean, momentum)
        _move(running_var, variance * (count / (count - 1)), momentum)
    else:
        center, spread = _per_channel(running_mean, wide), _per_channel(running_var, wide)
        y = div(sub(wide, center), sqrt(add(spread, eps)))
        y = add(mul(y, factor), summand)
    return cast_to(y, dtype_of(x))


def layer_norm(
    input: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Return (x − mean) / √(variance + eps) · weight + bias over the last axes of each sample.

    Args:
        input: Of shape (…, *normalized_shape).
        normalized_shape: The lengths of the axes over which mean and variance are computed.
        weight: The factors, of shape `normalized_shape`; None for 1.
        bias: The summands, of shape `normalized_shape`; None for 0.
        eps: Added to the variance, in (0, 1].

    Returns:
        A tensor of the shape and type of `input`.

    Raises:
        ValueError: The shapes do not match.

    Examples:
        >>> from minispore import Tensor, ops
        >>> [round(x, 4) for x in ops.layer_norm(Tensor([[1.0, 3.0]]), (2,))[0].tolist()]
        [-1.0, 1.0]

    Source: MindSpore's `mindspore.ops.layer_norm`.
    """
    x = as_float(input)
    lengths = as_shape(normalized_shape, "normalized_shape")
    if not lengths or x.shape[-len(lengths) :] != lengths:
        raise ValueError(
            f"For '{caller()}', 'normalized_shape' must be the last lengths of 'input', but they "
            f"are {lengths} and {x.shape}."
        )
    check_epsilon(eps, "eps")
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None:
            check_shape(value, lengths, name)
    return normalize_samples(x, x.ndim - len(lengths), eps, weight, bias)


def normalize_samples(
    x: Tensor, first: int, epsilon: float, weight: Tensor | None = None, bias: Tensor | None = None
) -> Tensor:
    """Return (x − mean) / √(variance + epsilon) · weight + bias over the axes from `first`."""
    wide = half_to_float32(x)
    dtype = dtype_of(wide)
    if weight is not None and bias is not None:
        factor, summand = cast_to(weight, dtype), cast_to(bias, dtype)
        y = apply3(normalization.layer_norm, wide, factor, summand, first, epsilon)
    else:
        y = apply1(normalization.standardize, wide, tuple(range(first, x.ndim)), epsilon)
        y = y if weight is None else mul(y, cast_to(weight, dtype))
        y = y if bias is None else add(y, cast_to(bias, dtype))
    return cast_to(y, dtype_of(x))


def rms_norm(x: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    """Return x / √(mean of x² + epsilon) · gamma over the last axes of each sample.

    Args:
        x: Of shape (…, *gamma.shape).
        gamma: The factors, whose axes are those over which the mean is computed.
        epsilon: Added to the mean of squares, in (0, 1].

    Returns:
        A tensor of the shape and type of `x`, and the factors 1 / √(mean + epsilon) in float32, or
        float64 for a `x` of this type, with the reduced axes of length 1.

    Raises:
        ValueError: The shapes do not match.

    Examples:
        >>> from minispore import Tensor, ops
        >>> y, factors = ops.rms_norm(Tensor([[1.0, 7.0]]), Tensor([1.0, 2.0]))
        >>> [round(number, 4) for number in y[0].tolist()], factors.shape
        ([0.2, 2.8], (1, 1))

    Source: MindSpore's `mindspore.ops.rms_norm`.
    """
    given = as_float(x, "x")
    lengths = check_tensor(gamma, "gamma").shape
    if not lengths or given.shape[-len(lengths) :] != lengths:
        raise ValueError(
            "For 'rms_norm', the shape of 'gamma' must be the last lengths of 'x', but they are "
            f"{lengths} and {given.shape}."
        )
    check_epsilon(epsilon, "epsilon")
    wide = half_to_float32(given)
    axes = tuple(range(given.ndim - len(lengths), given.ndim))
    factors = rsqrt(add(mean(mul(wide, wide), axes, True), epsilon))
    y = mul(mul(wide, factors), cast_to(gamma, dtype_of(wide)))
    return cast_to(y, dtype_of(given)), factors


def check_epsilon(value: object, name: str) -> float:
    """Return `value` if it is a number in (0, 1]; raise TypeError or ValueError otherwise."""
    number = check_number(value, name, high=1)
    if number <= 0:
        raise value_error(value, name, "be in (0, 1]")
    return number


def _move(running: Tensor, batch: Array, by: float) -> None:
    """Move a running statistic in place towards that of a batch."""
    xp, statistic = device_namespace(batch), writable(running)
    xp.multiply(statistic, 1 - by, out=statistic)
    change = xp.astype(xp.reshape(batch, statistic.shape) * by, statistic.dtype)
    xp.add(statistic, change, out=statistic)


def _per_channel(values: Tensor, x: Tensor) -> Tensor:
    """Return one number per channel in the type of `x`, which they broadcast with."""
    numbers = cast_to(values, dtype_of(x))
    return apply1(shape.reshape, numbers, (*numbers.shape, *(1,) * (x.ndim - 2)))
