"""Abort all processes after an error in one of them, or when one waits in vain for another."""

import atexit
import gc
import os
import sys
import threading
import traceback
from collections.abc import Callable
from time import monotonic, sleep
from typing import Final, NoReturn

from minispore.communication._mpi import Communicator

# Seconds within which all processes must have failed for the error to be raised in each of them,
# and after which a wait for a process that has left is in vain.
_GRACE_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.01
_exit: Final = os._exit


class Departures:
    """Which processes have left the program, with the reasons.

    Args:
        communicator: A communicator on which no other messages are sent.
    """

    def __init__(self, communicator: Communicator) -> None:
        self._communicator = communicator
        self._reasons: dict[int, str] = {}

    def received(self) -> list[str]:
        """Return what has arrived: a text for each process that has left."""
        while (message := self._communicator.improbe()) is not None:
            rank, reason = message.recv()
            self._reasons[rank] = f"process {rank} {reason}"
        return list(self._reasons.values())

    def leave(self, reason: str) -> None:
        """Say to the other processes that this one leaves, and wait until all do."""
        rank, size = self._communicator.Get_rank(), self._communicator.Get_size()
        others = [other for other in range(size) if other != rank]
        # The requests are kept, since the messages are sent while this waits.
        requests = [self._communicator.isend((rank, reason), dest=other) for other in others]
        while len(self.received()) < len(requests):
            sleep(_POLL_SECONDS)


class Watchdog:
    """A context manager for each wait for other processes, which may end the program.

    It does so if the wait is longer than the timeout, or if another process has left.

    Args:
        rank: The rank of this process.
        timeout: Seconds.
        departures: Which processes have left; None if a second thread must not call MPI.
    """

    def __init__(self, rank: int, timeout: float, departures: Departures | None = None) -> None:
        self._rank = rank
        self._timeout = timeout
        self._departures = departures
        self._since: float | None = None
        self._stopped = threading.Event()
        name = "minispore-mpi-watchdog"
        threading.Thread(target=self._check_wait, name=name, daemon=True).start()

    def __enter__(self) -> None:
        self._since = monotonic()

    def __exit__(self, *_: object) -> None:
        self._since = None

    def stop(self) -> None:
        """End the watchdog's thread."""
        self._stopped.set()

    def _check_wait(self) -> None:
        # The wait in which another process was found to have left, and the time.
        hopeless, found = 0.0, 0.0
        while not self._stopped.wait(min(1.0, self._timeout / 4)):
            since, now = self._since, monotonic()
            if since is None:
                continue
            left = self._departures.received() if self._departures is not None else []
            if left and hopeless != since:
                # It may have taken part in the operation, whose result is still arriving.
                hopeless, found = since, now
            elif left and now - found > _GRACE_SECONDS:
                self._end(f"waits for the other processes, but {' and '.join(left)}")
            elif now - since > self._timeout:
                self._end(
                    f"has waited for the other processes for {self._timeout:g} seconds, the "
                    "timeout of MINISPORE_MPI_TIMEOUT: one of them does not take part in this "
                    "operation"
                )

    def _end(self, reason: str) -> None:
        message = (
            f"minispore: process {self._rank} {reason}. All processes are aborted.\n"
            f"It waits here:\n{_main_thread_traceback()}"
        )
        os.write(2, message.encode())
        # The main thread is blocked in MPI. After this exit, mpiexec ends the others.
        _exit(1)


def _main_thread_traceback() -> str:
    """Return the stack of the main thread in the format of a traceback."""
    main = threading.main_thread().ident
    # In CPython 3.11 a garbage collection in `sys._current_frames` causes a deadlock (gh-106883).
    collects = gc.isenabled()
    gc.disable()
    frame = next(frame for thread, frame in sys._current_frames().items() if thread == main)
    if collects:
        gc.enable()
    return "".join(traceback.format_stack(frame))


def abort_unless_all_failed(communicator: Communicator, error: BaseException) -> None:
    """Return if all processes call this within seconds; otherwise report the error and abort."""
    barrier = communicator.Ibarrier()
    deadline = monotonic() + _GRACE_SECONDS
    while not barrier.Test():
        if monotonic() > deadline:
            _report_and_abort(communicator, error)
        sleep(_POLL_SECONDS)


def watch_exits(communicator: Communicator, departures: Departures) -> Callable[[], None]:
    """Abort all processes after an uncaught exception in this one, and announce other exits.

    Returns:
        A function that undoes it.
    """
    process = os.getpid()

    def leave(reason: str) -> None:
        if os.getpid() == process:  # not in a child that `os.fork` has made
            undo()
            departures.leave(reason)

    def leave_at_exit() -> None:
        leave("has ended: its program is over, or has called 'sys.exit'")

    def leave_at_once(status: int) -> NoReturn:
        leave(f"has called 'os._exit({status})'")
        _exit(status)

    def undo() -> None:
        sys.excepthook = sys.__excepthook__
        os._exit = _exit
        atexit.unregister(leave_at_exit)

    sys.excepthook = lambda _kind, error, _trace: _report_and_abort(communicator, error)
    # mpiexec ends the other processes after it, without a word and with its exit status.
    os._exit = leave_at_once
    atexit.register(leave_at_exit)
    return undo


def _report_and_abort(communicator: Communicator, error: BaseException) -> None:
    print(end="", flush=True)  # also without standard output
    text = "".join(traceback.format_exception(error))
    if sys.stderr is not None:
        sys.stderr.write(
            f"minispore: process {communicator.Get_rank()} of {communicator.Get_size()} has "
            f"failed; all processes are aborted.\n{text}"
        )
        sys.stderr.flush()
    communicator.Abort(1)
