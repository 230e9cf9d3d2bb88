"""The same elements several times, or turned round."""

from collections.abc import Sequence
from math import prod

import numpy as np

from minispore import _dtype
from minispore._array import beside, to_host
from minispore._checks import as_items, check_int, described
from minispore._functional.apply import apply1
from minispore._functional.axes import as_shape, check_axis
from minispore._functional.operands import dtype_of
from minispore._functional.variable import T, Variable, check_tensor
from minispore._rules import indexing
from minispore._rules import shape as rules

_MOST = (1 << 31) - 1


def tile(input: T, dims: tuple[int, ...]) -> T:
    """`input` side by side with itself, as many times along each axis as `dims` says.

    >>> from minispore import Tensor, ops
    >>> ops.tile(Tensor([1, 2]), (2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]

    Source: MindSpore's `mindspore.ops.tile`.

    Args:
        input: The tensor.
        dims: A number for each axis, the last ones if it is shorter; if it is longer there are new
            axes in front.

    Raises:
        TypeError: `input` is no tensor, or `dims` no tuple of ints.
        ValueError: A number is negative.
    """
    check_tensor(input, "tile")
    if not isinstance(dims, tuple):
        raise TypeError(
            f"For 'tile', the argument 'dims' must be a tuple of ints, but got {described(dims)}."
        )
    counts = as_shape(dims, "tile", "dims")
    for n in counts:
        check_int(n, "dims", "tile", low=0, high=_MOST)
    counts = (1,) * (input.ndim - len(counts)) + counts
    own = (1,) * (len(counts) - input.ndim) + input.shape
    # Each axis with a new one before it, along which it is repeated.
    pairs = list(zip(counts, own, strict=True))
    split = apply1(rules.reshape, input, tuple(n for m in own for n in (1, m)))
    full = apply1(rules.broadcast_to, split, tuple(n for each in pairs for n in each))
    return apply1(rules.reshape, full, tuple(n * m for n, m in pairs))


def repeat_interleave(
    input: T, repeats: int | Sequence[int] | Variable, axis: int | None = None
) -> T:
    """Each element along `axis` several times, one behind the other.

    >>> from minispore import Tensor, ops
    >>> ops.repeat_interleave(Tensor([1, 2]), 2).tolist()
    [1, 1, 2, 2]
    >>> ops.repeat_interleave(Tensor([[1, 2]]), (1, 2), 1).tolist()
    [[1, 2, 2]]

    Source: MindSpore's `mindspore.ops.repeat_interleave`.

    Args:
        input: The tensor.
        repeats: How many times, for all elements or for each.
        axis: The axis; None for the elements of the flattened tensor.

    Raises:
        TypeError: `input` is no tensor, `axis` no int, or `repeats` not of ints.
        ValueError: `axis` is out of range, `repeats` negative or of another length than `axis`.
    """
    owner = "repeat_interleave"
    check_tensor(input, owner)
    x = input
    if axis is None:
        x, place = apply1(rules.reshape, input, (prod(input.shape),)), 0
    else:
        place = check_axis(axis, input.ndim, "axis", owner)
    counts = _counts(repeats, owner)
    before, length, after = x.shape[:place], x.shape[place], x.shape[place + 1 :]
    if len(counts) == 1:
        new = apply1(rules.expand_dims, x, place + 1)
        full = apply1(rules.broadcast_to, new, (*before, length, counts[0], *after))
        return apply1(rules.reshape, full, (*before, length * counts[0], *after))
    if len(counts) != length:
        raise ValueError(
            f"For '{owner}', the argument 'repeats' must be of one number or of {length}, "
            f"but got {len(counts)}."
        )
    places = beside(np.repeat(np.arange(length), counts), x._data)
    return apply1(indexing.getitem, x, (slice(None),) * place + (places,))


def flip(input: T, dims: Sequence[int]) -> T:
    """The elements in reverse order along the axes `dims`.

    >>> from minispore import Tensor, ops
    >>> ops.flip(Tensor([[1, 2], [3, 4]]), (0,)).tolist()
    [[3, 4], [1, 2]]

    Source: MindSpore's `mindspore.ops.flip`.

    Raises:
        TypeError: `input` is no tensor, or `dims` no list or tuple of ints.
        ValueError: An axis is out of range or named twice.
    """
    check_tensor(input, "flip")
    items = as_items(dims)
    if items is None:
        raise TypeError(
            "For 'flip', the argument 'dims' must be a list or tuple of ints, "
            f"but got {described(dims)}."
        )
    places = [check_axis(item, input.ndim, "dims", "flip") for item in items]
    if len(set(places)) < len(places):
        raise ValueError(f"For 'flip', the argument 'dims' names an axis twice: {dims!r}.")
    steps = tuple(slice(None, None, -1 if i in places else 1) for i in range(input.ndim))
    return apply1(indexing.getitem, input, steps)


def _counts(repeats: object, owner: str) -> tuple[int, ...]:
    if isinstance(repeats, Variable):
        if dtype_of(repeats).category != _dtype.INTEGER or repeats.ndim > 1:
            raise TypeError(
                f"For '{owner}', a Tensor 'repeats' must be of integers and have one axis at most, "
                f"but is of {dtype_of(repeats)!r} and of shape {repeats.shape}."
            )
        host = to_host(repeats._data)
        repeats = host.reshape(-1).tolist()
    counts = as_shape(repeats, owner, "repeats")
    for n in counts:
        check_int(n, "repeats", owner, low=0, high=_MOST)
    return counts
