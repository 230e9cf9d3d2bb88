"""The files of traces: JSON lines, the trace-event format of browsers, and a page to look at."""

import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from typing import cast

from minispore._atomic import regular, replacing
from minispore._checks import check_one_of
from minispore.testing._event import Event
from minispore.testing._page import page

_READ = (".jsonl", ".json")
_WRITTEN = (*_READ, ".html")
# What a field may hold; bool is no int here.
_KINDS: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "source": (str,),
    "depth": (int,),
    "epoch": (int, type(None)),
    "step": (int, type(None)),
    "stop": (bool,),
    "raised": (str,),
    "start": (float,),
    "duration": (float,),
    "changed": (list,),
}
# What files of an earlier version do not have.
_NEWER: dict[str, object] = {"changed": []}
# And how large a number must be to be none of its kind; deeper than calls, nothing is nested.
_TOO_MUCH = {
    "depth": 10_000,
    "epoch": 2**63,
    "step": 2**63,
    "stop": 2,
    "start": math.inf,
    "duration": math.inf,
}
assert list(_KINDS) == [field.name for field in fields(Event)]


def write_trace(path: str | os.PathLike[str], events: Sequence[Event]) -> None:
    """Write the events, in the format that the file's ending asks for.

    Raises:
        ValueError: The ending is none of ".jsonl", ".json" and ".html".
        OSError: The file cannot be written.
    """
    ending = _ending(path, _WRITTEN, "save")
    if ending == ".jsonl":
        text = "".join(json.dumps(asdict(event)) + "\n" for event in events)
    elif ending == ".html":
        text = page(events)
    else:
        items = [_shown(event) for event in events]
        items += [
            {"name": name, "cat": "span", **_place(start, end - start)}
            for name, start, end in _spans(events)
        ]
        text = json.dumps({"traceEvents": items, "displayTimeUnit": "ms"})
    with replacing(path) as file:
        file.write(text.encode())


def read_trace(path: str | os.PathLike[str]) -> list[Event]:
    """Read what `write_trace` has written, unless it is a page.

    Raises:
        ValueError: The ending is another, or the file's content.
        OSError: The file cannot be read.
    """
    ending = _ending(path, _READ, "load")
    with open(path, "rb", opener=regular) as file:
        content = file.read()
    try:
        text = content.decode()
        if ending == ".jsonl":
            rows: list[object] = [json.loads(line) for line in text.splitlines()]
        else:
            items = json.loads(text)["traceEvents"]
            rows = [item["args"] for item in items if item["cat"] != "span"]
        return [_event(row) for row in rows]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        # A value that is wrong may be of any length.
        why = str(error)[:500]
        raise ValueError(f"The file '{os.fspath(path)}' holds no trace: {why}.") from error


def _ending(path: str | os.PathLike[str], endings: tuple[str, ...], method: str) -> str:
    ending = os.path.splitext(path)[1]
    check_one_of(ending, endings, "ending of 'path'", f"EventTrace.{method}")
    return ending


def _event(row: object) -> Event:
    if not isinstance(row, dict):
        raise TypeError(f"{row!r} is no event")
    given = cast("dict[str, object]", row)
    if given.keys() | _NEWER.keys() != _KINDS.keys():
        raise ValueError(f"an event has {', '.join(_KINDS)}, not {', '.join(given)}")
    values = {**_NEWER, **given}
    for name, value in values.items():
        if type(value) not in _KINDS[name]:
            raise ValueError(f"{value!r} is no {name}")
        if isinstance(value, int | float) and not 0 <= value < _TOO_MUCH[name]:
            raise ValueError(f"{value!r} is no {name}")
    values["changed"] = _words(cast("list[object]", values["changed"]))
    return Event(**values)  # type: ignore[arg-type]  # checked above


def _words(values: list[object]) -> tuple[str, ...]:
    for value in values:
        if not isinstance(value, str):
            raise TypeError(f"{value!r} is no word")
    return tuple(cast("list[str]", values))


def _shown(event: Event) -> dict[str, object]:
    name = f"{event.source}.{event.name}" if event.source else event.name
    kind = "callback" if event.source else "loop"
    place = _place(event.start, event.duration)
    return {"name": name, "cat": kind, **place, "args": asdict(event)}


def _place(start: float, duration: float) -> dict[str, object]:
    """A complete event of the format: "ts" and "dur" are in microseconds."""
    return {"ph": "X", "ts": start * 1e6, "dur": duration * 1e6, "pid": 1, "tid": 1}


def _spans(events: Iterable[Event]) -> Iterator[tuple[str, float, float]]:
    """What lies between the two events of a pair: its name, its beginning and its end."""
    begun: dict[tuple[int, str], Event] = {}
    for event in events:
        if event.source:
            continue
        what, _, which = event.name.rpartition("_")
        if which == "begin":
            begun[event.depth, what] = event
        elif which == "end" and (event.depth, what) in begun:
            first = begun.pop((event.depth, what))
            number = event.step if what.endswith("step") else event.epoch
            name = what.removeprefix("on_").replace("_", " ")
            yield (
                f"{name} {number}" if what.count("_") > 1 and number is not None else name,
                first.start,
                event.start + event.duration,
            )
