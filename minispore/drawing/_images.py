"""Draw small grey images side by side, with captions."""

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

import numpy as np
import numpy.typing as npt

from minispore.drawing import _svg as svg
from minispore.utils.arrays import UInt8Array

_PIXEL, _GAP, _CAPTION, _SIZE = 2.5, 12.0, 18.0, 12.0
_LEVELS = 6  # of grey
_PER_ROW = 4


def draw_images(
    images: npt.ArrayLike, captions: Sequence[str] = (), marked: Collection[int] = ()
) -> svg.Drawing:
    """Return a drawing of grey images, four in a row, each above its caption.

    Args:
        images: The images, of shape (n, height, width), from 0 (paper) to 255 (ink).
        captions: The text below each image; empty for none.
        marked: The indices of the images whose captions have another colour.

    Returns:
        The text of an SVG file, a str with a method `save`.

    Raises:
        ValueError: The images have another shape, or are not as many as the captions.

    Examples:
        >>> from minispore import drawing
        >>> from minispore.dataset import digits
        >>> images, labels = digits.generate(4)
        >>> svg = drawing.draw_images(images, [str(label) for label in labels])
        >>> svg[:4]
        '<svg'
    """
    pixels = np.asarray(images)
    if pixels.ndim != 3 or 0 in pixels.shape:
        raise ValueError(
            "For 'draw_images', the argument 'images' must have the shape (n, height, width) "
            f"without an empty axis, but it has {pixels.shape}."
        )
    n, height, width = pixels.shape
    if len(captions) not in {0, n}:
        raise ValueError(
            f"For 'draw_images', the argument 'captions' must have {n} texts, one for each image, "
            f"but it has {len(captions)}."
        )
    levels = (pixels * (_LEVELS / 256)).astype(np.uint8)
    texts = list(captions) or [""] * n
    across = max(width * _PIXEL, *(svg.width_of(text, _SIZE) for text in texts)) + _GAP
    down = height * _PIXEL + _CAPTION + _GAP
    parts = list[str]()
    for i, text in enumerate(texts):
        x, y = (i % _PER_ROW) * across, (i // _PER_ROW) * down
        kind = "gradient" if i in marked else ""
        image = svg.tag(
            "g", *_ink(levels[i]), transform=f"translate({x:.1f} {y:.1f}) scale({_PIXEL})"
        )
        caption = svg.write(x, y + height * _PIXEL + 15, text, _SIZE, kind, text_anchor="start")
        parts += [image, caption]
    rows = -(-n // _PER_ROW)
    description = ", ".join(text for text in texts if text)
    return svg.picture(
        min(n, _PER_ROW) * across - _GAP,
        rows * down - _GAP,
        f"{n} image{'s' * (n > 1)}",
        f"{description}." if description else "",
        parts,
    )


def _ink(levels: UInt8Array) -> Iterator[str]:
    """Yield the pixels of each grey level as one path, whose lines are runs of pixels."""
    runs: dict[int, list[str]] = {}
    for y, row in enumerate(levels.tolist()):
        x = 0
        for level, equal in groupby(row):
            length = len(list(equal))
            if level:
                runs.setdefault(level, []).append(f"M{x} {y + 0.5}h{length}")
            x += length
    for level, paths in runs.items():
        opacity = f"{(level + 1) / _LEVELS:.2f}"
        yield svg.tag("path", d="".join(paths), stroke=svg.PLAIN, stroke_opacity=opacity)
