"""Text labels of arrays: their elements if there are few, otherwise a summary."""

import numpy as np

from minispore.engine.array import Array, to_host
from minispore.utils.checks import is_list

# Elements are shown if there are at most so many and their text is not longer than so many letters.
_MAX_ELEMENTS = 4
_MAX_LETTERS = 24


def value_of(array: Array) -> str:
    """Return the elements, or the shape.

    >>> value_of(np.array([1.0, 2.5])), value_of(np.zeros((32, 10)))
    ('[1, 2.5]', '(32, 10)')
    """
    return _elements(array) or shape_of(array.shape)


def gradient_of(array: Array) -> str:
    """Return the elements, or the maximum of their absolute values.

    >>> gradient_of(np.array([1.0, 2.5])), gradient_of(np.full((32, 10), -0.25))
    ('grad [1, 2.5]', '|grad| ≤ 0.25')
    """
    text = _elements(array)
    if text or 0 in array.shape:
        return f"grad {text or shape_of(array.shape)}"
    return f"|grad| ≤ {float(np.max(np.abs(to_host(array)))):.3g}"


def shape_of(shape: tuple[int, ...]) -> str:
    """Return a shape as Python prints it."""
    return str(tuple(shape))


def counted(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> counted(1, "parameter"), counted(61706, "parameter")
    ('1 parameter', '61,706 parameters')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _elements(array: Array) -> str:
    values = to_host(array)
    if values.size > _MAX_ELEMENTS or not values.size:
        return ""
    text = _nested(values.tolist())
    return text if len(text) <= _MAX_LETTERS else ""


def _nested(value: object) -> str:
    if is_list(value):
        return f"[{', '.join(map(_nested, value))}]"
    return _number(value)


def _number(value: object) -> str:
    # Adding zero turns -0.0 into 0.0.
    return f"{value + 0.0:.4g}" if isinstance(value, float) else str(value)
