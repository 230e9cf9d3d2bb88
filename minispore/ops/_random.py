"""Random tensors and dropout, drawn from the program's random streams."""

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from minispore.common.seed import generator
from minispore.common.tensor import Tensor
from minispore.engine import dtypes
from minispore.engine.array import from_host, to_device_of
from minispore.engine.dispatch import check_tensor, dtype_of, wrap
from minispore.engine.dtypes import DType, DTypeLike
from minispore.ops._creation import parse_shape, tensor_from_array
from minispore.utils.checks import as_items, check_bool, check_int, check_type, describe_value

__all__ = ["dropout", "rand", "randint", "randn"]

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
    chosen = _float_dtype(dtype, "rand")
    lengths = _lengths(size, "rand")
    bits = _BITS[chosen.numpy_dtype.itemsize]
    rng = _stream(seed, "rand")
    return _draw("rand", lambda: rng.integers(0, 1 << bits, lengths) / (1 << bits), chosen)


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
    chosen = _float_dtype(dtype, "randn")
    lengths = _lengths(size, "randn")
    rng = _stream(seed, "randn")
    return _draw("randn", lambda: rng.standard_normal(lengths), chosen)


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
    caller = "randint"
    chosen = dtypes.int64 if dtype is None else dtypes.as_dtype(dtype, caller)
    if chosen.category != dtypes.INTEGER:
        raise ValueError(
            f"For '{caller}', the argument 'dtype' must be a type of integers, but got {chosen!r}."
        )
    numpy_dtype = cast("np.dtype[np.int64]", chosen.numpy_dtype)
    limits = np.iinfo(numpy_dtype)
    check_int(low, "low", caller, low=limits.min, high=limits.max)
    check_int(high, "high", caller, low=low + 1, high=limits.max + 1)
    if not isinstance(size, tuple):
        raise ValueError(
            f"For '{caller}', the argument 'size' must be a tuple of ints, but got "
            f"{describe_value(size)}."
        )
    lengths = parse_shape(size, "size", caller)
    rng = _stream(seed, caller)
    return _draw(caller, lambda: rng.integers(low, high, lengths, numpy_dtype), chosen)


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
    check_tensor(input, "dropout")
    check_type(p, float, "p")
    if not 0 <= p < 1:
        raise ValueError(f"For 'dropout', the argument 'p' must be in [0, 1), but got {p}.")
    check_bool(training, "training")
    rng = _stream(seed, "dropout", "dropout")
    if not training or p == 0:
        return input
    return apply_dropout_mask(input, 1 - p, rng, "input", "dropout")


def apply_dropout_mask(
    x: Tensor, keep_prob: float, rng: "np.random.Generator", name: str, caller: str
) -> Tensor:
    """Return `x` with each element kept with probability `keep_prob` and divided by it, or zeroed.

    Args:
        x: A tensor of floats.
        keep_prob: The probability with which an element is kept, above 0.
        rng: The source of random numbers.
        name: The name of the argument `x` in errors.
        caller: The name of the function in errors.

    Raises:
        TypeError: `x` does not hold floats.
    """
    dtype = dtype_of(x)
    if dtype.category != dtypes.FLOAT:
        raise TypeError(
            f"For '{caller}', the argument '{name}' must be of a float type, but got {dtype!r}."
        )
    factors = np.asarray((rng.random(x.shape) < keep_prob) / keep_prob, dtype.numpy_dtype)
    return x * wrap(to_device_of(factors, x._data), x)


def _draw(caller: str, draw: Callable[[], NDArray[np.generic]], dtype: DType) -> Tensor:
    return tensor_from_array(caller, lambda: from_host(np.asarray(draw(), dtype.numpy_dtype)))


def _stream(seed: object, caller: str, name: str = "ops") -> "np.random.Generator":
    """Return the program's random stream of a name, or that of a seed."""
    if seed is None:
        return generator(name)
    return generator(f"ops {check_int(seed, 'seed', caller, low=0)}")


def _float_dtype(dtype: DTypeLike | None, caller: str) -> DType:
    chosen = dtypes.float32 if dtype is None else dtypes.as_dtype(dtype, caller)
    if chosen.category != dtypes.FLOAT:
        raise ValueError(
            f"For '{caller}', the argument 'dtype' must be a type of floats, but got {chosen!r}."
        )
    return chosen


def _lengths(size: tuple[int | Sequence[int], ...], caller: str) -> tuple[int, ...]:
    """Return the shape that several ints or one sequence of ints specify."""
    if not size:
        return (1,)
    items = as_items(size[0]) if len(size) == 1 else None
    return parse_shape(cast("Sequence[int]", size if items is None else items), "size", caller)
