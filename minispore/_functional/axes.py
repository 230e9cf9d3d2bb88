"""What users write for shapes and axes, checked."""

from typing import cast

import numpy as np

from minispore._array import Axis, Shape
from minispore._checks import as_items, described

# numpy's count too: a product of lengths is one. Cast, since its stubs leave the type generic.
_INTS = (int, cast("type[int]", np.integer))


def as_shape(shape: object, owner: str, name: str = "shape") -> Shape:
    """`shape` as a tuple of ints: an int counts as one length.

    Raises:
        TypeError: It is neither an int nor a sequence of ints.
    """
    items = tuple(shape) if isinstance(shape, range) else as_items(shape)
    result: list[int] = []
    for n in (shape,) if items is None else items:
        if type(n) is not int and (isinstance(n, bool) or not isinstance(n, _INTS)):
            raise TypeError(
                f"For '{owner}', the argument '{name}' must be an int or a sequence of ints, "
                f"but got {described(shape)}."
            )
        result.append(int(n))
    return tuple(result)


def check_axis(axis: object, ndim: int, name: str, owner: str) -> int:
    """`axis` counted from the front.

    Raises:
        TypeError: It is no int.
        ValueError: It is out of range.
    """
    if type(axis) is not int and (isinstance(axis, bool) or not isinstance(axis, _INTS)):
        raise TypeError(
            f"For '{owner}', the argument '{name}' must be an int, but got {described(axis)}."
        )
    if not -ndim <= axis < ndim:
        raise ValueError(
            f"For '{owner}', the argument '{name}' must be in [{-ndim}, {ndim}), but got {axis}."
        )
    return int(axis if axis >= 0 else axis + ndim)


def as_axes(axis: object, ndim: int, owner: str, name: str = "axis") -> Axis:
    """`axis` if it names axes, each once; a list counts as a tuple, None and an empty one as all.

    Raises:
        TypeError: It is neither an int nor a sequence of ints.
        ValueError: It is out of range, or names an axis twice.
    """
    if axis is None:
        return None
    items = as_items(axis)
    if items is None:
        return check_axis(axis, ndim, name, owner)
    named = tuple(check_axis(item, ndim, name, owner) for item in items)
    if len(set(named)) < len(named):
        raise ValueError(f"For '{owner}', the argument '{name}' names an axis twice: {axis!r}.")
    return named or None


def check_elements(shape: Shape, axes: Axis, owner: str) -> None:
    """Raise ValueError where there is nothing along `axes`: of nothing there is no largest."""
    if 0 not in shape:
        return
    named = range(len(shape)) if axes is None else (axes,) if isinstance(axes, int) else axes
    if any(shape[i] == 0 for i in named):
        raise ValueError(
            f"For '{owner}', there must be elements to choose from, but the shape is {shape} "
            f"and the axis {axes!r}."
        )
