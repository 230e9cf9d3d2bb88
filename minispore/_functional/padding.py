"""Padding: a tensor with something around it."""

from collections.abc import Sequence

from minispore._array import device_namespace
from minispore._checks import check_one_of, check_type
from minispore._functional.apply import apply1
from minispore._functional.arithmetic import add
from minispore._functional.axes import as_shape
from minispore._functional.indexing import getitem
from minispore._functional.operands import Number, dtype_of
from minispore._functional.variable import T, check_tensor, wrap
from minispore._rules import indexing

# Of MindSpore's four modes the others are not supported.
_MODES = ("constant",)


def pad(
    input_x: T, padding: Sequence[int], mode: str = "constant", value: Number | None = None
) -> T:
    """`input_x` with more elements before and behind its last axes, or with fewer.

    >>> from minispore import Tensor, ops
    >>> ops.pad(Tensor([[1, 2]]), (1, 0, 0, 1), value=7).tolist()
    [[7, 1, 2], [7, 7, 7]]

    Args:
        input_x: The tensor.
        padding: How many before and behind the last axis, then the last but one, and so on; of a
            negative number as many are cut off.
        mode: What they are: "constant" for `value`.
        value: The number; 0 by default.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: `padding` is not of pairs, of more than there are axes, or cuts off more than
            there is; or `mode` is another one of MindSpore's, which are not supported.
    """
    check_tensor(input_x, "pad", "input_x")
    check_one_of(mode, _MODES, "mode", "pad")
    numbers = as_shape(padding, "pad", "padding")
    ndim, lengths = input_x.ndim, input_x.shape
    if len(numbers) % 2 or len(numbers) > 2 * ndim:
        raise ValueError(
            f"For 'pad', the argument 'padding' must be of pairs, for at most {ndim} axes, "
            f"but got {numbers}."
        )
    # The last axis comes first.
    pairs = [(numbers[i], numbers[i + 1]) for i in range(0, len(numbers), 2)][::-1]
    pairs = [(0, 0)] * (ndim - len(pairs)) + pairs
    if any(n + min(a, 0) + min(b, 0) < 0 for n, (a, b) in zip(lengths, pairs, strict=True)):
        raise ValueError(
            f"For 'pad', the argument 'padding' must not cut off more than there is, but got "
            f"{numbers} for the shape {lengths}."
        )
    kept = [slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(lengths, pairs, strict=True)]
    inner = getitem(input_x, tuple(kept))
    number = 0 if value is None else value
    if not isinstance(number, int | float):
        check_type(value, (bool, int, float), "value", "pad", none=True)
    return around(inner, [(max(a, 0), max(b, 0)) for a, b in pairs], number)


def around(x: T, added: Sequence[tuple[int, int]], value: float) -> T:
    """`x` with as many elements of `value` before and behind each axis as `added` says."""
    index = tuple(slice(a, a + n) for n, (a, _) in zip(x.shape, added, strict=True))
    shape = tuple(a + n + b for n, (a, b) in zip(x.shape, added, strict=True))
    if shape == x.shape:
        return x
    y = apply1(indexing.scatter, x, index, shape)
    if value == 0:
        return y
    xp = device_namespace(x._data)
    try:
        border = xp.full(shape, value, x._data.dtype)
    except OverflowError:
        raise ValueError(f"For 'pad', the number {value} does not fit {dtype_of(x)!r}.") from None
    xp.assign(border, index, 0)
    return add(y, wrap(border, x))
