"""Tasks behind the program: in their order, a few at a time, and never forgotten."""

from collections.abc import Callable, Iterator
from threading import Event, current_thread, get_ident

import pytest

from minispore._threads import _AtOnce
from minispore.train.summary import _behind
from minispore.train.summary._behind import Behind

FOREVER = 60.0


@pytest.fixture
def behind() -> Iterator[Behind]:
    behind = Behind()
    yield behind
    behind.end()


def pauses(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_behind, "_PAUSE", seconds)


def telling(text: str, done: Event | None = None) -> Callable[[], list[str]]:
    def task() -> list[str]:
        if done is not None:
            done.set()
        return [text]

    return task


@pytest.mark.parametrize("number", [0, 1, 7, 8, 9, 30])
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


def test_a_few_wait_for_one_another(behind: Behind, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses(FOREVER, monkeypatch)
    for _ in range(2):  # the next few do, too
        done = [Event() for _ in range(8)]
        for event in done[:-1]:
            behind.do(telling("first", event))
        assert not done[0].wait(0.05)
        behind.do(telling("last", done[-1]))
        assert all(event.wait(FOREVER) for event in done)
        assert len(behind.wait()) == 8


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


def test_the_thread_has_a_name(behind: Behind) -> None:
    behind.do(lambda: [current_thread().name])
    assert behind.wait()[0].startswith("summary")


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
