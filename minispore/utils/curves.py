"""Small plots of numbers as SVG, without a plotting library."""

import math
from collections.abc import Mapping, Sequence
from html import escape

_WIDTH, _HEIGHT, _LEFT, _GAP = 320, 70, 150, 14


def plot_curves(curves: Mapping[str, Sequence[float]]) -> str:
    """Return an SVG with one plot below another, each with its name and its range.

    Args:
        curves: The numbers of each plot, by its name. Values that are not finite are left out.

    Returns:
        The text of an SVG element.

    Examples:
        >>> svg = plot_curves({"loss": [2.0, 1.0, 0.5]})
        >>> svg[:4], svg.count("polyline"), "last 0.5" in svg
        ('<svg', 1, True)
    """
    parts = [
        f'<g transform="translate(0 {i * (_HEIGHT + _GAP)})">{_plot(name, values)}</g>'
        for i, (name, values) in enumerate(curves.items())
    ]
    width, height = _LEFT + _WIDTH + 10, len(curves) * (_HEIGHT + _GAP) + 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 -4 {width} {height}" font-family="sans-serif" font-size="11" '
        f'fill="currentColor">{"".join(parts)}</svg>'
    )


def _plot(name: str, values: Sequence[float]) -> str:
    finite = [(i, value) for i, value in enumerate(values) if math.isfinite(value)]
    low, high = (f([value for _, value in finite], default=0.0) for f in (min, max))
    across = _WIDTH / max(len(values) - 1, 1)
    up = (_HEIGHT - 8) / (high - low) if high > low else 0.0
    points = [
        (_LEFT + i * across, _HEIGHT - 4 - (value - low) * up if up else _HEIGHT / 2)
        for i, value in finite
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="#00897b"/>' for x, y in points)
    last, bounds = "no number", ""
    if finite:
        last, bounds = f"last {finite[-1][1]:.4g}", f"{low:.4g} to {high:.4g}"
    return (
        f'<text y="14" font-weight="bold">{escape(name)}</text><text y="30">{last}</text>'
        f'<text y="46" opacity="0.7">{bounds}</text>'
        f'<rect x="{_LEFT}" width="{_WIDTH}" height="{_HEIGHT}" fill="none" '
        'stroke="currentColor" opacity="0.25"/>'
        f'<polyline points="{line}" fill="none" stroke="#00897b" stroke-width="1.5"/>{dots}'
    )
