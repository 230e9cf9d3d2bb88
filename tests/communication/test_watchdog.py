"""The watchdog: timeouts and errors abort all processes, which is simulated here."""

import atexit
import gc
import os
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Event
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minispore.communication import _watchdog
from minispore.communication._mpi import Communicator
from minispore.communication._watchdog import (
    Departures,
    Watchdog,
    abort_unless_all_failed,
    watch_exits,
)
from tests.helpers.processes import run_python

# Seconds: the timeout of the watchdogs here, and a limit that only a failing test reaches.
SOON, LIMIT = 0.05, 20.0


class Ended(BaseException):
    """The simulated end of the program."""


class BarrierCommunicator:
    """A communicator whose other processes reach a barrier after some polls."""

    def __init__(self, rank: int, size: int, polls: float = float("inf")) -> None:
        self._rank = rank
        self._size = size
        self._left = polls

    def Get_rank(self) -> int:
        return self._rank

    def Get_size(self) -> int:
        return self._size

    def Ibarrier(self) -> "BarrierCommunicator":
        return self

    def Test(self) -> bool:
        self._left -= 1
        return self._left < 0

    def Abort(self, errorcode: int) -> None:
        raise Ended(errorcode)


class Program:
    """The simulated process: its output, and whether it was ended."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.output, self.ended = "", Event()
        monkeypatch.setattr(os, "write", self._write)
        monkeypatch.setattr(_watchdog, "_exit", self._exit)

    def _write(self, file: int, text: bytes) -> None:
        assert file == 2
        self.output += text.decode()

    def _exit(self, status: int) -> None:
        assert status == 1
        self.ended.set()
        Event().wait()  # Nothing comes after the end.


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Program:
    return Program(monkeypatch)


def test_timeout_ends_the_program_and_prints_the_stack(program: Program) -> None:
    with Watchdog(3, SOON):
        assert program.ended.wait(LIMIT)
    assert program.output.startswith(
        "minispore: process 3 has waited for the other processes for 0.05 seconds, the timeout "
        "of MINISPORE_MPI_TIMEOUT: one of them does not take part in this operation. All processes "
        "are aborted.\nIt waits here:\n"
    )
    assert "    assert program.ended.wait(LIMIT)\n" in program.output


# Garbage whose collection takes the interpreter's lock of threads, collected at each of the first
# allocations in turn.
COLLECTING = """
import gc, threading
from minispore.communication import _watchdog

class Cycle:
    def __init__(self):
        self.me, self.local = self, threading.local()

for threshold in range(1, 30):
    gc.collect()
    gc.disable()
    Cycle()
    gc.set_threshold(threshold)
    gc.enable()
    _watchdog._main_thread_traceback()
assert gc.isenabled()
"""


@pytest.mark.full
def test_garbage_collection_does_not_block_the_stack_report() -> None:
    run_python("-c", COLLECTING)


@pytest.mark.parametrize("enabled", [False, True])
def test_stack_report_leaves_the_garbage_collector_as_it_was(enabled: bool) -> None:
    switch = {False: gc.disable, True: gc.enable}
    before = gc.isenabled()
    switch[enabled]()
    try:
        _watchdog._main_thread_traceback()
        assert gc.isenabled() is enabled
    finally:
        switch[before]()


def test_timeout_applies_to_each_wait_separately(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(_watchdog, "monotonic", lambda: now[0])
    watch = Watchdog(0, SOON)
    with watch:
        now[0] += 0.8 * SOON
    now[0] += 10 * SOON
    assert not program.ended.wait(4 * SOON)
    with watch:
        now[0] += 0.8 * SOON
        assert not program.ended.wait(4 * SOON)
        now[0] += 0.4 * SOON
        assert program.ended.wait(LIMIT)


def test_stopped_watchdog_does_not_end_the_program(program: Program) -> None:
    watch = Watchdog(0, SOON)
    watch.stop()
    with watch:
        assert not program.ended.wait(4 * SOON)


class MailCommunicator:
    """A communicator of processes that send messages to each other."""

    def __init__(self, rank: int, boxes: list[list[object]]) -> None:
        self._rank = rank
        self._boxes = boxes

    def Get_rank(self) -> int:
        return self._rank

    def Get_size(self) -> int:
        return len(self._boxes)

    def isend(self, obj: object, dest: int) -> None:
        self._boxes[dest].append(obj)

    def improbe(self) -> object:
        box = self._boxes[self._rank]
        return SimpleNamespace(recv=lambda: box.pop(0)) if box else None


def mail(size: int) -> list[Communicator]:
    boxes: list[list[object]] = [[] for _ in range(size)]
    return [cast("Communicator", MailCommunicator(rank, boxes)) for rank in range(size)]


def test_wait_for_a_process_that_has_left_ends_the_program(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_watchdog, "_GRACE_SECONDS", SOON)
    here, there = mail(2)
    there.isend((1, "has ended"), dest=0)
    with Watchdog(0, 4 * SOON, Departures(here)):
        assert program.ended.wait(LIMIT)
    assert program.output.startswith(
        "minispore: process 0 waits for the other processes, but process 1 has ended. All "
        "processes are aborted.\nIt waits here:\n"
    )
    assert "    assert program.ended.wait(LIMIT)\n" in program.output


def test_other_work_goes_on_after_a_process_has_left(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also a wait that ends soon, in which that process has taken part."""
    monkeypatch.setattr(_watchdog, "_GRACE_SECONDS", 2 * SOON)
    here, there = mail(2)
    there.isend((1, "has ended"), dest=0)
    watch = Watchdog(0, 4 * SOON, Departures(here))
    for _ in range(4):
        with watch:
            assert not program.ended.wait(SOON)
        assert not program.ended.wait(2 * SOON)
    watch.stop()


@given(order=st.permutations(range(4)))
@settings(max_examples=5)
def test_process_that_leaves_waits_until_all_do(order: list[int]) -> None:
    processes = [Departures(communicator) for communicator in mail(4)]
    with ThreadPoolExecutor(4) as pool:
        leaving: list[Future[None]] = []
        for i, rank in enumerate(order):
            assert not any(future.done() for future in leaving)
            said = {f"process {other} leaves" for other in order[:i]}
            assert set(processes[rank].received()) == said
            leaving.append(pool.submit(processes[rank].leave, "leaves"))
        for future in leaving:
            future.result(LIMIT)


@pytest.mark.parametrize("in_child", [False, True])
@pytest.mark.parametrize("at_once", [False, True])
def test_each_exit_is_announced(
    monkeypatch: pytest.MonkeyPatch, in_child: bool, at_once: bool
) -> None:
    """But not that of a child process."""
    registered: list[Callable[[], None]] = []
    statuses: list[int] = []
    monkeypatch.setattr(atexit, "register", registered.append)
    monkeypatch.setattr(atexit, "unregister", registered.remove)
    monkeypatch.setattr(_watchdog, "_exit", statuses.append)
    here, there = mail(2)
    there.isend((1, "has ended"), dest=0)
    undo = watch_exits(here, Departures(here))
    if in_child:
        monkeypatch.setattr(os, "getpid", lambda: -1)
    exit_now: Callable[[int], object] = os._exit
    (at_exit,) = registered
    if at_once:
        exit_now(3)
    else:
        at_exit()
    reason = (
        "called 'os._exit(3)'"
        if at_once
        else "ended: its program is over, or has called 'sys.exit'"
    )
    assert Departures(there).received() == ([] if in_child else [f"process 0 has {reason}"])
    assert statuses == [3] * at_once
    if in_child:
        undo()
    assert not registered


def test_error_of_all_processes_does_not_abort() -> None:
    abort_unless_all_failed(cast("Communicator", BarrierCommunicator(0, 2, 3)), ValueError())


def test_error_of_some_processes_aborts_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_watchdog, "_GRACE_SECONDS", SOON)
    with pytest.raises(Ended, match="1"):
        abort_unless_all_failed(
            cast("Communicator", BarrierCommunicator(1, 2)), ArithmeticError("too large")
        )
    assert capsys.readouterr().err == (
        "minispore: process 1 of 2 has failed; all processes are aborted.\n"
        "ArithmeticError: too large\n"
    )


@pytest.mark.parametrize("missing", ["stdout", "stderr"])
def test_error_aborts_all_processes_without_a_standard_stream(
    missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_watchdog, "_GRACE_SECONDS", SOON)
    monkeypatch.setattr(sys, missing, None)
    with pytest.raises(Ended):
        abort_unless_all_failed(
            cast("Communicator", BarrierCommunicator(1, 2)), ArithmeticError("too large")
        )
    assert ("has failed" in capsys.readouterr().err) == (missing == "stdout")


def test_uncaught_exception_aborts_all_processes(capsys: pytest.CaptureFixture[str]) -> None:
    communicator = cast("Communicator", BarrierCommunicator(0, 4))
    undo = watch_exits(communicator, Departures(communicator))
    with suppress(Ended):
        sys.excepthook(KeyError, KeyError("key"), None)
        pytest.fail("the process was not aborted")
    undo()
    assert sys.excepthook is sys.__excepthook__
    assert capsys.readouterr().err == (
        "minispore: process 0 of 4 has failed; all processes are aborted.\nKeyError: 'key'\n"
    )
