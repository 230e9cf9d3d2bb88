"""What users write for shapes and axes, checked."""

from minispore._array import Axis, Shape
from minispore._checks import as_items


def as_shape(shape: object, owner: str) -> Shape:
    """`shape` as a tuple of ints: an int counts as one length.

    Raises:
        TypeError: It is neither an int nor a sequence of ints.
    """
    items = as_items(shape)
    result: list[int] = []
    for n in (shape,) if items is None else items:
        if not isinstance(n, int) or isinstance(n, bool):
            raise TypeError(
                f"For '{owner}', the argument 'shape' must be an int or a sequence of ints, "
                f"but got {shape!r}."
            )
        result.append(n)
    return tuple(result)


def check_axis(axis: object, ndim: int, name: str, owner: str) -> int:
    """`axis` counted from the front.

    Raises:
        TypeError: It is no int.
        ValueError: It is out of range.
    """
    if not isinstance(axis, int) or isinstance(axis, bool):
        raise TypeError(f"For '{owner}', the argument '{name}' must be an int, but got {axis!r}.")
    if not -ndim <= axis < ndim:
        raise ValueError(
            f"For '{owner}', the argument '{name}' must be in [{-ndim}, {ndim}), but got {axis}."
        )
    return axis % ndim


def as_axes(axis: object, ndim: int, owner: str) -> Axis:
    """`axis` if it names axes, each once; a list counts as a tuple, None and an empty one as all.

    Raises:
        TypeError: It is neither an int nor a sequence of ints.
        ValueError: It is out of range, or names an axis twice.
    """
    items = as_items(axis)
    if axis is None or items == ():
        return None
    if items is None:
        return check_axis(axis, ndim, "axis", owner)
    named = tuple(check_axis(item, ndim, "axis", owner) for item in items)
    if len(set(named)) < len(named):
        raise ValueError(f"For '{owner}', the argument 'axis' names an axis twice: {axis!r}.")
    return named
