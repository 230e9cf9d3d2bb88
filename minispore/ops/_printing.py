"""The repr of a tensor, in MindSpore's format."""

from collections.abc import Callable, Iterable
from html import escape

import numpy as np

from minispore.engine import dtypes
from minispore.utils.arrays import AnyArray

# Of longer axes only the first and last elements are shown.
_EDGE = 3
_LONGEST_AXIS = 6
_LONGEST_VECTOR = 1000


def tensor_repr(values: AnyArray) -> str:
    """Return the shape, type and values of a tensor as a string.

    >>> tensor_repr(np.array([1, -2]))
    'Tensor(shape=[2], dtype=Int64, value= [ 1, -2])'
    """
    shape = ", ".join(str(n) for n in values.shape)
    head = f"Tensor(shape=[{shape}], dtype={dtypes.from_array_dtype(values.dtype)}, value="
    if values.ndim == 0:
        return f"{head} {_scalar(values)})"
    gap = " " if values.ndim == 1 else "\n"
    return f"{head}{gap}{_values(values) if values.size else ''})"


def tensor_html(values: AnyArray, kind: str, name: str) -> str:
    """Return the kind, name, shape, type and values of a tensor as HTML.

    >>> tensor_html(np.array([1, 2]), "Tensor", "")
    '<b>Tensor</b> (2,) Int64<pre>[1 2]</pre>'
    """
    dtype = dtypes.from_array_dtype(values.dtype)
    head = f"<b>{kind}{f' {escape(name)}' if name else ''}</b> {values.shape} {dtype}"
    text = np.array2string(values, threshold=200, edgeitems=3, precision=4, suppress_small=True)
    return f"{head}<pre>{escape(text)}</pre>"


def _scalar(values: AnyArray) -> str:
    value = values.item()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _values(values: AnyArray) -> str:
    longest = _LONGEST_VECTOR if values.ndim == 1 else _LONGEST_AXIS
    shortened = [n > longest for n in values.shape]
    shown = values
    for axis, short in enumerate(shortened):
        if short:
            shown = np.take(shown, [*range(_EDGE), *range(-_EDGE, 0)], axis)
    text = _text_of(shown)
    per_line = 24 if dtypes.from_array_dtype(values.dtype).category == dtypes.INTEGER else 12

    def block(part: AnyArray, axis: int) -> str:
        if part.ndim == 1:
            return f"[{_row([text(x) for x in part.tolist()], per_line, shortened[axis])}]"
        blocks = [block(inner, axis + 1) for inner in part]
        return f"[{_column(blocks, ' ' * (axis + 1), shortened[axis])}]"

    return block(shown, 0)


def _row(texts: list[str], per_line: int, shortened: bool) -> str:
    if shortened:
        return f"{', '.join(texts[:_EDGE])} ... {', '.join(texts[_EDGE:])}"
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    # MindSpore breaks each full line, even before the closing bracket.
    return ", \n ".join(lines) + ("" if len(texts) % per_line else "\n ")


def _column(blocks: list[str], indent: str, shortened: bool) -> str:
    lines = [f"{block}," for block in blocks[:-1]] + blocks[-1:]
    if shortened:
        lines.insert(_EDGE, "...")
    return f"\n{indent}".join(lines)


def _text_of(shown: AnyArray) -> Callable[[float], str]:
    """Return the function that formats an element, so that all have the same width."""
    category = dtypes.from_array_dtype(shown.dtype).category
    if category == dtypes.FLOAT:
        digits = 4 if shown.dtype.itemsize == 2 else 8
        # A sign, a digit, a point, the digits and an exponent of two digits.
        width = digits + 7
        return lambda x: f"{x:{width}.{digits}e}"
    plain: Iterable[object] = shown.ravel().tolist()
    wide = 5 if category == dtypes.BOOL else max(len(str(x)) for x in plain)
    return lambda x: f"{x!s:>{wide}}"
