"""Draw labelled spans in lanes: parts of a file, times, places in memory."""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from minispore.drawing import _svg as svg
from minispore.drawing._curves import Axis

_SIZE = 12.0
_WIDTH, _LANE, _GAP = 330.0, 24.0, 5.0
_KINDS = ("", "input", "gradient", "parameter")


class Span(NamedTuple):
    """A span of a lane.

    Attributes:
        start: Where it begins.
        end: Where it ends.
        text: Its text, which is drawn if it is not wider than the span.
        colour: The number of its colour, 0 to 3; 0 is grey.
    """

    start: float
    end: float
    text: str = ""
    colour: int = 0


def draw_spans(lanes: Mapping[str, Iterable[Span]], *, x_label: str = "") -> svg.Drawing:
    """Return a drawing of spans, such as the parts of a file or intervals of time.

    Args:
        lanes: The spans of each lane by its name. The lanes are one below the other, on the same
            scale, which begins at 0 or lower.
        x_label: What the horizontal axis shows; "" draws no axis.

    Returns:
        The text of an SVG file, a str with a method `save`.

    Raises:
        ValueError: There is no span, or one has no positive, finite length or no such colour.

    Examples:
        >>> from minispore import drawing
        >>> waits = drawing.Span(0, 2, "waits")
        >>> svg = drawing.draw_spans({"process 0": [waits], "process 1": [drawing.Span(2, 3)]})
        >>> svg[:4], "waits" in svg
        ('<svg', True)
    """
    spans = {name: list(inside) for name, inside in lanes.items()}
    found = [span for inside in spans.values() for span in inside]
    if not found:
        raise ValueError("For 'draw_spans', the argument 'lanes' must contain a span.")
    for span in found:
        if not 0 < span.end - span.start < math.inf:
            raise ValueError(
                "For 'draw_spans', a span must have a positive length, but got "
                f"{span.start} to {span.end}."
            )
        if span.colour not in range(len(_KINDS)):
            raise ValueError(
                f"For 'draw_spans', a colour must be from 0 to {len(_KINDS) - 1}, but got "
                f"{span.colour}."
            )
    low = min(0.0, *(span.start for span in found))
    high = max(span.end for span in found)
    scale = _WIDTH / (high - low)
    left = 8 + max(svg.width_of(name, _SIZE) for name in spans)
    parts = list[str]()
    for i, (name, inside) in enumerate(spans.items()):
        top = i * (_LANE + _GAP)
        parts.append(svg.write(left - 8, top + 16, name, _SIZE, text_anchor="end"))
        for span in inside:
            across, width = left + (span.start - low) * scale, (span.end - span.start) * scale
            parts.append(_box(name, span, across, top, width))
    height = len(spans) * (_LANE + _GAP) - _GAP
    if x_label:
        axis = Axis([low, high], _WIDTH, is_log=False)
        for at, text in axis.marks():
            parts.append(svg.write(left + at, height + 17, text, _SIZE))
        parts.append(svg.write(left + _WIDTH / 2, height + 35, x_label, _SIZE))
        height += 38
    description = ". ".join(
        f"{name}: {', '.join(_said(span) for span in inside)}" for name, inside in spans.items()
    )
    title = (
        f"{len(found)} span{'s' * (len(found) > 1)} in {len(spans)} lane{'s' * (len(spans) > 1)}"
    )
    return svg.picture(left + _WIDTH + 12, height, title, f"{description}.", parts)


def _box(lane: str, span: Span, x: float, y: float, width: float) -> str:
    colour = svg.colour_attributes(_KINDS[span.colour], "stroke", "fill")
    rect = svg.tag(
        "rect",
        x=f"{x:.2f}",
        y=y,
        width=f"{width:.2f}",
        height=_LANE,
        fill_opacity="0.14",
        stroke_opacity="0.8",
        **colour,
    )
    fits = span.text and svg.width_of(span.text, _SIZE) + 8 <= width
    text = [svg.write(x + width / 2, y + 16, span.text, _SIZE)] if fits else []
    return svg.tag("g", svg.title(f"{lane}: {_said(span)}"), rect, *text)


def _said(span: Span) -> str:
    place = f"{span.start:g} to {span.end:g}"
    return f"{span.text} from {place}" if span.text else place
