"""The HTML page of a trace: an interactive time line in one self-contained file."""

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
    """Return a self-contained HTML page of the events, which depends on nothing else.

    >>> html = page([Event("run", start=0.5, duration=2.0)])
    >>> '"events":[["run","",0,null,null,false,"",0.5,2.0,[],null]]' in html
    True
    """
    script = '(() => {\n"use strict";\n' + "".join(map(_part, _SCRIPTS)) + "})();"
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = {
        # The browser runs no other script: the names in a trace may come from untrusted files.
        "policy": f"sha256-{digest}",
        "style": _part("page.css"),
        "trace": _data(events),
        "script": script,
    }
    # In one pass, so that placeholders in the inserted text are not replaced.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _part("page.html"))


def _part(name: str) -> str:
    return files("minispore.testing").joinpath("timeline", name).read_text("utf-8")


def _data(events: Sequence[Event]) -> str:
    """Return JSON without characters that could end a script element or begin a comment."""
    data = {
        "fields": [field.name for field in fields(Event)],
        "events": [astuple(event) for event in events],
    }
    text = json.dumps(data, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
