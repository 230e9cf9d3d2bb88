"""The names of numbers, checked before the first step: what is read must be written before."""

from collections.abc import Collection
from typing import Protocol, runtime_checkable

from minispore.tensorpack.channel import suggest
from minispore.train.callback._run_context import InternalCallbackParam


@runtime_checkable
class Named(Protocol):
    """A callback, of either school, that tells which numbers it puts in and reads."""

    def produces(self) -> Collection[str]:
        """Return the names that it puts in the channel."""
        ...

    def consumes(self) -> Collection[str]:
        """Return the names that it reads."""
        ...


class UnknownMetricError(ValueError):
    """A callback reads a number that nothing writes, or that is written after it is read."""


def check_names(params: InternalCallbackParam) -> None:
    """Check the callbacks of a run: the loop's numbers are there before the first one's turn.

    Monitors get what is put in at any time, so that for them the order does not matter.

    Raises:
        UnknownMetricError: A number is read and never written, or written too late.
    """
    callbacks = [each for each in params.list_callback if isinstance(each, Named)]
    written = ["loss", "learning_rate", *params.metric_names]
    later = [name for callback in callbacks for name in callback.produces()]
    for callback in callbacks:
        monitor = getattr(callback, "monitor", None)
        at_any_time = callable(monitor) and monitor() is not None
        for name in callback.consumes():
            owner = type(callback).__name__
            if name not in [*written, *later]:
                known = list(dict.fromkeys([*written, *later]))
                raise UnknownMetricError(
                    f"{owner} reads {name!r}, and no callback puts it in{suggest(name, known)} "
                    "A callback of your own must tell what it puts in by its method 'produces'."
                )
            if name not in written and not at_any_time:
                writer = next(each for each in callbacks if name in each.produces())
                raise UnknownMetricError(
                    f"{owner} reads {name!r} before {type(writer).__name__} puts it in: "
                    f"put {type(writer).__name__} before it in the list of callbacks."
                )
        written += callback.produces()
