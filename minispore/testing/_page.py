"""The page of a trace: its events on a time line, interactive, in one file without a network."""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import astuple, fields
from importlib.resources import files

from minispore.testing._event import Event

_SCRIPTS = ("events.js", "timeline.js", "list.js")


def page(events: Sequence[Event]) -> str:
    """The events as an HTML page with everything in it. The same events give the same page.

    >>> html = page([Event("run", start=0.5, duration=2.0)])
    >>> '"events":[["run","",0,null,null,false,"",0.5,2.0,[]]]' in html
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
    return files("minispore.testing").joinpath("timeline", name).read_text("utf-8")


def _data(events: Sequence[Event]) -> str:
    """JSON that can stand in a script element: nothing in it ends one, or begins a comment."""
    data = {
        "fields": [field.name for field in fields(Event)],
        "events": [astuple(event) for event in events],
    }
    text = json.dumps(data, separators=(",", ":"))
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text
