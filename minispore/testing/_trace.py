"""Traces: sequences of events that can be compared, printed, saved and loaded."""

import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from html import escape
from typing import ClassVar, Final, NamedTuple, overload

from minispore.testing._event import Event
from minispore.testing._page import page
from minispore.utils.atomic import atomic_write, open_regular_file
from minispore.utils.checks import is_dict, is_list

# The number of changes that a line of the tree names.
_MAX_NAMED_CHANGES: Final = 3
_LOADABLE = (".jsonl", ".json")
_SAVABLE = (*_LOADABLE, ".html")
# The types of each field of an event in a file, and the exclusive upper bound of its numbers. A
# bool is not accepted as an int, and Python limits the depth of nested calls.
_FIELDS: dict[str, tuple[tuple[type, ...], float]] = {
    "name": ((str,), 0),
    "source": ((str,), 0),
    "depth": ((int,), 10_000),
    "epoch": ((int, type(None)), 2**63),
    "step": ((int, type(None)), 2**63),
    "stop": ((bool,), 2),
    "raised": ((str,), 0),
    "start": ((float,), math.inf),
    "duration": ((float,), math.inf),
    "changed": ((list,), 0),
    "position": ((int, type(None)), 2**63),
}
# Fields that files of an earlier version do not have.
_OPTIONAL_FIELDS: dict[str, object] = {"changed": [], "position": None}
assert list(_FIELDS) == [field.name for field in fields(Event)]


class EventTrace(Sequence[Event]):
    """A sequence of events, in the order in which they began.

    Args:
        events: The events.

    Examples:
        >>> trace = EventTrace([Event("run"), Event("on_train_begin", depth=1)])
        >>> trace == EventTrace(trace), trace.names
        (True, ['run', 'on_train_begin'])
        >>> print(trace.tree(durations=False))
        run
          train
            on_train_begin
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._events = list(events)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> "EventTrace": ...
    def __getitem__(self, index: int | slice) -> "Event | EventTrace":
        if isinstance(index, slice):
            return EventTrace(self._events[index])
        return self._events[index]

    def __len__(self) -> int:
        return len(self._events)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EventTrace) and self._events == other._events

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # it is mutable during a recording

    @property
    def names(self) -> list[str]:
        """The names of the events."""
        return [event.name for event in self]

    def of(self, source: str) -> "EventTrace":
        """Return the events of one source, as a trace.

        Args:
            source: The name of a callback, for the calls of its methods; "" for the loop's events.

        Examples:
            >>> EventTrace([Event("run"), Event("__enter__", "History")]).of("History").names
            ['__enter__']
        """
        return EventTrace(event for event in self if event.source == source)

    def tree(self, *, durations: bool = True) -> str:
        """Return the events as text, one in each line, and a line for each span that contains some.

        A span lasts from a begin event to its end event, an event as long as its calls.

        Args:
            durations: Whether to add the durations.
        """
        lines = list(_tree_lines(self._events))
        if not durations:
            return "\n".join(line for line, _ in lines)
        width = max((len(line) for line, _ in lines), default=0)
        return "\n".join(f"{line:<{width}}  {time * 1e3:9.3f} ms" for line, time in lines)

    def __str__(self) -> str:
        return self.tree()

    def __repr__(self) -> str:
        sources = len({event.source for event in self} - {""})
        return f"<EventTrace: {len(self)} events, {sources} callbacks>"

    def _repr_html_(self) -> str:
        frame = 'style="width:100%;height:30em;border:0" sandbox="allow-scripts"'
        return f'<iframe {frame} srcdoc="{escape(self.to_html())}"></iframe>'

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the events in a file.

        Args:
            path: The file. Its ending determines the format: ".jsonl" for one event in each line;
                ".html" for a page with a time line, which needs no network; ".json" for the format
                of chrome://tracing and ui.perfetto.dev.

        Raises:
            ValueError: `path` has another ending.
            OSError: The file cannot be written.
        """
        ending = _ending(path, _SAVABLE, "save")
        if ending == ".jsonl":
            text = "".join(json.dumps(asdict(event)) + "\n" for event in self)
        elif ending == ".html":
            text = self.to_html()
        else:
            items = [_chrome_event(event) for event in self]
            items += [
                {"name": span.name, "cat": "span", **_chrome_times(start, span.stop - start)}
                for span in _spans(self._events)
                for start in [self[span.begin].start]
            ]
            text = json.dumps({"traceEvents": items, "displayTimeUnit": "ms"})
        with atomic_write(path) as file:
            file.write(text.encode())

    def to_html(self) -> str:
        """Return the page with a time line that `save` writes to an ".html" file.

        Examples:
            >>> EventTrace([Event("run")]).to_html().splitlines()[0]
            '<!doctype html>'
        """
        return page(self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "EventTrace":
        """Return the trace in a file that `save` has written.

        Args:
            path: The file, with the ending ".jsonl" or ".json".

        Raises:
            ValueError: `path` has another ending, or the file contains no trace.
            OSError: The file cannot be read.
        """
        ending = _ending(path, _LOADABLE, "load")
        with open(path, "rb", opener=open_regular_file) as file:
            content = file.read()
        try:
            text = content.decode()
            if ending == ".jsonl":
                rows: list[object] = [json.loads(line) for line in text.splitlines()]
            else:
                items = json.loads(text)["traceEvents"]
                rows = [item["args"] for item in items if item["cat"] != "span"]
            return cls(_parse_event(row) for row in rows)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            reason = str(error)[:500]  # it quotes a value, which may be of any length
            raise ValueError(
                f"The file '{os.fspath(path)}' contains no trace: {reason}."
            ) from error


def _tree_lines(events: Sequence[Event]) -> Iterator[tuple[str, float]]:
    """Yield each line of the tree with its duration."""
    spans = {span.begin: span for span in _spans(events)}
    ends = {span.end for span in spans.values()}
    current = ""
    # For each enclosing event: its depth, and the levels of calls and of events nested in it.
    enclosing: list[tuple[int, int, int]] = []
    for index, event in enumerate(events):
        while enclosing and enclosing[-1][0] >= event.depth:
            enclosing.pop()
        level = event.depth if not enclosing else enclosing[-1][1 if event.source else 2]
        if index in spans:
            span = spans[index]
            yield f"{'  ' * level}{span.name}", span.stop - event.start
        if event.source:
            name = event.source if event.name == current else f"{event.source}.{event.name}"
        else:
            name = current = event.name
            for unit, number in (("epoch", event.epoch), ("step", event.step)):
                if f"_{unit}_" in event.name and number is not None:
                    name += f" {unit} {number}"
        inner = level + (index in spans or index in ends)
        enclosing.append((event.depth, inner + 1, level + 1))
        effects = ", ".join(_effects(event))
        yield f"{'  ' * inner}{name}{': ' * bool(effects)}{effects}", event.duration


def _effects(event: Event) -> Iterator[str]:
    """Yield the effects of an event, as text."""
    if event.stop and event.source:
        yield "requests a stop"
    if event.changed:
        more = len(event.changed) - _MAX_NAMED_CHANGES
        names = ", ".join(event.changed[:_MAX_NAMED_CHANGES])
        yield f"changes {names}{f' and {more} more' * (more > 0)}"
    if event.raised:
        yield f"raises {event.raised}"


def _ending(path: str | os.PathLike[str], endings: tuple[str, ...], method: str) -> str:
    ending = os.path.splitext(path)[1]
    if ending not in endings:
        raise ValueError(
            f"For 'EventTrace.{method}', the argument 'path' must end with one of "
            f"{', '.join(map(repr, endings))}, but got {os.fspath(path)!r}."
        )
    return ending


def _parse_event(row: object) -> Event:
    """Return an event from the values of its fields; TypeError or ValueError if one is invalid."""
    if not is_dict(row):
        raise TypeError(f"{row!r} is no event")
    values = _OPTIONAL_FIELDS | {str(name): value for name, value in row.items()}
    if values.keys() != _FIELDS.keys():
        raise ValueError(f"an event has {', '.join(_FIELDS)}, not {', '.join(map(str, row))}")
    for name, value in values.items():
        types, upper_bound = _FIELDS[name]
        in_range = not isinstance(value, int | float) or 0 <= value < upper_bound
        if type(value) not in types or not in_range:
            raise ValueError(f"{value!r} is no {name}")
    changed = values["changed"]
    if not is_list(changed) or not all(isinstance(change, str) for change in changed):
        raise TypeError(f"{changed!r} is no list of str")
    values["changed"] = tuple(changed)
    return Event(**values)  # type: ignore[arg-type]  # checked above


def _chrome_event(event: Event) -> dict[str, object]:
    """Return an event in Chrome's trace event format."""
    name = f"{event.source}.{event.name}" if event.source else event.name
    category = "callback" if event.source else "loop"
    times = _chrome_times(event.start, event.duration)
    return {"name": name, "cat": category, **times, "args": asdict(event)}


def _chrome_times(start: float, duration: float) -> dict[str, object]:
    """Return the fields of a complete event; "ts" and "dur" are in microseconds."""
    return {"ph": "X", "ts": start * 1e6, "dur": duration * 1e6, "pid": 1, "tid": 1}


class _Span(NamedTuple):
    """The part of a run from a begin event to its end event.

    Attributes:
        name: The name.
        begin: The index of the begin event.
        end: The index of the end event; None if an exception has ended the span.
        stop: The time at which it ended.
    """

    name: str
    begin: int
    end: int | None
    stop: float


def _spans(events: Sequence[Event]) -> Iterator[_Span]:
    """Yield the spans, each when it ends."""
    begun: list[int] = []
    for index, event in enumerate(events):
        span, _, edge = event.name.rpartition("_")
        while begun and events[begun[-1]].depth >= event.depth:
            begin = events[begun[-1]]
            paired = (begin.depth, begin.name, "") == (event.depth, f"{span}_begin", event.source)
            if edge == "end" and paired:
                yield _span(begin, begun.pop(), index, event.start + event.duration)
            else:
                yield _span(begin, begun.pop(), None, event.start)
        if edge == "begin" and not event.source:
            begun.append(index)
    last = max((event.start + event.duration for event in events), default=0.0)
    for index in reversed(begun):
        yield _span(events[index], index, None, last)


def _span(begin: Event, index: int, end: int | None, stop: float) -> _Span:
    name = begin.name.removeprefix("on_").removesuffix("_begin").replace("_", " ")
    number = begin.step if name.endswith(" step") else begin.epoch
    return _Span(
        f"{name} {number}" if " " in name and number is not None else name, index, end, stop
    )
