"""`minispore trace`: the events of a run as one interactive page that needs no network."""

import base64
import hashlib
import json
import re
from dataclasses import astuple, fields
from importlib.resources import files

from minispore._atomic import replacing
from minispore._cli.arguments import Arguments
from minispore._cli.errors import UserError, told_to_the_user
from minispore.testing import Event, EventTrace

_SCRIPTS = ("events.js", "timeline.js", "list.js")


def trace(arguments: Arguments) -> None:
    """Write the page of a trace.

    Raises:
        UserError: The trace cannot be read or is none, or the page cannot be written.
    """
    path = arguments.file
    out = path.with_suffix(".html") if arguments.out is None else arguments.out
    with told_to_the_user(ValueError, OSError):
        events = EventTrace.load(path)
        if out.exists() and out.samefile(path):
            raise UserError(f"the page would replace the trace '{path}'")
        with replacing(out) as file:
            file.write(page(events).encode())
    print(f"{out}: {len(events)} event{'' if len(events) == 1 else 's'}")


def page(events: EventTrace) -> str:
    """The events as an HTML page with everything in it. The same events give the same page.

    >>> html = page(EventTrace([Event("run", start=0.5, duration=2.0)]))
    >>> '"events":[["run","",0,null,null,false,"",0.5,2.0]]' in html
    True
    """
    script = '(() => {\n"use strict";\n' + "".join(map(_part, _SCRIPTS)) + "})();"
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = {
        # No script runs but this one: names in a trace may come from anywhere.
        "policy": f"sha256-{digest}",
        "style": _part("page.css"),
        "trace": _data(events),
        "script": script,
    }
    # In one pass: what is put in is not searched.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _part("page.html"))


def _part(name: str) -> str:
    return files("minispore._cli").joinpath("timeline", name).read_text("utf-8")


def _data(events: EventTrace) -> str:
    """JSON that can stand in a script element: nothing in it ends one, or begins a comment."""
    data = {
        "fields": [field.name for field in fields(Event)],
        "events": [astuple(event) for event in events],
    }
    text = json.dumps(data, separators=(",", ":"))
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text
