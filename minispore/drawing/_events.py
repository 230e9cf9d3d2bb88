"""Draw the events of a run as nested boxes, with a lane for each callback."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf
from typing import Protocol

from minispore.drawing import _svg as svg

MAX_EVENTS = 500
_SIZE, _ROW, _LANE = 12.0, 19.0, 16.0
# The distances between the left and the right sides of nested boxes.
_INDENT, _GAP = 9.0, 3.0


class EventLike(Protocol):
    """The attributes of a `minispore.testing.Event` that are drawn."""

    @property
    def name(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def depth(self) -> int: ...
    @property
    def epoch(self) -> int | None: ...
    @property
    def step(self) -> int | None: ...
    @property
    def stop(self) -> bool: ...
    @property
    def raised(self) -> str: ...
    @property
    def position(self) -> int | None: ...


def draw_events(events: Iterable[EventLike]) -> svg.Drawing:
    """Return a drawing of the events of a run, from the first at the top to the last.

    A begin event opens a box, and its end event closes it; a box that an exception left open has no
    lower side. Each callback has a lane at the right, in the order of their list, with a dot for
    each call. A call that requested a stop or raised an exception has another colour, and its
    effect in words. The events may be those of another library: names that end with `_start` or
    begin with `before_` are begin events, too, and names that begin with `after_` are end events,
    as are `__enter__` and `__exit__`.

    Args:
        events: The events, such as those of `minispore.testing.record_events`.

    Returns:
        The text of an SVG file, a str with a method `save`.

    Raises:
        ValueError: If there are no events, or more than 500.

    Examples:
        >>> from minispore import drawing
        >>> from minispore.testing import Event
        >>> run = [Event("run"), Event("on_train_end", depth=1), Event("on_train_end", "Log", 2)]
        >>> svg = drawing.draw_events(run)
        >>> svg[:4], "on_train_end" in svg
        ('<svg', True)
    """
    drawn = list(events)
    if not 0 < len(drawn) <= MAX_EVENTS:
        raise ValueError(
            f"For 'draw_events', the argument 'events' must have 1 to {MAX_EVENTS} events, "
            f"but it has {len(drawn)}. Draw a part of a longer trace."
        )
    return _EventsSvg(drawn).drawing()


@dataclass
class _Row:
    """A line of the drawing.

    Attributes:
        text: The text.
        depth: The nesting depth.
        description: The sentence for screen readers.
        source: The callback that is called, or "".
        striking: Whether a stop was requested or an exception raised.
    """

    text: str
    depth: int
    description: str = ""
    source: str = ""
    striking: bool = False


@dataclass
class _Box:
    """A box around the rows from an event on.

    Attributes:
        depth: The depth of the event.
        first: The index of its row.
        span: What an end event must be the end of to close the box.
        raised: The exception that ended the event, or "".
        closed: Whether the box has a lower side.
        last: The index of the last row.
    """

    depth: int
    first: int
    span: str
    raised: str
    closed: bool
    last: int = 0


class _EventsSvg:
    """The rows, boxes and lanes of a drawing.

    Args:
        events: The events.
    """

    def __init__(self, events: Sequence[EventLike]) -> None:
        self._count = len(events)
        self._rows = list[_Row]()
        self._boxes = list[_Box]()
        self._open = list[_Box]()
        self._event = ""
        for event, depth in zip(events, [*(later.depth for later in events[1:]), 0], strict=True):
            self._add(event, depth)
        self._leave(0)
        called = [event for event in events if event.source]
        # In the order of the list of callbacks, as far as it is known.
        called.sort(key=lambda event: inf if event.position is None else event.position)
        self._lanes = list(dict.fromkeys(event.source for event in called))
        widths = [
            self._left(row.depth) + svg.width_of(row.text, _SIZE) + _GAP * (1 + self._depth_at(i))
            for i, row in enumerate(self._rows)
        ]
        self._right = max(widths)
        lasts = [box.last for box in self._boxes]
        extra = (max(lasts.count(i) - 1, 0) * _GAP for i in range(len(self._rows)))
        # The upper side of each row, and the lower side of the last one.
        self._tops = [0.0, *accumulate(_ROW + gap for gap in extra)]

    def drawing(self) -> svg.Drawing:
        """Return the text of the SVG file."""
        width = self._right + _LANE * len(self._lanes)
        height = self._tops[-1]
        parts = [*map(self._box, self._boxes), *self._lines(height), *self._texts()]
        name = f"{self._count} event{'s' * (self._count > 1)}"
        description = ". ".join(row.description for row in self._rows if row.description)
        return svg.picture(width, height, name, f"{description}.", parts)

    def _add(self, event: EventLike, next_depth: int) -> None:
        """Add the rows of an event, and open or close its box."""
        span, edge = span_and_edge(event.name)
        if event.source:
            self._leave(event.depth)
            known = event.name == self._event
            text = event.source if known else f"{event.source}.{event.name}"
            effects = list(_effects(event))
            description = ", ".join([f"{event.source}.{event.name}", *effects])
            self._rows.append(_Row(text, event.depth, description, event.source, bool(effects)))
            # Below the text, so that the drawing is narrow enough for a phone.
            self._rows += [_Row(effect, event.depth + 1, striking=True) for effect in effects]
            return
        self._event = event.name
        ends = edge == "end"
        self._leave(event.depth, span if ends else "")
        text = _numbered(event)
        self._rows.append(_Row(text, event.depth, text))
        if ends and self._open and self._open[-1].depth == event.depth:
            self._open[-1].closed = True
        elif edge == "begin" or next_depth > event.depth:
            first = len(self._rows) - 1
            box = _Box(event.depth, first, span, event.raised, closed=edge != "begin")
            self._boxes.append(box)
            self._open.append(box)

    def _leave(self, depth: int, span: str = "") -> None:
        """Leave the boxes from a depth on, except one that an end event closes."""
        while self._open and (box := self._open[-1]).depth >= depth:
            if span and (box.depth, box.span, box.closed) == (depth, span, False):
                return
            if box.closed and box.raised:
                text = f"raises {box.raised}"
                self._rows.append(_Row(text, box.depth + 1, text, striking=True))
            box.last = len(self._rows) - 1
            self._open.pop()

    def _depth_at(self, row: int) -> int:
        """Return the number of boxes around a row."""
        return sum(box.first <= row <= box.last for box in self._boxes)

    def _left(self, depth: int) -> float:
        return 8 + depth * _INDENT

    def _box(self, box: _Box) -> str:
        x, y = self._left(box.depth) - 6, self._tops[box.first] + 2
        right = self._right - _GAP * self._depth_at(box.first) + _GAP
        outer = sum(other.last == box.last and other.depth < box.depth for other in self._boxes)
        bottom = self._tops[box.last + 1] - 1 - _GAP * outer
        path = f"M{x:.1f} {bottom:.1f}V{y:.1f}H{right:.1f}V{bottom:.1f}{'Z' * box.closed}"
        return svg.tag(
            "path",
            d=path,
            fill_opacity="0.06",
            stroke_dasharray=None if box.closed else "4 3",
            **svg.colour_attributes("input" if box.closed else "gradient", "stroke", "fill"),
        )

    def _lane(self, source: str) -> float:
        return self._right + _LANE * (self._lanes.index(source) + 0.5)

    def _lines(self, height: float) -> Iterator[str]:
        for source in self._lanes:
            line = f"M{self._lane(source):.1f} 0V{height:.1f}"
            yield svg.tag(
                "path", svg.title(source), d=line, stroke=svg.PLAIN, stroke_opacity="0.35"
            )

    def _texts(self) -> Iterator[str]:
        for i, row in enumerate(self._rows):
            x, y = self._left(row.depth), self._tops[i] + _ROW / 2
            kind = "gradient" if row.striking else "parameter" if row.source else ""
            yield svg.write(x, y + 4, row.text, _SIZE, kind, text_anchor="start")
            if row.source:
                lane = self._lane(row.source)
                path = f"M{x + svg.width_of(row.text, _SIZE) + 3:.1f} {y:.1f}H{lane:.1f}"
                yield svg.tag(
                    "path", d=path, stroke=svg.PLAIN, stroke_opacity="0.5", stroke_dasharray="1 3"
                )
                colours = svg.colour_attributes(kind, "fill")
                yield svg.tag("circle", svg.title(row.description), cx=lane, cy=y, r=4, **colours)


def span_and_edge(event: str) -> tuple[str, str]:
    """Return what an event is an edge of, and the edge: "begin", "end" or "" for neither.

    Args:
        event: The name, such as "on_train_begin", "on_train_batch_start" or "_after_epoch".
    """
    if event in {"__enter__", "__exit__"}:
        return "context", "begin" if event == "__enter__" else "end"
    span, _, last = event.rpartition("_")
    if last in {"begin", "start", "end"}:
        return span, "end" if last == "end" else "begin"
    first, _, span = event.removeprefix("_").partition("_")
    return span, {"before": "begin", "after": "end"}.get(first, "")


def _numbered(event: EventLike) -> str:
    for unit, number in (("epoch", event.epoch), ("step", event.step)):
        if f"_{unit}_" in event.name and number is not None:
            return f"{event.name} {number}"
    return event.name


def _effects(event: EventLike) -> Iterator[str]:
    if event.stop:
        yield "requests a stop"
    if event.raised:
        yield f"raises {event.raised}"
