"""How windows slide over the rows and columns of images: sizes, steps and what is added around."""

from typing import NamedTuple, TypeAlias, cast

from minispore._checks import as_items, check_int, described
from minispore._functional.apply import apply1
from minispore._functional.padding import around
from minispore._functional.variable import T
from minispore._rules import shape, windows

# What MindSpore calls the ways to add zeros around an image.
PAD_MODES = ("same", "valid", "pad")
# Images are (N, C, H, W) for the user. While windows slide over them they lie (H, C, W, N) in
# memory, each axis for a reason: windows of neighbouring rows are one matrix as they lie there, and
# what is done to a window's columns is done to many numbers in a row.
_INSIDE, _OUTSIDE = (2, 1, 3, 0), (3, 1, 0, 2)
ROWS, COLUMNS = 0, 2
# More than an image can have, and so little that no array library's integers overflow.
_MOST = (1 << 31) - 1
# How much is added to an image: above, below, to the left and to the right.
Padding: TypeAlias = tuple[int, int, int, int]


class Sliding(NamedTuple):
    """How windows slide along an axis.

    Attributes:
        size: How many elements a window has.
        step: How far it is from one window to the next.
        spread: How far it is from one of its elements to the next.
        before: How many elements are added before the axis.
        after: How many are added behind it.
    """

    size: int
    step: int = 1
    spread: int = 1
    before: int = 0
    after: int = 0

    @property
    def span(self) -> int:
        """From a window's first element to its last."""
        return self.spread * (self.size - 1) + 1

    def count(self, length: int) -> int:
        """How many windows there are along an axis."""
        return (length + self.before + self.after - self.span) // self.step + 1

    def same(self, length: int) -> "Sliding":
        """With as much around as makes ⌈length / step⌉ windows, of an odd number more behind."""
        around = max((-(-length // self.step) - 1) * self.step + self.span - length, 0)
        return self._replace(before=around // 2, after=around - around // 2)

    def ceiled(self, length: int) -> "Sliding":
        """With as much more behind as makes a window of what is left, if it begins in the axis."""
        room = length + self.before + self.after - self.span
        count = -(-room // self.step) + 1
        if (count - 1) * self.step >= length + self.before:
            count -= 1
        more = (count - 1) * self.step + self.span - length - self.before
        return self._replace(after=max(more, 0))


def inside(x: T) -> T:
    """Images (N, C, H, W) as (H, C, W, N)."""
    return apply1(shape.permute, x, _INSIDE)


def outside(x: T) -> T:
    """Images (H, C, W, N) as (N, C, H, W)."""
    return apply1(shape.permute, x, _OUTSIDE)


def surrounded(x: T, rows: Sliding, columns: Sliding, value: float = 0) -> T:
    """Images (H, C, W, N) with `value` around them."""
    added = [(rows.before, rows.after), (0, 0), (columns.before, columns.after), (0, 0)]
    return around(x, added, value)


def slid(x: T, axis: int, sliding: Sliding) -> T:
    """The windows along `axis`, in the place of which are the two axes (count, size)."""
    return apply1(windows.windows, x, axis, sliding.size, sliding.step, sliding.spread)


def of_tuple(value: object) -> tuple[object, ...] | None:
    """The items of a tuple; None for anything else, also for a list."""
    # The cast says what isinstance cannot: that the items are objects rather than unknown.
    return cast("tuple[object, ...]", value) if isinstance(value, tuple) else None


def as_pair(
    value: object,
    name: str,
    owner: str,
    *,
    low: int = 1,
    lists: bool = False,
    wrong_length: type[Exception] = ValueError,
) -> tuple[int, int]:
    """An int as two equal ones, a tuple of two as it is.

    Args:
        value: What was given.
        name: The argument's name.
        owner: Whose argument it is.
        low: The least that each may be.
        lists: Whether a list will do for a tuple.
        wrong_length: What to raise where there are not two.

    Raises:
        TypeError: It is neither an int nor a tuple of ints.
        ValueError: One is below `low`.
    """
    items = as_items(value) if lists else of_tuple(value)
    if items is None:
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(
                f"For '{owner}', the argument '{name}' must be an int or a tuple of two ints, "
                f"but got {described(value)}."
            )
        items = (value, value)
    if len(items) != 2:
        raise wrong_length(
            f"For '{owner}', the argument '{name}' must be an int or a tuple of two ints, "
            f"but got {described(value)}."
        )
    first, second = (check_int(item, name, owner, low=low, high=_MOST) for item in items)
    return first, second


def check_windows(sliding: Sliding, length: int, name: str, owner: str) -> None:
    """Raise ValueError where not even one window fits into an axis."""
    if sliding.count(length) < 1:
        around = sliding.before + sliding.after
        raise ValueError(
            f"For '{owner}', the {name} of the input with what is added around, "
            f"{length} + {around}, must hold a window of {sliding.span}."
        )


def as_padding(padding: object, owner: str) -> Padding:
    """`padding` as four numbers: above, below, left, right.

    Raises:
        TypeError: It is neither an int nor a tuple of ints.
        ValueError: There are not four, or one is negative.
    """
    items = of_tuple(padding) or (padding,) * 4
    if len(items) != 4:
        raise ValueError(
            f"For '{owner}', the argument 'padding' must be an int or a tuple of four ints, "
            f"but got {described(padding)}."
        )
    above, below, left, right = (
        check_int(item, "padding", owner, low=0, high=_MOST) for item in items
    )
    return above, below, left, right
