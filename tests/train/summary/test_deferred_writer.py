"""Deferred tasks: executed in order, a few at a time, and never lost."""

from collections.abc import Callable, Iterator
from contextlib import closing
from threading import Event, current_thread, get_ident
from threading import enumerate as threads
from time import sleep
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from minispore.train.summary import deferred_writer
from minispore.train.summary.deferred_writer import DeferredWriter
from minispore.utils.threads import SynchronousExecutor, Task
from tests.helpers.flush_interval import set_delays

FOREVER = 60.0


@pytest.fixture
def writer() -> Iterator[DeferredWriter]:
    writer = DeferredWriter()
    yield writer
    writer.close()


SIZES = st.sampled_from([0, 1, 2**23, 2**24 - 1, 2**24])
Outcome: TypeAlias = list[str] | OSError


class Deferral(RuleBasedStateMachine):
    """All tasks are executed in order, once: 32 at a time, 16 MiB, or within a second.

    The clock is simulated; the thread does nothing until the machine lets it run.
    """

    def __init__(self) -> None:
        super().__init__()
        machine = self
        self.now, self.ident = 100.0, 1
        self.watches: list[Callable[[], object]] = []
        self.patch = pytest.MonkeyPatch()

        class Waiting(Event):
            def wait(self, timeout: float | None = None) -> bool:
                machine.now += timeout or 0.0
                return False

        class Asked(SynchronousExecutor):
            def submit(self, task: Callable[[], object], /) -> Task[object]:  # type: ignore[override]
                machine.watches.append(task)
                return super().submit(lambda: None)

        self.patch.setattr(deferred_writer, "monotonic", lambda: self.now)
        self.patch.setattr(deferred_writer, "get_ident", lambda: self.ident)
        self.patch.setattr(deferred_writer, "make_executor", lambda name: Asked())
        self.patch.setattr(deferred_writer, "Event", Waiting)
        self.writer = DeferredWriter()
        self.submitted: list[int] = []
        self.done: list[int] = []
        self.queue: list[tuple[float, str, bool]] = []  # with the text, and whether it fails
        self.bytes = 0
        self.watched = False
        self.outcomes: list[Outcome] = []

    def execute(self) -> None:
        errors = [OSError(text) for _, text, fails in self.queue if fails]
        self.outcomes.append(errors[0] if errors else [text for _, text, _ in self.queue])
        self.queue, self.bytes = [], 0

    def expect(self, call: Callable[[], list[str]]) -> None:
        """Check what a call returns or raises."""
        outcomes, self.outcomes = self.outcomes, []
        errors = [outcome for outcome in outcomes if isinstance(outcome, OSError)]
        if errors:
            with pytest.raises(OSError, match=f"^{errors[0]}$"):
                call()
        else:
            assert call() == [text for done in outcomes if isinstance(done, list) for text in done]

    @rule(number=st.integers(1, 33), size=SIZES, fails=st.sampled_from([False, False, True]))
    def submit(self, number: int, size: int, fails: bool) -> None:
        """Submit tasks of which the last may be large, and may fail."""
        for i in range(1, number + 1):
            last = i == number
            task_size, task_fails = (size, fails) if last else (0, False)
            name = len(self.submitted)

            def task(name: int = name, task_fails: bool = task_fails) -> list[str]:
                self.done.append(name)
                if task_fails:
                    raise OSError(str(name))
                return [str(name)]

            self.submitted.append(name)
            self.queue.append((self.now, str(name), task_fails))
            self.bytes += task_size
            full = len(self.queue) >= 32 or self.bytes >= 2**24
            watches = len(self.watches) + (not self.watched)
            self.watched = True
            if full or self.now - self.queue[0][0] >= 0.5:
                self.execute()
            self.expect(lambda task=task, n=task_size: self.writer.submit(task, n))  # type: ignore[misc]
            assert len(self.watches) == watches

    @rule(seconds=st.sampled_from([0.25, 0.5, 1.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def flush(self) -> None:
        self.execute()
        self.expect(self.writer.flush)

    @precondition(lambda self: self.watches)
    @rule()
    def thread_runs(self) -> None:
        """It executes the queue a second after its first task was submitted, or later."""
        self.ident = 2
        due = max(self.now, self.queue[0][0] + 1.0 if self.queue else 0.0)
        self.execute()
        self.watched = False
        self.watches.pop()()
        self.ident = 1
        assert self.now == due

    @invariant()
    def tasks_are_done_in_order(self) -> None:
        assert self.done == self.submitted[: len(self.submitted) - len(self.queue)]

    def teardown(self) -> None:
        self.execute()
        self.expect(self.writer.close)
        assert self.done == self.submitted
        self.patch.undo()


TestDeferral = Deferral.TestCase


def telling(text: str) -> Callable[[], list[str]]:
    return lambda: [text]


@given(position=st.integers(0, 6), count=st.integers(7, 20))
def test_interrupted_tasks_are_executed_again(position: int, count: int) -> None:
    done: list[int] = []
    interrupts = [KeyboardInterrupt()]

    def task(i: int) -> list[str]:
        if i == position and interrupts:
            raise interrupts.pop()
        done.append(i)
        return [str(i)]

    with pytest.MonkeyPatch.context() as patch, closing(DeferredWriter()) as writer:
        set_delays(FOREVER, patch)
        for i in range(count):
            writer.submit(lambda i=i: task(i))  # type: ignore[misc]
        with pytest.raises(KeyboardInterrupt):
            writer.flush()
        writer.submit(lambda: task(count))
        assert writer.flush() == [str(i) for i in range(count + 1)]
    assert done == [*range(position), *range(count + 1)]


def test_signal_handler_does_not_deadlock(
    writer: DeferredWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while the thread waits for the lock."""
    set_delays(FOREVER, monkeypatch)
    monkeypatch.setattr(deferred_writer, "_MAX_DELAY", 0.0)
    signals = [writer.close]

    def task() -> list[str]:
        writer.submit(telling("third"))
        sleep(0.05)
        return signals.pop()() if signals else ["first"]

    monkeypatch.setattr(writer, "_watched", True)
    writer.submit(task)
    writer.submit(telling("second"))
    monkeypatch.setattr(writer, "_watched", False)
    assert {"first", "second", "third"} <= {*writer.flush()}


def test_thread_executes_tasks_after_the_delay(
    writer: DeferredWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_delays(0.01, monkeypatch)
    done = Event()

    def task() -> list[str]:
        done.set()
        return [current_thread().name]

    # The thread may be faster than this one.
    outcomes = writer.submit(task)
    assert done.wait(FOREVER)
    (name,) = outcomes + writer.flush()
    assert name.startswith("summary")


def test_close_ends_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    set_delays(2 * FOREVER, monkeypatch)
    others = set(threads())
    writer = DeferredWriter()
    writer.submit(telling("one"))
    started = set(threads()) - others
    assert writer.close() == ["one"]
    for thread in started:
        thread.join(FOREVER)
        assert not thread.is_alive()


def test_tasks_run_at_once_without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    set_delays(2 * FOREVER, monkeypatch)
    monkeypatch.setattr(deferred_writer, "make_executor", lambda name: SynchronousExecutor())
    writer = DeferredWriter()
    assert writer.submit(lambda: [str(get_ident())]) == [str(get_ident())]
    assert writer.close() == []
