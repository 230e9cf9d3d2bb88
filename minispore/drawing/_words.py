"""What a picture says of an array: its elements where they are few, else what it is like."""

from typing import cast

import numpy as np

from minispore._array import Array, to_host

# So many elements can be read at a glance, if their text is no longer than this.
_ELEMENTS = 4
_LETTERS = 24


def value_of(array: Array) -> str:
    """The elements, or the shape.

    >>> value_of(np.array([1.0, 2.5])), value_of(np.zeros((32, 10)))
    ('[1, 2.5]', '(32, 10)')
    """
    return _elements(array) or shape_of(array.shape)


def gradient_of(array: Array) -> str:
    """The elements, or how far from zero they are.

    >>> gradient_of(np.array([1.0, 2.5])), gradient_of(np.full((32, 10), -0.25))
    ('grad [1, 2.5]', '|grad| ≤ 0.25')
    """
    text = _elements(array)
    if text or 0 in array.shape:
        return f"grad {text or shape_of(array.shape)}"
    return f"|grad| ≤ {float(np.max(np.abs(to_host(array)))):.3g}"


def shape_of(shape: tuple[int, ...]) -> str:
    """A shape, as Python writes it."""
    return str(tuple(shape))


def counted(count: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "parameter"), counted(61706, "parameter")
    ('1 parameter', '61,706 parameters')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _elements(array: Array) -> str:
    values = to_host(array)
    if values.size > _ELEMENTS or not values.size:
        return ""
    text = _nested(values.tolist())
    return text if len(text) <= _LETTERS else ""


def _nested(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_nested(item) for item in cast('list[object]', value))}]"
    return _number(value)


def _number(value: object) -> str:
    # Adding zero turns the negative zero into the other.
    return f"{value + 0.0:.4g}" if isinstance(value, float) else str(value)
