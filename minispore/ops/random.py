"""Random tensors and dropout, drawn from the program's random streams."""

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from minispore.engine import dtypes
from minispore.engine.array import host_values, to_host
from minispore.engine.dispatch import (
    check_fits,
    check_numbers,
    check_tensor,
    dtype_of,
    in_float32,
    shape_error,
    wrap,
)
from minispore.engine.dtypes import DType, DTypeLike
from minispore.ops.creation import parse_shape, tensor_from_array
from minispore.ops.manipulation import broadcast_shape
from minispore.ops.seed import generator
from minispore.ops.tensors import Tensor
from minispore.utils.arrays import AnyArray
from minispore.utils.checks import (
    INT32_MAX,
    as_items,
    caller,
    check_bool,
    check_int,
    check_number,
    check_type,
    type_error,
    value_error,
)

__all__ = [
    "dropout", "dropout2d", "multinomial", "normal", "rand", "randint", "randn", "randperm",
    "standard_normal", "uniform",
]  # fmt: skip

# The number of random bits of an element in [0, 1), by the size of the float type in bytes.
_BITS = {2: 11, 4: 24, 8: 53}


def rand(
    *size: int | Sequence[int], dtype: DTypeLike | None = None, seed: int | None = None
) -> Tensor:
    """Return random numbers from the uniform distribution on [0, 1).

    Args:
        *size: The shape, as ints or as one list or tuple of ints; by default (1,).
        dtype: The float type; None for float32.
        seed: The seed of a separate random stream, instead of the program's stream "ops".
            `set_seed` restarts both.

    Returns:
        A tensor of that shape and type.

    Examples:
        >>> from minispore import ops
        >>> x = ops.rand(2, 3)
        >>> x.shape, bool((x >= 0).all()), bool((x < 1).all())
        ((2, 3), True, True)

    Source: MindSpore's `mindspore.ops.rand`.
    """
    chosen = _float_dtype(dtype)
    lengths = _lengths(size)
    bits = _BITS[chosen.numpy_dtype.itemsize]
    return _draw(lambda rng: rng.integers(0, 1 << bits, lengths) / (1 << bits), chosen, seed)


def randn(
    *size: int | Sequence[int], dtype: DTypeLike | None = None, seed: int | None = None
) -> Tensor:
    """Return random numbers from the standard normal distribution.

    Args:
        *size: The shape, as ints or as one list or tuple of ints; by default (1,).
        dtype: The float type; None for float32.
        seed: As in `rand`.

    Returns:
        A tensor of that shape and type.

    Examples:
        >>> from minispore import ops
        >>> ops.randn(2, 3).shape
        (2, 3)

    Source: MindSpore's `mindspore.ops.randn`.
    """
    chosen = _float_dtype(dtype)
    lengths = _lengths(size)
    return _draw(lambda rng: rng.standard_normal(lengths), chosen, seed)


def randint(
    low: int,
    high: int,
    size: tuple[int, ...],
    seed: int | None = None,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Return random integers from the uniform distribution on [low, high).

    Args:
        low: The smallest integer.
        high: One more than the largest integer.
        size: The shape, a tuple of ints.
        seed: As in `rand`.
        dtype: The integer type; None for int64.

    Returns:
        A tensor of that shape and type.

    Raises:
        ValueError: `low` is not less than `high`, or the type cannot hold the integers.

    Examples:
        >>> from minispore import ops
        >>> ops.randint(7, 8, (3,)).tolist()
        [7, 7, 7]

    Source: MindSpore's `mindspore.ops.randint`.
    """
    chosen = dtypes.int64 if dtype is None else dtypes.as_dtype(dtype)
    if chosen.category != dtypes.INTEGER:
        raise value_error(chosen, "dtype", "be a type of integers")
    numpy_dtype = cast("np.dtype[np.int64]", chosen.numpy_dtype)
    limits = np.iinfo(numpy_dtype)
    check_int(low, "low", low=limits.min, high=limits.max)
    check_int(high, "high", low=low + 1, high=limits.max + 1)
    if not isinstance(size, tuple):
        raise type_error(size, "size", "be a tuple of ints", ValueError)
    lengths = parse_shape(size, "size")
    return _draw(lambda rng: rng.integers(low, high, lengths, numpy_dtype), chosen, seed)


def randperm(n: int, seed: int = 0, offset: int = 0, dtype: DTypeLike = dtypes.int64) -> Tensor:
    """Return the integers from 0 to n − 1 in random order.

    Args:
        n: How many integers.
        seed: The seed of a separate random stream; 0 for the program's stream "ops".
        offset: Accepted for compatibility with MindSpore, without effect.
        dtype: The integer type.

    Returns:
        A tensor with one axis.

    Raises:
        ValueError: `n` is not above 0, or the type cannot hold `n - 1`.

    Examples:
        >>> from minispore import ops
        >>> sorted(ops.randperm(4).tolist())
        [0, 1, 2, 3]

    Source: MindSpore's `mindspore.ops.randperm`.
    """
    check_int(n, "n", low=1)
    check_int(offset, "offset", low=0)
    chosen = dtypes.as_dtype(dtype)
    check_int(seed, "seed", low=0)
    check_fits(n - 1, chosen)
    return _draw(lambda rng: rng.permutation(n), chosen, seed or None)


def uniform(
    shape: tuple[int, ...],
    minval: Tensor,
    maxval: Tensor,
    seed: int | None = None,
    dtype: DTypeLike = dtypes.float32,
) -> Tensor:
    """Return random numbers from the uniform distribution on [minval, maxval).

    Args:
        shape: The shape, which broadcasts with those of the bounds.
        minval: The smallest numbers.
        maxval: The bounds above.
        seed: As in `rand`.
        dtype: float32, or int32 for integers.

    Returns:
        A tensor of the broadcast shape.

    Raises:
        TypeError: A bound is not a tensor, or both hold bools and `dtype` is float32.
        ValueError: `dtype` is another type, or a bound above is not above the smallest number.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.uniform((2, 3), Tensor(1.0), Tensor(2.0)).shape
        (2, 3)

    Source: MindSpore's `mindspore.ops.uniform`.
    """
    check_tensor(minval, "minval")
    check_tensor(maxval, "maxval")
    chosen = dtypes.as_dtype(dtype)
    if chosen not in (dtypes.float32, dtypes.int32):
        raise value_error(chosen, "dtype", "be float32 or int32")
    low, high = minval.asnumpy(), maxval.asnumpy()
    lengths = _broadcast_lengths(shape, low, high)
    if not (low < high).all():
        raise ValueError(
            f"For 'uniform', the argument 'maxval' must be above 'minval', but got {high.tolist()} "
            f"and {low.tolist()}."
        )
    if chosen is dtypes.int32:
        return _draw(lambda rng: rng.integers(low, high, lengths), chosen, seed)
    if low.dtype == np.bool_:
        check_numbers(maxval, "maxval")  # numpy does not subtract bools from each other
    # Rounding must not give the bound above.
    below = np.nextafter(np.float32(high), np.float32(low))
    return _draw(
        lambda rng: np.minimum(low + (high - low) * rng.random(lengths), below), chosen, seed
    )


def standard_normal(shape: tuple[int, ...], seed: int | None = None) -> Tensor:
    """Return float32 random numbers from the standard normal distribution.

    Args:
        shape: The shape.
        seed: As in `rand`.

    Returns:
        A tensor of that shape.

    Examples:
        >>> from minispore import ops
        >>> ops.standard_normal((2, 3)).shape
        (2, 3)

    Source: MindSpore's `mindspore.ops.standard_normal`.
    """
    lengths = parse_shape(shape, "shape")
    return _draw(lambda rng: rng.standard_normal(lengths), dtypes.float32, seed)


def normal(
    shape: tuple[int, ...],
    mean: Tensor | float,
    stddev: Tensor | float,
    seed: int | None = None,
) -> Tensor:
    """Return float32 random numbers from normal distributions.

    Args:
        shape: The shape, which broadcasts with those of the other arguments.
        mean: The means.
        stddev: The standard deviations.
        seed: As in `rand`.

    Returns:
        A tensor of the broadcast shape.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.normal((2, 3), Tensor([0.0, 100.0, 200.0]), 1.0).shape
        (2, 3)

    Source: MindSpore's `mindspore.ops.normal`.
    """
    check_type(mean, (Tensor, int, float), "mean")
    check_type(stddev, (Tensor, int, float), "stddev")
    center, width = np.asarray(mean), np.asarray(stddev)
    lengths = _broadcast_lengths(shape, center, width)
    return _draw(lambda rng: center + width * rng.standard_normal(lengths), dtypes.float32, seed)


def multinomial(
    input: Tensor, num_samples: int, replacement: bool = True, seed: int | None = None
) -> Tensor:
    """Return random indices, each drawn with a probability that is proportional to its weight.

    Args:
        input: The weights: numbers of at least 0, of shape (n,) or (rows, n).
        num_samples: How many indices to draw, for each row.
        replacement: Whether an index may be drawn again.
        seed: As in `rand`.

    Returns:
        An int32 tensor of shape (num_samples,) or (rows, num_samples).

    Raises:
        TypeError: `input` is a tensor of bools.
        ValueError: A weight is negative or not finite, or a row has no weight above 0, or without
            replacement fewer than `num_samples`.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.multinomial(Tensor([[0.0, 2.0], [3.0, 0.0]]), 3).tolist()
        [[1, 1, 1], [0, 0, 0]]

    Source: MindSpore's `mindspore.ops.multinomial`.
    """
    check_numbers(input)
    check_int(num_samples, "num_samples", low=0, high=INT32_MAX)
    check_bool(replacement, "replacement")
    if input.ndim not in {1, 2}:
        raise shape_error(input, "input", "have one axis or two")
    weights = np.asarray(to_host(input._data), np.float64)
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("For 'multinomial', the weights must be finite and at least 0.")
    available = (weights > 0).sum(-1).min(initial=weights.shape[-1])
    needed = 1 if replacement else num_samples
    if num_samples and available < needed:
        raise ValueError(
            f"For 'multinomial', each row must have {needed} weights above 0 or more, but one has "
            f"{available}."
        )
    shape = (*weights.shape[:-1], num_samples)

    def draw(rng: np.random.Generator) -> AnyArray:
        if not replacement:
            # The times at which events of these rates first happen.
            with np.errstate(divide="ignore"):
                times = rng.exponential(size=weights.shape) / weights
            return np.asarray(times.argsort(-1)[..., :num_samples])
        ends = np.cumsum(weights, -1)
        points = rng.random(shape) * ends[..., -1:]
        return np.asarray((points[..., None] >= ends[..., None, :]).sum(-1))

    return _draw(draw, dtypes.int32, seed)


def dropout(
    input: Tensor, p: float = 0.5, training: bool = True, seed: int | None = None
) -> Tensor:
    """Return `input` with random elements zeroed, and the others divided by 1 − p.

    Args:
        input: A tensor of floats.
        p: The probability with which an element is zeroed, in [0, 1).
        training: Whether to drop elements; if not, `input` is returned.
        seed: The seed of a separate random stream, instead of the program's stream "dropout".
            `set_seed` restarts both.

    Returns:
        A tensor of the same shape and type.

    Raises:
        TypeError: In training, `input` does not hold floats.

    Examples:
        >>> from minispore import ops
        >>> sorted(set(ops.dropout(ops.ones(100)).tolist()))
        [0.0, 2.0]

    Source: MindSpore's `mindspore.ops.dropout`.
    """
    check_tensor(input)
    check_type(p, float, "p")
    if not 0 <= p < 1:
        raise ValueError(f"For 'dropout', the argument 'p' must be in [0, 1), but got {p}.")
    check_bool(training, "training")
    stream = _stream(seed, "dropout")
    if not training or p == 0:
        return input
    return apply_dropout_mask(input, 1 - p, stream, "input")


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Return images with random channels zeroed, and the others divided by 1 − p.

    Args:
        input: A tensor of floats, of the shape (n, channels, height, width), or as in PyTorch
            (n, channels, length).
        p: The probability with which a channel of an image is zeroed, in [0, 1].
        training: Whether to drop channels; if not, `input` is returned.

    Returns:
        A tensor of the same shape and type.

    Raises:
        TypeError: In training, `input` does not hold floats.
        ValueError: In training, `input` has not three or four axes; or `p` is out of range.

    Examples:
        >>> from minispore import ops
        >>> channels = ops.dropout2d(ops.ones((1, 100, 2, 2))).reshape(100, 4)
        >>> sorted({tuple(channel) for channel in channels.tolist()})
        [(0.0, 0.0, 0.0, 0.0), (2.0, 2.0, 2.0, 2.0)]

    Source: MindSpore's `mindspore.ops.dropout2d`.
    """
    check_tensor(input)
    check_number(p, "p", low=0.0, high=1.0)
    check_bool(training, "training")
    if not training:
        return input
    if input.ndim not in {3, 4}:
        raise shape_error(input, "input", "have 3 or 4 axes")
    if p == 0:
        return input
    return apply_dropout_mask(input, 1 - p, "dropout", "input", axes=2)


@in_float32
def apply_dropout_mask(
    x: Tensor, keep_prob: float, stream: str, name: str, axes: int | None = None
) -> Tensor:
    """Return `x` with each element kept with probability `keep_prob` and divided by it, or zeroed.

    Args:
        x: A tensor of floats.
        keep_prob: The probability with which an element is kept.
        stream: The name of the random stream.
        name: The name of the argument `x` in errors.
        axes: The elements at the same indices of so many first axes are kept or zeroed together;
            None for each alone.

    Raises:
        TypeError: `x` does not hold floats.
    """
    dtype = dtype_of(x)
    if dtype.category != dtypes.FLOAT:
        raise TypeError(
            f"For '{caller()}', the argument '{name}' must be of a float type, but got {dtype!r}."
        )
    shape = x.shape if axes is None else x.shape[:axes] + (1,) * (x.ndim - axes)

    def factors() -> AnyArray:
        is_kept = generator(stream).random(shape) < keep_prob
        return np.asarray(is_kept / (keep_prob or 1), dtype.numpy_dtype)

    return x * wrap(host_values(factors, x._data), x)


def _draw(
    draw: Callable[[np.random.Generator], AnyArray], dtype: DType, seed: int | None
) -> Tensor:
    """Return what a function draws from the stream of a seed, or from the program's stream."""
    stream = _stream(seed)

    def values() -> AnyArray:
        return np.asarray(draw(generator(stream)), dtype.numpy_dtype)

    return tensor_from_array(lambda: host_values(values))


def _stream(seed: object, name: str = "ops") -> str:
    """Return the name of a random stream of the program: `name`, or that of a seed."""
    return name if seed is None else f"ops {check_int(seed, 'seed', low=0)}"


def _broadcast_lengths(shape: object, *arrays: AnyArray) -> tuple[int, ...]:
    """Return the shape to which the argument `shape` and those of arrays broadcast."""
    return broadcast_shape(parse_shape(shape, "shape"), *(x.shape for x in arrays))


def _float_dtype(dtype: DTypeLike | None) -> DType:
    chosen = dtypes.float32 if dtype is None else dtypes.as_dtype(dtype)
    if chosen.category != dtypes.FLOAT:
        raise value_error(chosen, "dtype", "be a type of floats")
    return chosen


def _lengths(size: tuple[int | Sequence[int], ...]) -> tuple[int, ...]:
    """Return the shape that several ints or one sequence of ints specify."""
    if not size:
        return (1,)
    items = as_items(size[0]) if len(size) == 1 else None
    return parse_shape(size if items is None else items, "size")
