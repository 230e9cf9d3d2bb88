"""Watching runs from outside: who is called when, in all runs that begin while somebody watches."""

from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Literal, Protocol, Self, TypeVar

from minispore.train._protocol.callback import EVENTS, Callback, hook_for
from minispore.train._protocol.manager import CallbackManager, Event, manager_class
from minispore.train._protocol.run_context import RunContext

R = TypeVar("R")


@dataclass(frozen=True)
class Moment:
    """Something that happens in a run.

    Attributes:
        kind: The "run" as a whole, an "event" of the loop, or the "call" of a callback's method.
        name: The name of the event or the method.
        source: Whose method: the name of its class, with a number from the second of a class on.
        callback: The callback that is called.
        context: The run's.
    """

    kind: Literal["run", "event", "call"]
    name: str
    source: str
    callback: Callback | None
    context: RunContext


class Watcher(Protocol):
    """Who is told of every moment of a run."""

    def around(self, moment: Moment) -> AbstractContextManager[object]:
        """Return what is entered before the moment and left after it."""
        ...


_watchers: ContextVar[tuple[Watcher, ...]] = ContextVar("watchers", default=())


@contextmanager
def watching(watcher: Watcher) -> Generator[None, None, None]:
    """Let `watcher` watch the runs that begin in this block, in this thread."""
    watchers = _watchers.set((*_watchers.get(), watcher))
    managers = manager_class.set(_WatchedManager)
    try:
        yield
    finally:
        manager_class.reset(managers)
        _watchers.reset(watchers)


class _WatchedManager(CallbackManager):
    """A manager that tells watchers of what it does."""

    def __init__(self, callbacks: Callback | Iterable[Callback] | None = None) -> None:
        super().__init__(callbacks)
        self._watchers = _watchers.get()
        self._context = RunContext({})
        names = [type(callback).__name__ for callback in self.callbacks]
        self._sources: list[str] = []
        for i, name in enumerate(names):
            number = names[: i + 1].count(name)
            self._sources.append(name if number == 1 else f"{name} {number}")
        self._hooks = {
            getattr(Callback, event): tuple(self._watched_hooks(event)) for event in EVENTS
        }

    def run(self, run_context: RunContext, body: Callable[[], R]) -> R:
        self._context = run_context
        with self._around(Moment("run", "run", "", None, run_context)):
            return super().run(run_context, body)

    def emit(self, event: Event, run_context: RunContext) -> None:
        with self._around(Moment("event", event.__name__, "", None, run_context)):
            super().emit(event, run_context)

    def on_exception(self, run_context: RunContext, error: BaseException) -> None:
        for i, callback in enumerate(self.callbacks):
            try:
                with self._calling(i, "on_exception"):
                    callback.on_exception(run_context, error)
            except Exception as another:
                error.add_note(f"{type(callback).__name__}.on_exception itself raised {another!r}.")

    def __enter__(self) -> Self:
        with ExitStack() as entered:
            for i, callback in enumerate(self.callbacks):
                with self._calling(i, "__enter__"):
                    callback.__enter__()
                entered.push(partial(self._leave, i))
            self._exits = entered.pop_all()
        return self

    def _leave(
        self,
        i: int,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        with self._calling(i, "__exit__"):
            return self.callbacks[i].__exit__(exc_type, exc_value, traceback)

    def _watched_hooks(self, event: str) -> Iterable[tuple[str, Callable[[RunContext], None]]]:
        for i, callback in enumerate(self.callbacks):
            name = hook_for(callback, event)
            if name is not None:
                label = f"{type(callback).__name__}.{name}"
                yield label, partial(self._call, i, name, getattr(callback, name))

    def _call(
        self, i: int, name: str, hook: Callable[[RunContext], None], context: RunContext
    ) -> None:
        with self._calling(i, name):
            hook(context)

    def _calling(self, i: int, name: str) -> AbstractContextManager[object]:
        callback = self.callbacks[i]
        return self._around(Moment("call", name, self._sources[i], callback, self._context))

    @contextmanager
    def _around(self, moment: Moment) -> Generator[None, None, None]:
        with ExitStack() as stack:
            for watcher in self._watchers:
                stack.enter_context(watcher.around(moment))
            yield
