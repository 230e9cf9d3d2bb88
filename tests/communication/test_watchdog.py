"""The watchdog: timeouts and errors abort all processes, which is simulated here."""

import gc
import os
import subprocess
import sys
from contextlib import suppress
from threading import Event
from typing import cast

import pytest

from minispore.communication import _watchdog
from minispore.communication._mpi import Communicator
from minispore.communication._watchdog import (
    Watchdog,
    abort_on_uncaught_exception,
    abort_unless_all_failed,
)

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
        monkeypatch.setattr(os, "_exit", self._exit)

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
    subprocess.run([sys.executable, "-c", COLLECTING], check=True, timeout=60)


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


def test_uncaught_exception_aborts_all_processes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    abort_on_uncaught_exception(cast("Communicator", BarrierCommunicator(0, 4)))
    with suppress(Ended):
        sys.excepthook(KeyError, KeyError("key"), None)
        pytest.fail("the process was not aborted")
    assert capsys.readouterr().err == (
        "minispore: process 0 of 4 has failed; all processes are aborted.\nKeyError: 'key'\n"
    )
