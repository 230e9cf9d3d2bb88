"""The page of one run in six libraries: their timelines, and a table of what differs.

A fence `timelines` names a scenario, and becomes a drawing of its events for each library. A fence
`what-differs` becomes a table, whose cells are computed from the events of all scenarios. The
events are those of docs/assets/libraries.json; minispore's are recorded when the site is built.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import minispore
from minispore.drawing import draw_events
from minispore.drawing._events import span_and_edge
from minispore.testing import Event

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docs" / "assets" / "libraries.json"
FENCE = re.compile(r"^```(timelines|what-differs)(?: (\w+))?\n```$", flags=re.MULTILINE)
COMPUTED = ("train", "evaluate")
RAISES = "raises "


class Library(NamedTuple):
    """The recorded runs of a library.

    Attributes:
        versions: The versions of what recorded them.
        runs: The events of each scenario; benchmarks/record_libraries.py describes them.
    """

    versions: Mapping[str, str]
    runs: Mapping[str, Sequence[str]]


class Step(NamedTuple):
    """An event of a run.

    Attributes:
        name: The event.
        around: The begin hooks of the spans around it, the outermost first.
        raised: The exception that it raised, or "".
    """

    name: str
    enclosing: tuple[str, ...]
    raised: str


def on_page_markdown(markdown: str, **_: object) -> str:
    """Expand the fences of a page."""

    def fill(match: re.Match[str]) -> str:
        libraries = recorded()
        return timelines(libraries, match[2]) if match[2] else differences(libraries)

    return FENCE.sub(fill, markdown)


def recorded() -> dict[str, Library]:
    """Return the recorded runs by the library's name; those of minispore are recorded again."""
    libraries = {
        name: Library(**fields) for name, fields in json.loads(FILE.read_text("utf-8")).items()
    }
    spec = spec_from_file_location("record", ROOT / "benchmarks" / "record_libraries.py")
    assert spec
    assert spec.loader
    recorder = module_from_spec(spec)
    spec.loader.exec_module(recorder)
    versions = {"minispore": minispore.__version__}
    return libraries | {"minispore": Library(versions, recorder.runs("minispore"))}


def steps(events: Sequence[str]) -> list[Step]:
    """Return the events of a run but its end, each with the spans that it is in."""
    found, enclosing = list[Step](), list[str]()
    for name, following in pairwise([*events[:-1], ""]):
        if name.startswith(RAISES):
            continue
        span, edge = span_and_edge(name)
        opened = [i for i, begin in enumerate(enclosing) if span_and_edge(begin)[0] == span]
        if opened and (edge == "end" or name.startswith("cleanup_")):
            del enclosing[opened[-1] :]
        elif name == "on_exception":  # the exception has left all spans
            enclosing = [begin for begin in enclosing if begin == "__enter__"]
        raised = following.removeprefix(RAISES) if following.startswith(RAISES) else ""
        found.append(Step(name, tuple(enclosing), raised))
        if edge == "begin":
            enclosing.append(name)
    return found


def timelines(libraries: Mapping[str, Library], scenario: str) -> str:
    """Return the drawings of a scenario with each library, side by side."""

    def figure(name: str) -> str:
        drawing = draw_events(drawable(libraries[name].runs[scenario]))
        return f"<figure><figcaption>{name}</figcaption>\n{drawing}</figure>"

    # It can be scrolled with the keyboard, too.
    opened = f'<div class="timelines" role="group" aria-label="{scenario}" tabindex="0"><div>'
    return "\n".join([opened, *map(figure, libraries), "</div></div>"])


def drawable(events: Sequence[str]) -> Iterator[Event]:
    """Yield the events of a run for `draw_events`."""
    yield Event("run", raised=events[-1].removeprefix(RAISES) * events[-1].startswith(RAISES))
    hook = ""
    for name, enclosing, raised in steps(events):
        depth = 1 + len(enclosing)
        if name in COMPUTED:
            yield Event(name, "network", depth, raised=raised)
        elif name == "stop":
            yield Event(hook, "callback", depth, stop=not raised, raised=raised)
        else:
            yield Event(hook := name, depth=depth)


def differences(libraries: Mapping[str, Library]) -> str:
    """Return the table of what differs."""
    lines = [f"| | {' | '.join(libraries)} |", "|---" * (1 + len(libraries)) + "|"]
    versions = [
        _lines(" ".join(pair) for pair in library.versions.items())
        for library in libraries.values()
    ]
    lines.append(f"| recorded with | {' | '.join(versions)} |")
    for title, (scenario, cell) in ROWS.items():
        cells = [cell(library.runs[scenario]) for library in libraries.values()]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def around_step(events: Sequence[str]) -> str:
    """Return the begin hooks around the first training step, the outermost first."""
    return _hooks(next(step.enclosing for step in steps(events) if step.name == "train"))


def around_validation(events: Sequence[str]) -> str:
    """Return the begin hooks around the last validation step, the outermost first."""
    return _hooks([step.enclosing for step in steps(events) if step.name == "evaluate"][-1])


def validated_before(events: Sequence[str]) -> str:
    """Return the number of validation steps before the first training step."""
    return str(events[: events.index("train")].count("evaluate"))


def trained(events: Sequence[str]) -> str:
    """Return the number of training steps."""
    return str(events.count("train"))


def validated_after(events: Sequence[str]) -> str:
    """Return the number of validation steps after a stop."""
    return str(events[events.index("stop") :].count("evaluate"))


def hooks_after(events: Sequence[str]) -> str:
    """Return the hooks after a stop or an exception, without the spans that it is followed by."""
    found = steps(events)
    at = next(i for i, step in enumerate(found) if step.name == "stop" or step.raised)
    inside = len(found[at].enclosing)
    return _hooks(
        step.name
        for step in found[at + 1 :]
        if len(step.enclosing) < inside
        or (
            len(step.enclosing) == inside
            and step.name not in COMPUTED
            and not span_and_edge(step.name)[1]
        )
    )


def outcome(events: Sequence[str]) -> str:
    """Return how the call ends."""
    return events[-1]


# By the title of a row: the scenario, and the function of its events that returns the cell.
ROWS: dict[str, tuple[str, Callable[[Sequence[str]], str]]] = {
    "hooks around a training step, from the outside": ("undisturbed", around_step),
    "hooks around a validation step": ("undisturbed", around_validation),
    "validation steps before the first training step": ("undisturbed", validated_before),
    "stop after step 2: training steps": ("stop", trained),
    "validation steps after the stop": ("stop", validated_after),
    "hooks after the stop, without those of the validation": ("stop", hooks_after),
    "exception in step 2: hooks after it": ("exception", hooks_after),
    "end of the call": ("exception", outcome),
}


def _hooks(names: Iterable[str]) -> str:
    return _lines(f"`{name}`" for name in names)


def _lines(texts: Iterable[str]) -> str:
    return "<br>".join(texts) or "–"
