"""Who waits for too long, or fails alone, ends all processes; here in one that is not ended."""

import os
import subprocess
import sys
from contextlib import suppress
from threading import Event
from typing import cast

import pytest

from minispore.communication import _watch
from minispore.communication._mpi import Communicator
from minispore.communication._watch import Watch, end_all_on_uncaught, end_unless_all_fail

# Seconds: the limit of the watches here, and one that is only reached by a test that fails.
SOON, LATE = 0.05, 20.0


class Ended(BaseException):
    """What the end of the program is here."""


class Others:
    """A communicator whose other processes come to a barrier when they are looked for so often."""

    def __init__(self, come_at: float = float("inf")) -> None:
        self._left = come_at

    def Ibarrier(self) -> "Others":
        return self

    def Test(self) -> bool:
        self._left -= 1
        return self._left < 0

    def Abort(self, errorcode: int) -> None:
        raise Ended(errorcode)


class Program:
    """This process, if it could be ended: what it has said, and whether it was."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.said, self.ended = "", Event()
        monkeypatch.setattr(os, "write", self._write)
        monkeypatch.setattr(os, "_exit", self._exit)

    def _write(self, file: int, text: bytes) -> None:
        assert file == 2
        self.said += text.decode()

    def _exit(self, status: int) -> None:
        assert status == 1
        self.ended.set()
        Event().wait()  # Nothing comes after the end.


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Program:
    return Program(monkeypatch)


def test_a_wait_above_the_limit_ends_the_program_and_says_where_it_is(program: Program) -> None:
    with Watch(3, SOON):
        assert program.ended.wait(LATE)
    assert program.said.startswith(
        "minispore: process 3 has waited for the others for 0.05 seconds, the limit that "
        "MINISPORE_MPI_TIMEOUT sets: one of them does not take part in what the others do. All are "
        "ended.\nIt waits here:\n"
    )
    assert "    assert program.ended.wait(LATE)\n" in program.said


# Garbage whose collection takes the interpreter's lock of threads, collected at each of the first
# allocations in turn.
COLLECTING = """
import gc, threading
from minispore.communication import _watch

class Cycle:
    def __init__(self):
        self.me, self.local = self, threading.local()

for threshold in range(1, 30):
    gc.collect()
    gc.disable()
    Cycle()
    gc.set_threshold(threshold)
    gc.enable()
    _watch._where()
assert gc.isenabled()
"""


def test_a_garbage_collection_does_not_block_the_report_of_a_wait() -> None:
    subprocess.run([sys.executable, "-c", COLLECTING], check=True, timeout=60)


def test_each_wait_has_the_limit_for_itself(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(_watch, "monotonic", lambda: now[0])
    watch = Watch(0, SOON)
    with watch:
        now[0] += 0.8 * SOON
    now[0] += 10 * SOON
    assert not program.ended.wait(4 * SOON)
    with watch:
        now[0] += 0.8 * SOON
        assert not program.ended.wait(4 * SOON)
        now[0] += 0.4 * SOON
        assert program.ended.wait(LATE)


def test_after_the_end_of_a_watch_one_may_wait(program: Program) -> None:
    watch = Watch(0, SOON)
    watch.end()
    with watch:
        assert not program.ended.wait(4 * SOON)


def test_an_error_of_all_processes_is_raised_as_usual() -> None:
    end_unless_all_fail(cast("Communicator", Others(3)), 0, 2, ValueError())


def test_an_error_of_some_ends_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_watch, "_GRACE", SOON)
    with pytest.raises(Ended, match="1"):
        end_unless_all_fail(cast("Communicator", Others()), 1, 2, ArithmeticError("boiled over"))
    assert capsys.readouterr().err == (
        "minispore: process 1 of 2 has failed, so all are ended.\nArithmeticError: boiled over\n"
    )


def test_an_exception_that_nobody_catches_ends_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    end_all_on_uncaught(cast("Communicator", Others()), 0, 4)
    with suppress(Ended):
        sys.excepthook(KeyError, KeyError("milk"), None)
        pytest.fail("the process goes on")
    assert capsys.readouterr().err == (
        "minispore: process 0 of 4 has failed, so all are ended.\nKeyError: 'milk'\n"
    )
