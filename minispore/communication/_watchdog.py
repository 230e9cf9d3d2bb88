"""Abort all processes after an error in one of them, or when one waits longer than the timeout."""

import gc
import os
import sys
import threading
import traceback
from time import monotonic, sleep
from typing import Final

from minispore.communication._mpi import Communicator

# Seconds within which all processes must have failed for the error to be raised in each of them.
_GRACE_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.01


class Watchdog:
    """A context manager for each wait for other processes: beyond the timeout it ends the program.

    Args:
        rank: The rank of this process.
        timeout: Seconds.
    """

    def __init__(self, rank: int, timeout: float) -> None:
        self._rank = rank
        self._timeout = timeout
        self._since: float | None = None
        self._stopped = threading.Event()
        name = "minispore-mpi-watchdog"
        threading.Thread(target=self._check_deadline, name=name, daemon=True).start()

    def __enter__(self) -> None:
        self._since = monotonic()

    def __exit__(self, *_: object) -> None:
        self._since = None

    def stop(self) -> None:
        """End the watchdog's thread."""
        self._stopped.set()

    def _check_deadline(self) -> None:
        while not self._stopped.wait(min(1.0, self._timeout / 4)):
            since = self._since
            if since is not None and monotonic() - since > self._timeout:
                message = (
                    f"minispore: process {self._rank} has waited for the other processes for "
                    f"{self._timeout:g} seconds, the timeout of MINISPORE_MPI_TIMEOUT: one of "
                    "them does not take part in this operation. All processes are aborted.\n"
                    f"It waits here:\n{_main_thread_traceback()}"
                )
                os.write(2, message.encode())
                # The main thread is blocked in MPI. After this exit, mpiexec ends the others.
                os._exit(1)


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


def abort_on_uncaught_exception(communicator: Communicator) -> None:
    """Abort all processes after an uncaught exception in this one."""
    sys.excepthook = lambda _kind, error, _trace: _report_and_abort(communicator, error)


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
