"""The step boundary: the point between two steps at which a run can be stopped and resumed."""

from contextlib import AbstractContextManager
from typing import Protocol

from minispore.train.protocol.callback import SaveReason


class Boundary(Protocol):
    """The step boundaries of a run.

    At a boundary all callbacks have handled the events of the last step, and nothing of the next
    one has begun.
    """

    def resume(self) -> "Boundary":
        """Return the boundary of the run, moved to the requested position; called as it begins."""
        ...

    def enter_epoch(self) -> None:
        """Note that an epoch has begun."""
        ...

    def handle_requests(self, *, closed: bool = False) -> None:
        """Handle the requests of callbacks in a step, or, if `closed`, at an epoch's end."""
        ...

    def leave(self, reason: SaveReason) -> None:
        """End the run, of which the hooks at its end may still change something."""
        ...

    def validation(self) -> AbstractContextManager[None]:
        """Return a context for a validation; a run interrupted in it is resumed before it."""
        ...
