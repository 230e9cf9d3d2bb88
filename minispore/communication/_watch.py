"""Nobody waits for ever: an error in one process ends all, and so does too long a wait."""

import gc
import os
import sys
import threading
import traceback
from time import monotonic, sleep
from types import TracebackType
from typing import Final

from minispore.communication._mpi import Communicator

# Seconds in which the others must fail as well, for an error to be one of all processes.
_GRACE: Final = 5.0
_PAUSE: Final = 0.01


class Watch:
    """Around each wait for the other processes: a wait above the limit ends the program.

    Args:
        rank: The number of this process.
        limit: Seconds.
    """

    def __init__(self, rank: int, limit: float) -> None:
        self._rank = rank
        self._limit = limit
        self._since: float | None = None
        self._done = threading.Event()
        threading.Thread(target=self._look, name="minispore-mpi-watch", daemon=True).start()

    def __enter__(self) -> None:
        self._since = monotonic()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._since = None

    def end(self) -> None:
        """Watch no more."""
        self._done.set()

    def _look(self) -> None:
        while not self._done.wait(min(1.0, self._limit / 4)):
            since = self._since
            if since is not None and monotonic() - since > self._limit:
                text = (
                    f"minispore: process {self._rank} has waited for the others for "
                    f"{self._limit:g} seconds, the limit that MINISPORE_MPI_TIMEOUT sets: one of "
                    "them does not take part in what the others do. All are ended.\n"
                    f"It waits here:\n{_where()}"
                )
                os.write(2, text.encode())
                # The main thread is inside of MPI, so this is the way out: mpiexec ends the others.
                os._exit(1)


def _where() -> str:
    """What the main thread does, as Python prints a traceback."""
    main = threading.main_thread().ident
    # In CPython 3.11 a garbage collection inside of `sys._current_frames` waits for itself
    # (gh-106883).
    gc.disable()
    frame = next(frame for thread, frame in sys._current_frames().items() if thread == main)
    gc.enable()
    return "".join(traceback.format_stack(frame))


def end_unless_all_fail(
    communicator: Communicator, rank: int, size: int, error: BaseException
) -> None:
    """Return if all processes come here within moments; else tell the error and end them all."""
    arrived = communicator.Ibarrier()
    until = monotonic() + _GRACE
    while not arrived.Test():
        if monotonic() > until:
            _tell_and_end(communicator, rank, size, error)
        sleep(_PAUSE)


def end_all_on_uncaught(communicator: Communicator, rank: int, size: int) -> None:
    """Let an exception that nobody catches, in any of the processes, end all of them."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        del kind, trace
        _tell_and_end(communicator, rank, size, error)

    sys.excepthook = hook


def _tell_and_end(communicator: Communicator, rank: int, size: int, error: BaseException) -> None:
    sys.stdout.flush()
    text = "".join(traceback.format_exception(error))
    sys.stderr.write(f"minispore: process {rank} of {size} has failed, so all are ended.\n{text}")
    sys.stderr.flush()
    communicator.Abort(1)
