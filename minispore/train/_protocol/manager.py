"""The callbacks of one run as one: each event goes to those that have a hook for it, in order."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from contextvars import ContextVar
from types import TracebackType
from typing import Self, TypeVar

from minispore.train._protocol.callback import EVENTS, Callback, hook_for, overrides
from minispore.train._protocol.run_context import RunContext

Event = Callable[[Callback, RunContext], None]
_Hook = Callable[[RunContext], None]
R = TypeVar("R")


class CallbackManager(Callback):
    """The callbacks of a run in their order; itself a callback.

    The loop says ``callbacks.emit(Callback.on_train_step_end, context)``: the event is named by the
    method itself, so that a type checker sees a misspelt one. Who overrides what is looked up
    once, at the start: an event that nobody listens to is an empty loop.

    Args:
        callbacks: one callback, several, or None.

    Raises:
        TypeError: if one of `callbacks` is no `Callback`.

    Examples:
        >>> class Hello(Callback):
        ...     def on_train_begin(self, run_context: RunContext) -> None:
        ...         print("hello")
        >>> with CallbackManager([Hello()]) as callbacks:
        ...     callbacks.on_train_begin(RunContext({}))
        hello
    """

    def __init__(self, callbacks: Callback | Iterable[Callback] | None = None) -> None:
        self.callbacks = as_list(callbacks)
        self._exits = ExitStack()
        self._hooks: dict[Event, tuple[tuple[str, _Hook], ...]] = {
            getattr(Callback, event): tuple(_hooks(self.callbacks, event)) for event in EVENTS
        }

    def emit(self, event: Event, run_context: RunContext) -> None:
        """Call the hooks of `event`; an exception is given a note that names callback and hook."""
        for name, hook in self._hooks[event]:
            try:
                hook(run_context)
            except BaseException as error:
                error.add_note(f"Raised by the callback's hook {name}.")
                raise

    def run(self, run_context: RunContext, body: Callable[[], R]) -> R:
        """Return what `body` does: enter every callback before, leave them all whatever happens.

        An exception is first told to every `on_exception`.
        """
        with self:
            try:
                return body()
            except BaseException as error:
                self.on_exception(run_context, error)
                raise

    def on_exception(self, run_context: RunContext, error: BaseException) -> None:
        """Tell every callback that has an `on_exception`; what that raises becomes a note."""
        for callback in self.callbacks:
            try:
                callback.on_exception(run_context, error)
            except Exception as another:  # must not hide the first
                error.add_note(f"{type(callback).__name__}.on_exception itself raised {another!r}.")

    def __enter__(self) -> Self:
        """Enter the callbacks in their order; if one raises, leave those that were entered."""
        with ExitStack() as entered:
            for callback in self.callbacks:
                entered.enter_context(callback)
            self._exits = entered.pop_all()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        """Leave the callbacks in the reverse of their order."""
        return self._exits.__exit__(exc_type, exc_value, traceback)


def _forward(name: str) -> Callable[[CallbackManager, RunContext], None]:
    event: Event = getattr(Callback, name)

    def hook(self: CallbackManager, run_context: RunContext) -> None:
        self.emit(event, run_context)

    hook.__doc__ = event.__doc__
    return hook


# The manager has every hook, so that loops written for MindSpore can call them; in these loops
# the older names mean training.
for _event, _older in reversed(EVENTS.items()):
    setattr(CallbackManager, _event, _forward(_event))
    setattr(CallbackManager, _older, _forward(_event))


# What makes the manager of a run: whoever watches runs puts another class here.
manager_class: ContextVar[Callable[[Callback | Iterable[Callback] | None], CallbackManager]] = (
    ContextVar("manager_class", default=CallbackManager)
)


def manager_of(callbacks: Callback | Iterable[Callback] | None) -> CallbackManager:
    """Return the manager for a run with these callbacks; TypeError if one of them is none."""
    return manager_class.get()(callbacks)


def _hooks(callbacks: Iterable[Callback], event: str) -> Iterator[tuple[str, _Hook]]:
    for callback in callbacks:
        name = hook_for(callback, event)
        if name is not None:
            yield f"{type(callback).__name__}.{name}", getattr(callback, name)


def as_list(callbacks: Callback | Iterable[Callback] | None) -> list[Callback]:
    """Return `callbacks` and their companions, those of managers one by one.

    Raises:
        TypeError: Something in it is no callback.
    """
    if callbacks is None:
        return []
    given: Iterable[object]
    if isinstance(callbacks, Callback) or not hasattr(callbacks, "__iter__"):
        given = [callbacks]
    else:
        given = callbacks
    listed: list[Callback] = []
    for callback in given:
        if not isinstance(callback, Callback):
            raise TypeError(
                "The argument 'callbacks' must be a Callback or a list of Callback, "
                f"but got {callback!r} of type {type(callback).__name__} in it."
            )
        listed += callback.callbacks if isinstance(callback, CallbackManager) else [callback]
    for callback in tuple(listed):
        listed[:0] = callback.companions(listed)
    return listed


def refuse_older_names(callbacks: Iterable[Callback]) -> None:
    """Raise ValueError if a callback overrides one of MindSpore 1.x's hooks."""
    for callback in callbacks:
        older = sorted({name for name in EVENTS.values() if overrides(callback, name)})
        if older:
            raise ValueError(
                f"For 'Model.fit', the callback {type(callback).__name__} defines "
                f"{', '.join(older)}, which would be called in training and in evaluation alike. "
                "Use methods prefixed with 'on_train' or 'on_eval' instead."
            )
