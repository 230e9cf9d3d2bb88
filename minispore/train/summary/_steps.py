"""What was given for a step, made into the event that is stored."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from minispore.train.summary._event import Content, Event, Histogram, Landscape, Value
from minispore.train.summary._histogram import histograms
from minispore.train.summary._image import picture

_Array = NDArray[np.generic]


class Given(NamedTuple):
    """A value as it was given, and when, in seconds since 1970."""

    wall_time: float
    content: _Array | Landscape


# Of each kind and name.
Values: TypeAlias = dict[tuple[str, str], Given]


class Step(NamedTuple):
    """A step that is recorded."""

    number: int
    values: Values

    @property
    def size(self) -> int:
        """The bytes that its arrays hold."""
        contents = [given.content for given in self.values.values()]
        return sum(each.nbytes for each in contents if isinstance(each, np.ndarray))


def as_events(steps: Sequence[Step]) -> list[Event]:
    """Draw the pictures and count the histograms; several steps at once take less time."""
    arrays = [
        cast("_Array", given.content)
        for step in steps
        for (plugin, _), given in step.values.items()
        if plugin == "histogram"
    ]
    found = iter(histograms(arrays))
    return [_event(step, found) for step in steps]


def _event(step: Step, found: Iterator[Histogram]) -> Event:
    """A step as an event; its histograms are the next ones of `found`."""
    values = tuple(
        Value(name, next(found) if plugin == "histogram" else _content(plugin, given.content))
        for (plugin, name), given in step.values.items()
    )
    return Event(max(given.wall_time for given in step.values.values()), step.number, values=values)


def _content(plugin: str, given: _Array | Landscape) -> Content:
    if isinstance(given, Landscape):
        return given
    if plugin == "scalar":
        return float(given.reshape(()))
    return picture(given) if plugin == "image" else given
