"""Tensors of chance: numbers drawn from the program's random streams, and dropout."""

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from minispore import _dtype
from minispore._array import beside, from_host
from minispore._checks import as_items, check_bool, check_int, check_type, described
from minispore._dtype import DType, DTypeLike
from minispore._functional.operands import dtype_of
from minispore._functional.variable import check_tensor, wrap
from minispore.common.seed import generator
from minispore.common.tensor import Tensor
from minispore.ops._creation import lengths_of, made

# Of a float type's numbers in [0, 1), by its bytes: so many bits make each equally likely.
_BITS = {2: 11, 4: 24, 8: 53}


def rand(
    *size: int | Sequence[int], dtype: DTypeLike | None = None, seed: int | None = None
) -> Tensor:
    """Numbers in [0, 1), each as likely as another; of shape (1,) if none is given.

    >>> from minispore import ops
    >>> x = ops.rand(2, 3)
    >>> x.shape, bool((x >= 0).all()), bool((x < 1).all())
    ((2, 3), True, True)

    Source: MindSpore's `mindspore.ops.rand`.

    Args:
        *size: The shape, as ints or as one list or tuple of them.
        dtype: A type of floats, float32 by default.
        seed: Draws from a random stream of its own instead of the program's stream "ops".
            `set_seed` starts both anew.

    Raises:
        TypeError: A length or `seed` is no int, or `dtype` no data type.
        ValueError: A length or `seed` is negative, or `dtype` no type of floats.
    """
    chosen = _floats(dtype, "rand")
    lengths = _lengths(size, "rand")
    bits = _BITS[chosen.numpy_dtype.itemsize]
    drawn = _stream(seed, "rand")
    return _drawn("rand", lambda: drawn.integers(0, 1 << bits, lengths) / (1 << bits), chosen)


def randn(
    *size: int | Sequence[int], dtype: DTypeLike | None = None, seed: int | None = None
) -> Tensor:
    """Normally distributed numbers of mean 0 and variance 1; of shape (1,) if none is given.

    >>> from minispore import ops
    >>> ops.randn(2, 3).shape
    (2, 3)

    Source: MindSpore's `mindspore.ops.randn`.

    Args:
        *size: The shape, as ints or as one list or tuple of them.
        dtype: A type of floats, float32 by default.
        seed: As in `rand`.

    Raises:
        TypeError: A length or `seed` is no int, or `dtype` no data type.
        ValueError: A length or `seed` is negative, or `dtype` no type of floats.
    """
    chosen = _floats(dtype, "randn")
    lengths = _lengths(size, "randn")
    drawn = _stream(seed, "randn")
    return _drawn("randn", lambda: drawn.standard_normal(lengths), chosen)


def randint(
    low: int,
    high: int,
    size: tuple[int, ...],
    seed: int | None = None,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Integers from `low` up to but not including `high`, each as likely as another.

    >>> from minispore import ops
    >>> ops.randint(7, 8, (3,))
    Tensor(shape=[3], dtype=Int64, value= [7, 7, 7])

    Source: MindSpore's `mindspore.ops.randint`.

    Args:
        low: The smallest.
        high: One more than the largest.
        size: The shape.
        seed: As in `rand`.
        dtype: A type of integers, int64 by default.

    Raises:
        TypeError: A number is no int, or `dtype` no data type.
        ValueError: There is nothing from `low` to `high` that the type holds, `size` is no tuple,
            a length or `seed` is negative, or `dtype` no type of integers.
    """
    owner = "randint"
    chosen = _dtype.int64 if dtype is None else _dtype.as_dtype(dtype, owner)
    if chosen.category != _dtype.INTEGER:
        raise ValueError(
            f"For '{owner}', the argument 'dtype' must be a type of integers, but got {chosen!r}."
        )
    numpy_dtype = cast("np.dtype[np.int64]", chosen.numpy_dtype)
    limits = np.iinfo(numpy_dtype)
    check_int(low, "low", owner, low=limits.min, high=limits.max)
    check_int(high, "high", owner, low=low + 1, high=limits.max + 1)
    if not isinstance(size, tuple):
        raise ValueError(
            f"For '{owner}', the argument 'size' must be a tuple of ints, but got "
            f"{described(size)}."
        )
    lengths = lengths_of(size, "size", owner)
    drawn = _stream(seed, owner)
    return _drawn(owner, lambda: drawn.integers(low, high, lengths, numpy_dtype), chosen)


def dropout(
    input: Tensor, p: float = 0.5, training: bool = True, seed: int | None = None
) -> Tensor:
    """Zeros at random places, and the rest scaled up to keep the mean.

    >>> from minispore import ops
    >>> sorted(set(ops.dropout(ops.ones(100)).tolist()))
    [0.0, 2.0]

    Source: MindSpore's `mindspore.ops.dropout`.

    Args:
        input: The tensor, of floats.
        p: The share of elements dropped.
        training: Whether anything is done at all.
        seed: Draws from a random stream of its own instead of the program's stream "dropout".
            `set_seed` starts both anew.

    Raises:
        TypeError: `input` is no tensor or, in training, of no float type; or another argument is
            of the wrong type.
        ValueError: `p` is not in [0, 1), or `seed` negative.
    """
    check_tensor(input, "dropout")
    check_type(p, float, "p", "dropout")
    if not 0 <= p < 1:
        raise ValueError(f"For 'dropout', the argument 'p' must be in [0, 1), but got {p}.")
    check_bool(training, "training", "dropout")
    drawn = _stream(seed, "dropout", "dropout")
    if not training or p == 0:
        return input
    return thinned(input, 1 - p, drawn, "input", "dropout")


def thinned(x: Tensor, kept: float, drawn: "np.random.Generator", name: str, owner: str) -> Tensor:
    """`x` with the share `kept` of its elements, scaled up, and zeros in the place of the others.

    Raises:
        TypeError: It is of no float type.
    """
    dtype = dtype_of(x)
    if dtype.category != _dtype.FLOAT:
        raise TypeError(
            f"For '{owner}', the argument '{name}' must be of a float type, but got {dtype!r}."
        )
    factors = np.asarray((drawn.random(x.shape) < kept) / kept, dtype.numpy_dtype)
    return x * wrap(beside(factors, x._data), x)


def _drawn(owner: str, draw: Callable[[], NDArray[np.generic]], dtype: DType) -> Tensor:
    return made(owner, lambda: from_host(np.asarray(draw(), dtype.numpy_dtype)))


def _stream(seed: object, owner: str, name: str = "ops") -> "np.random.Generator":
    """The program's random stream of that name, or that for a seed of its own."""
    if seed is None:
        return generator(name)
    return generator(f"ops {check_int(seed, 'seed', owner, low=0)}")


def _floats(dtype: DTypeLike | None, owner: str) -> DType:
    chosen = _dtype.float32 if dtype is None else _dtype.as_dtype(dtype, owner)
    if chosen.category != _dtype.FLOAT:
        raise ValueError(
            f"For '{owner}', the argument 'dtype' must be a type of floats, but got {chosen!r}."
        )
    return chosen


def _lengths(size: tuple[int | Sequence[int], ...], owner: str) -> tuple[int, ...]:
    """One sequence or several ints, as a shape."""
    if not size:
        return (1,)
    items = as_items(size[0]) if len(size) == 1 else None
    return lengths_of(cast("Sequence[int]", size if items is None else items), "size", owner)
