"""A trace: the events of runs, which can be compared, printed, saved and loaded."""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Final, overload

from minispore.testing._event import Event
from minispore.testing._trace_files import read_trace, write_trace

# Of what a callback changed, so much stands in a line.
_NAMED: Final = 3


class EventTrace(Sequence[Event]):
    """Events in the order in which they began.

    Args:
        events: The events.

    Examples:
        >>> trace = EventTrace([Event("run"), Event("on_train_begin", depth=1)])
        >>> trace == EventTrace(trace), trace.names
        (True, ['run', 'on_train_begin'])
        >>> print(trace.tree(durations=False))
        run
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

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # it grows while recorded

    @property
    def names(self) -> list[str]:
        """The names of the events."""
        return [event.name for event in self]

    def of(self, source: str) -> "EventTrace":
        """The events of one source: the calls of a callback's methods, or with "" the loop's own.

        >>> EventTrace([Event("run"), Event("__enter__", "History")]).of("History").names
        ['__enter__']
        """
        return EventTrace(event for event in self if event.source == source)

    def tree(self, *, durations: bool = True) -> str:
        """The events, one in a line, below what they happened in.

        Args:
            durations: Whether to write how long each took.
        """
        lines = list(_lines(self))
        if not durations:
            return "\n".join(lines)
        width = max(map(len, lines), default=0)
        return "\n".join(
            f"{line:<{width}}  {event.duration * 1e3:9.3f} ms"
            for line, event in zip(lines, self, strict=True)
        )

    def __str__(self) -> str:
        return self.tree()

    def __repr__(self) -> str:
        return f"EventTrace({self._events!r})"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the events into a file.

        Args:
            path: With the ending ".jsonl" for JSON lines, one event in each; with ".html" for a
                page on which the events are shown on a time line, which needs no network; with
                ".json" for the format that chrome://tracing and ui.perfetto.dev show.

        Raises:
            ValueError: `path` has another ending.
            OSError: The file cannot be written.
        """
        write_trace(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "EventTrace":
        """Read a file that `save` has written, unless it is a page.

        Raises:
            ValueError: `path` has another ending, or the file is none of this kind.
            OSError: The file cannot be read.
        """
        return cls(read_trace(path))


def _lines(events: Iterable[Event]) -> Iterator[str]:
    current = ""
    for event in events:
        if event.source:
            name = event.source if event.name == current else f"{event.source}.{event.name}"
        else:
            name = current = event.name
            for word in ("epoch", "step"):
                number = getattr(event, word)
                if f"_{word}_" in event.name and number is not None:
                    name += f" {word} {number}"
        acts = list(_acts(event))
        yield f"{'  ' * event.depth}{name}{': ' * bool(acts)}{', '.join(acts)}"


def _acts(event: Event) -> Iterator[str]:
    """What has come of an event, in words."""
    if event.stop and event.source:
        yield "requests a stop"
    if event.changed:
        more = len(event.changed) - _NAMED
        yield f"changes {', '.join(event.changed[:_NAMED])}{f' and {more} more' * (more > 0)}"
    if event.raised:
        yield f"raises {event.raised}"
