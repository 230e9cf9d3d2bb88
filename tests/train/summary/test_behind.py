"""Tasks behind the program: in their order, a few at a time, and never forgotten."""

from collections.abc import Callable, Iterator
from threading import Event, current_thread, get_ident
from time import monotonic, sleep
from typing import TypeVar, cast

import pytest

from minispore._threads import Task, _AtOnce
from minispore.train.summary import _behind
from minispore.train.summary._behind import Behind
from tests.train.summary.waiting import pauses

FOREVER = 60.0
T = TypeVar("T")


@pytest.fixture
def behind() -> Iterator[Behind]:
    behind = Behind()
    yield behind
    behind.end()


def telling(text: str, done: Event | None = None) -> Callable[[], list[str]]:
    def task() -> list[str]:
        if done is not None:
            done.set()
        return [text]

    return task


@pytest.mark.parametrize("number", [0, 1, 31, 32, 33, 100])
def test_all_are_done_in_their_order_and_told_once(number: int, behind: Behind) -> None:
    done: list[int] = []
    told: list[str] = []

    def task(i: int) -> list[str]:
        done.append(i)
        return [str(i)]

    for i in range(number):
        told += behind.do(lambda i=i: task(i))  # type: ignore[misc]
    told += behind.wait()
    assert done == list(range(number))
    assert told == [str(i) for i in range(number)]
    assert behind.wait() == []


def test_a_few_wait_for_one_another_and_are_done_by_the_program(
    behind: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses(FOREVER, monkeypatch)
    for _ in range(2):  # the next few do, too
        done: list[int] = []

        def task(done: list[int] = done) -> list[str]:
            done.append(get_ident())
            return ["one"]

        for _ in range(31):
            assert behind.do(task) == []
        assert done == []
        assert behind.do(task) == ["one"] * 32
        assert done == [get_ident()] * 32


def test_one_that_comes_after_a_while_makes_the_program_do_all(
    behind: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses(FOREVER, monkeypatch)
    monkeypatch.setattr(_behind, "_PAUSE", 0.05)
    assert behind.do(telling("first")) == []
    assert behind.do(telling("second")) == []
    sleep(0.05)
    assert behind.do(telling("third")) == ["first", "second", "third"]
    assert behind.do(telling("fourth")) == []


def test_those_that_hold_much_do_not_wait(behind: Behind, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses(FOREVER, monkeypatch)
    for _ in range(2):
        assert behind.do(telling("small"), 2**23) == []
        assert behind.do(telling("large"), 2**23 - 1) == []
        assert behind.do(telling("enough"), 1) == ["small", "large", "enough"]


def test_one_that_came_later_waits_as_long(behind: Behind, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread, woken for tasks that the program has done, does not do others too early."""
    pauses(0.2, monkeypatch)
    behind.do(telling("first"))
    assert behind.wait() == ["first"]
    sleep(0.15)
    done = Event()
    start = monotonic()
    behind.do(telling("second", done))
    assert done.wait(FOREVER)
    assert monotonic() - start >= 0.2


@pytest.mark.parametrize("place", [0, 3, 6])
def test_what_ctrl_c_interrupts_is_done_again(
    place: int, behind: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses(FOREVER, monkeypatch)
    done: list[int] = []
    interrupts = [KeyboardInterrupt()]

    def task(i: int) -> list[str]:
        if i == place and interrupts:
            raise interrupts.pop()
        done.append(i)
        return [str(i)]

    for i in range(7):
        behind.do(lambda i=i: task(i))  # type: ignore[misc]
    with pytest.raises(KeyboardInterrupt):
        behind.wait()
    behind.do(lambda: task(7))
    assert behind.wait() == [str(i) for i in range(8)]
    assert done == [*range(place), *range(8)]


def test_a_signal_that_comes_here_while_it_works_finds_nothing_locked(
    behind: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even where the thread is waiting for its turn."""
    pauses(FOREVER, monkeypatch)
    monkeypatch.setattr(_behind, "_LATEST", 0.0)
    signals = [behind.end]

    def task() -> list[str]:
        behind.do(telling("third"))
        sleep(0.05)
        return signals.pop()() if signals else ["first"]

    monkeypatch.setattr(behind, "_watched", True)
    behind.do(task)
    behind.do(telling("second"))
    monkeypatch.setattr(behind, "_watched", False)
    assert {"first", "second", "third"} <= {*behind.wait()}


@pytest.mark.parametrize("number", [1, 3])
def test_one_that_is_alone_is_done_after_a_while(
    number: int, behind: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses(0.01, monkeypatch)
    done = Event()
    for _ in range(number - 1):
        behind.do(telling("another"))
    behind.do(telling("last", done))
    assert done.wait(FOREVER)


@pytest.mark.parametrize("program", [False, True])
def test_so_is_one_that_is_alone_later(
    program: bool, behind: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the thread has done those before, or the program."""
    pauses(0.01, monkeypatch)
    for i in range(4):
        done = Event()
        behind.do(telling(str(i), done))
        if program and i < 3:
            behind.wait()
        assert done.wait(FOREVER)
        sleep(0.05)  # the thread has come, too


def test_the_thread_is_asked_once_for_all_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses(FOREVER, monkeypatch)
    asked: list[Callable[[], object]] = []

    class Asked(_AtOnce):
        def submit(self, task: Callable[[], T], /) -> Task[T]:
            asked.append(task)
            return super().submit(lambda: cast("T", None))

    monkeypatch.setattr(_behind, "executor", lambda name: Asked())
    behind = Behind()
    for _ in range(5):
        behind.do(telling("one"))
    assert len(asked) == 1
    behind.end()


def test_the_thread_has_a_name(behind: Behind, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses(0.01, monkeypatch)
    done = Event()

    def task() -> list[str]:
        done.set()
        return [current_thread().name]

    # The thread may be faster than this one.
    outcomes = behind.do(task)
    assert done.wait(FOREVER)
    (name,) = outcomes + behind.wait()
    assert name.startswith("summary")


def test_who_waits_does_not_wait_for_others(
    behind: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses(2 * FOREVER, monkeypatch)
    behind.do(telling("one"))
    assert behind.wait() == ["one"]
    behind.do(telling("two"))
    assert behind.end() == ["two"]


def test_without_threads_each_is_done_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses(2 * FOREVER, monkeypatch)
    monkeypatch.setattr(_behind, "executor", lambda name: _AtOnce())
    behind = Behind()
    assert behind.do(lambda: [str(get_ident())]) == [str(get_ident())]
    assert behind.end() == []


def test_the_first_error_is_raised_and_the_others_are_done(behind: Behind) -> None:
    done = Event()

    def fails(text: str) -> list[str]:
        raise OSError(text)

    behind.do(lambda: fails("first"))
    behind.do(lambda: fails("second"))
    behind.do(telling("third", done))
    with pytest.raises(OSError, match="first"):
        behind.wait()
    assert done.is_set()
    assert behind.wait() == []
