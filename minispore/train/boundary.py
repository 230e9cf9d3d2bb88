"""The step boundary: the point between two steps at which a run can be stopped and resumed.

Most runs neither save a training state nor are resumed.
"""

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from minispore.train.protocol.callback import Callback, RunContext, SaveReason
from minispore.train.protocol.dataset import EpochIterator


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


def boundary_of(
    context: RunContext, callbacks: Sequence[Callback], data: EpochIterator
) -> Boundary:
    """Return the step boundary of a run.

    Args:
        context: The run context; a resume requested there is checked at once.
        callbacks: The callbacks of the run.
        data: The training data.

    Raises:
        ValueError: The run cannot be resumed from the requested file.
    """
    saves = any(hasattr(callback, "save_training_state") for callback in callbacks)
    # In each of several processes, although only rank 0 may have a callback that saves.
    saves = saves or context.original_args().get("device_number", 1) > 1
    if not saves and context.get_resume_requested() is None:
        return EmptyBoundary(context, callbacks, data)
    from minispore.train.resume.boundary import ResumableBoundary

    return ResumableBoundary(context, callbacks, data)


class EmptyBoundary:
    """The step boundary of a run that saves nothing.

    Args:
        context: The run context.
        callbacks: The callbacks of the run.
        data: The training data.
    """

    def __init__(
        self, context: RunContext, callbacks: Sequence[Callback], data: EpochIterator
    ) -> None:
        self._context = context
        self._callbacks = callbacks
        self._data = data

    def resume(self) -> Boundary:
        """Return the boundary itself, or one that resumes the run if a hook has requested it."""
        if self._context.get_resume_requested() is None:
            return self
        return boundary_of(self._context, self._callbacks, self._data).resume()

    def enter_epoch(self) -> None:
        """Do nothing."""

    def handle_requests(self, *, closed: bool = False) -> None:
        """Note that an epoch is unfinished if a stop has interrupted it."""
        if self._context.is_interrupted() and not closed:
            self._context.leave_epoch()

    def leave(self, reason: SaveReason) -> None:
        """Do nothing."""

    @contextmanager
    def validation(self) -> Generator[None, None, None]:
        """Return a context for a validation; an epoch that is interrupted in it is unfinished."""
        try:
            yield
        finally:  # also where a hook raises an error because there are no results
            if self._context.is_interrupted() and not self._context.original_args().get("metrics"):
                self._context.leave_epoch()
