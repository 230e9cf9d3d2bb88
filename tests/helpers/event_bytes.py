"""Encode one event."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from minispore.train.summary import Event

Dialect: TypeAlias = Callable[[Sequence[Event]], Iterator[bytes]]


def encoded(dialect: Dialect, event: Event) -> bytes:
    """Return the event in one of the two dialects."""
    [data] = dialect([event])
    return data
