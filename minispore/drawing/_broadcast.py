"""Draw how operands of different shapes are repeated."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import numpy.typing as npt

from minispore.drawing import _svg as svg

_SIZE = 12.0
_HIGH = 22.0
_GAP = 28.0
_BLOCK_GAP = 8.0


def draw_broadcast(*operands: npt.ArrayLike) -> svg.Drawing:
    """Return a drawing of the operands of an operation, each repeated to the shape of the result.

    The elements of an operand are coloured, their copies are dashed. Below it are its shape and the
    axes over which a gradient of the result is summed.

    Args:
        operands: Arrays whose shapes match: along each axis, counted from the last one, they have
            the same length or 1.

    Returns:
        The text of an SVG file, a str with a method `save`.

    Raises:
        ValueError: There is no operand, the shapes do not match, or the result is empty.

    Examples:
        >>> from minispore import drawing
        >>> svg = drawing.draw_broadcast([[1], [2]], [3, 4, 5])
        >>> "sum over 1" in svg, "sum over 0" in svg
        (True, True)
    """
    arrays = [np.asarray(operand) for operand in operands]
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        shapes = " and ".join(str(array.shape) for array in arrays)
        raise ValueError(
            f"For 'draw_broadcast', the shapes of the operands must match, but they are {shapes}."
        ) from None
    if not arrays or 0 in shape:
        raise ValueError(
            "For 'draw_broadcast', there must be an operand, and a result that is not empty, but "
            f"there are {len(arrays)} operands, and the shape of the result is {shape}."
        )
    parts = list[str]()
    described = list[str]()
    left = bottom = 0.0
    for array in arrays:
        lines = [str(array.shape), _summed(array.shape, shape)]
        texts = np.broadcast_to(np.vectorize("{:.3g}".format, otypes=[object])(array), shape)
        cell = max(_HIGH, max(svg.width_of(str(text), _SIZE) for text in texts.flat) + 8)
        cells = list(_cells(shape, cell))
        width = max(x + cell for _, x, _ in cells)
        bottom = max(y + _HIGH for _, _, y in cells)
        for index, x, y in cells:
            parts.append(_box(left + x, y, cell, str(texts[index]), is_own=_is_own(index, array)))
        for i, line in enumerate(lines):
            y = bottom + 18 * (i + 1)
            parts.append(svg.write(left, y, line, _SIZE, text_anchor="start"))
        left += max(width, *(svg.width_of(line, _SIZE) for line in lines)) + _GAP
        described.append(", ".join(lines))
    title = f"Operands of a result of shape {shape}"
    return svg.picture(left - _GAP, bottom + 40, title, f"{'; '.join(described)}.", parts)


def _cells(shape: tuple[int, ...], cell: float) -> Iterator[tuple[tuple[int, ...], float, float]]:
    """Yield the index and the place of each element: rows and columns in blocks, downwards."""
    rows = shape[-2] if len(shape) > 1 else 1
    for i, index in enumerate(product(*map(range, shape))):
        column = index[-1] if index else 0
        row = i // (shape[-1] if shape else 1)
        yield index, column * cell, row * _HIGH + row // rows * _BLOCK_GAP


def _is_own(index: tuple[int, ...], operand: npt.NDArray[np.generic]) -> bool:
    """Return whether an element of the result is at the place of the operand's own element."""
    added = len(index) - operand.ndim
    return not any(index[:added]) and all(
        i < length for i, length in zip(index[added:], operand.shape, strict=True)
    )


def _summed(operand: tuple[int, ...], shape: tuple[int, ...]) -> str:
    added = len(shape) - len(operand)
    axes = [i for i, length in enumerate(shape) if i < added or operand[i - added] != length]
    return f"sum over {', '.join(map(str, axes))}" if axes else "no sum"


def _box(x: float, y: float, width: float, text: str, *, is_own: bool) -> str:
    kind = "input" if is_own else ""
    dashes = {} if is_own else {"stroke_dasharray": "2 2", "stroke_opacity": "0.5"}
    colours = svg.colour_attributes(kind, "stroke")
    box = svg.tag(
        "rect", x=x + 1, y=y + 1, width=width - 2, height=_HIGH - 2, rx=2, fill="none",
        **colours, **dashes,
    )  # fmt: skip
    opacity = None if is_own else "0.6"
    label = svg.write(x + width / 2, y + 15, text, _SIZE, kind, fill_opacity=opacity)
    return box + label
