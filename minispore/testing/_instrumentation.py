"""Instrumentation of runs: hooks around each run, each event, and each call of a callback."""

from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol, Self, TypeVar

from minispore.train.protocol import (
    Callback,
    CallbackEvent,
    CallbackManager,
    Hook,
    RunContext,
    manager_class,
)

R = TypeVar("R")


@dataclass(frozen=True)
class Span:
    """A part of a run that has a begin and an end.

    Attributes:
        kind: The complete "run", an "event" of the loop, or the "call" of a callback's method.
        name: The name of the event or the method.
        source: For a call, the name of the callback's class, numbered from the second on.
        callback: The callback that is called, or None.
        position: Its index in the run's list, or None.
        context: The run context.
    """

    kind: Literal["run", "event", "call"]
    name: str
    source: str
    callback: Callback | None
    position: int | None
    context: RunContext


class RunInstrument(Protocol):
    """An object that is notified of each span of a run."""

    def span(self, span: Span) -> AbstractContextManager[object]:
        """Return a context manager that is entered before the span and left after it."""
        ...


_instruments: ContextVar[tuple[RunInstrument, ...]] = ContextVar("instruments", default=())


@contextmanager
def instrument_runs(instrument: RunInstrument) -> Generator[None, None, None]:
    """Add an instrument to all runs that start in this block, in this thread."""
    instruments = _instruments.set((*_instruments.get(), instrument))
    managers = manager_class.set(InstrumentedManager)
    try:
        yield
    finally:
        manager_class.reset(managers)
        _instruments.reset(instruments)


class InstrumentedManager(CallbackManager):
    """A callback manager that reports each span to the instruments."""

    def __init__(self, callbacks: Callback | Iterable[Callback] | None = None) -> None:
        super().__init__(callbacks)
        self._instruments = _instruments.get()
        self._context = RunContext({})
        names = [type(callback).__name__ for callback in self.callbacks]
        self._sources: list[str] = []
        for i, name in enumerate(names):
            number = names[: i + 1].count(name)
            self._sources.append(name if number == 1 else f"{name} {number}")

    def run(self, run_context: RunContext, body: Callable[[], R]) -> R:
        self._context = run_context
        with self._span("run", "run"):
            return super().run(run_context, body)

    def emit(self, event: CallbackEvent, run_context: RunContext) -> None:
        self._context = run_context
        with self._span("event", event.__name__):
            super().emit(event, run_context)

    def on_exception(self, run_context: RunContext, error: BaseException) -> None:
        for i, callback in enumerate(self.callbacks):
            try:
                self._call(i, "on_exception", callback.on_exception, run_context, error)
            except Exception as another:
                error.add_note(f"{type(callback).__name__}.on_exception itself raised {another!r}.")

    def __enter__(self) -> Self:
        with ExitStack() as entered:
            for i, callback in enumerate(self.callbacks):
                self._call(i, "__enter__", callback.__enter__)
                entered.push(partial(self._call, i, "__exit__", callback.__exit__))
            self._exits = entered.pop_all()
        return self

    def wrap_hook(self, index: int, name: str, hook: Hook) -> Hook:
        return partial(self._call, index, name, hook)

    def _call(self, i: int, name: str, method: Callable[..., R], *args: object) -> R:
        """Call a method of a callback in a span."""
        with self._span("call", name, i):
            return method(*args)

    @contextmanager
    def _span(
        self, kind: Literal["run", "event", "call"], name: str, i: int | None = None
    ) -> Generator[None, None, None]:
        source, callback = ("", None) if i is None else (self._sources[i], self.callbacks[i])
        span = Span(kind, name, source, callback, i, self._context)
        with ExitStack() as stack:
            for instrument in self._instruments:
                stack.enter_context(instrument.span(span))
            yield
