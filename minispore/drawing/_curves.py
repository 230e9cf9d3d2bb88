"""Draw curves over a common axis."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from minispore.drawing import _svg as svg

Numbers: TypeAlias = Sequence[float] | npt.NDArray[np.floating | np.integer]

_SIZE = 12.0
_WIDTH, _HEIGHT = 330.0, 190.0
_LETTER = 7.5
_KINDS = ("input", "gradient", "parameter")


def draw_curves(
    curves: Mapping[str, Numbers],
    x: Numbers | Mapping[str, Numbers] | None = None,
    *,
    x_label: str = "step",
    y_label: str = "loss",
    log: str = "",
) -> svg.Drawing:
    """Return a drawing of one to three curves.

    A value that is not finite, or not positive on a logarithmic axis, interrupts its curve.

    Args:
        curves: The values of each curve by its name, which is written in its colour.
        x: The position of each value, or those of each curve by its name; by default 1, 2, 3, …
        x_label: What the horizontal axis shows.
        y_label: What the vertical axis shows.
        log: The logarithmic axes: "", "x", "y" or "xy".

    Returns:
        The text of an SVG file, a str with a method `save`.

    Raises:
        ValueError: There is no curve or there are more than three, a curve has not as many values
            as positions, no point can be drawn, or `log` has another value.

    Examples:
        >>> from minispore import drawing
        >>> svg = drawing.draw_curves({"training": [2.3, 1.1, 0.6, 0.4]}, x_label="epoch")
        >>> svg[:4], "training" in svg
        ('<svg', True)
    """
    if not 1 <= len(curves) <= len(_KINDS):
        raise ValueError(
            f"For 'draw_curves', the argument 'curves' must have 1 to {len(_KINDS)} curves, but it "
            f"has {len(curves)}."
        )
    if log not in {"", "x", "y", "xy"}:
        raise ValueError(
            f"For 'draw_curves', the argument 'log' must be '', 'x', 'y' or 'xy', but got {log!r}."
        )
    points = [
        _points(values, x.get(name, ()) if isinstance(x, Mapping) else x, log)
        for name, values in curves.items()
    ]
    drawn = [point for line in points for point in line if point is not None]
    if not drawn:
        raise ValueError("For 'draw_curves', the argument 'curves' has no point that can be drawn.")
    horizontal = Axis((h for h, _ in drawn), _WIDTH, is_log="x" in log)
    vertical = Axis((v for _, v in drawn), _HEIGHT, is_log="y" in log)

    left = 8 + _LETTER * max(len(text) for _, text in vertical.marks())
    top = 24.0 + 18.0 * len(curves)
    parts = [svg.write(0, 12, y_label, _SIZE, text_anchor="start")]
    for at, text in vertical.marks():
        y = top + _HEIGHT - at
        parts.append(_line(f"M{left:.1f} {y:.1f}h{_WIDTH:.1f}", 0.2))
        parts.append(svg.write(left - 6, y + 4, text, _SIZE, text_anchor="end"))
    for at, text in horizontal.marks():
        parts.append(_line(f"M{left + at:.1f} {top + _HEIGHT:.1f}v5", 0.6))
        parts.append(svg.write(left + at, top + _HEIGHT + 19, text, _SIZE))
    parts.append(svg.write(left + _WIDTH / 2, top + _HEIGHT + 36, x_label, _SIZE))
    for i, (name, line) in enumerate(zip(curves, points, strict=True)):
        path = _path(line, horizontal, vertical, left, top + _HEIGHT)
        colour = svg.colour_attributes(_KINDS[i], "stroke")
        parts.append(
            svg.tag("path", svg.title(name), d=path, fill="none", stroke_width="1.8", **colour)
        )
        parts.append(svg.write(left, 30 + 18 * i, name, _SIZE, _KINDS[i], text_anchor="start"))
    description = ". ".join(_described(name, values) for name, values in curves.items())
    title = f"{y_label} over {x_label}"
    return svg.picture(left + _WIDTH + 20, top + _HEIGHT + 40, title, f"{description}.", parts)


class Axis:
    """The values of an axis, and their positions."""

    def __init__(self, values: Iterable[float], length: float, *, is_log: bool) -> None:
        found = list(values)
        self._low, self._high = min(found), max(found)
        if not is_log and 0 < self._low < self._high / 2:
            self._low = 0.0  # a height is then in proportion to its value
        if self._low == self._high:
            self._low, self._high = self._low - 0.5, self._high + 0.5
        self._length, self._is_log = length, is_log

    def at(self, value: float) -> float:
        """Return the position of a value."""
        return self._length * (value - self._low) / (self._high - self._low)

    def marks(self) -> list[tuple[float, str]]:
        """Return the position and the text of each mark."""
        span = self._high - self._low
        raw = span / 4
        step = 10.0 ** math.floor(math.log10(raw))
        step *= next(factor for factor in (1, 2, 5, 10) if factor * step >= raw * 0.999)
        if self._is_log:
            step = max(1.0, round(step))
        first = math.ceil(self._low / step - 1e-9)
        values = [i * step for i in range(first, math.floor(self._high / step + 1e-9) + 1)]
        if len(values) < 2:  # an axis of less than a power of ten
            values = [self._low, self._high]
        texts = [f"{10**value:.3g}" if self._is_log else f"{value:.6g}" for value in values]
        return [(self.at(value), text) for value, text in zip(values, texts, strict=True)]


def _points(values: Numbers, x: Numbers | None, log: str) -> list[tuple[float, float] | None]:
    """Return the point of each value on the scaled axes, None if there is none."""
    positions = range(1, len(values) + 1) if x is None else x
    if len(values) != len(positions):
        raise ValueError(
            "For 'draw_curves', the curves must have a value for each position, but there are "
            f"{len(positions)} positions and {len(values)} values."
        )
    scaled = (
        (_scaled(h, "x" in log), _scaled(v, "y" in log))
        for h, v in zip(positions, values, strict=True)
    )
    return [None if h is None or v is None else (h, v) for h, v in scaled]


def _scaled(value: float, is_log: bool) -> float | None:
    if not math.isfinite(value) or (is_log and value <= 0):
        return None
    return math.log10(value) if is_log else float(value)


def _path(
    points: Iterable[tuple[float, float] | None],
    horizontal: Axis,
    vertical: Axis,
    left: float,
    bottom: float,
) -> str:
    def commands() -> Iterator[str]:
        command = "M"
        for point in points:
            if point is None:
                command = "M"
                continue
            h, v = left + horizontal.at(point[0]), bottom - vertical.at(point[1])
            # A point between gaps is drawn, too.
            yield f"{command}{h:.1f} {v:.1f}" + "h0" * (command == "M")
            command = "L"

    return "".join(commands())


def _line(path: str, opacity: float) -> str:
    return svg.tag("path", d=path, stroke=svg.PLAIN, stroke_opacity=str(opacity), fill="none")


def _described(name: str, values: Numbers) -> str:
    return f"{name}: from {values[0]:.3g} to {values[-1]:.3g}" if len(values) else name
