"""A simulated communicator whose processes all have the same values."""

import sys
from types import SimpleNamespace
from typing import cast

import numpy as np
import numpy.typing as npt
import pytest

from minispore import communication
from minispore.communication import _group, _world
from minispore.communication._mpi import Communicator, Mpi
from minispore.communication._watchdog import Departures, Watchdog

Array = npt.NDArray[np.generic]


class EchoCommunicator:
    """A communicator whose processes all have the values of this one."""

    def __init__(self, size: int = 3) -> None:
        self.size = size
        self.messages: list[int] = []

    def Get_size(self) -> int:
        return self.size

    def allgather(self, value: object) -> list[object]:
        return [value] * self.size

    def Allreduce(self, sendbuf: object, recvbuf: Array, op: object) -> None:
        assert sendbuf == "in place"
        self.messages.append(recvbuf.nbytes)
        if op == "sum":
            np.multiply(recvbuf, self.size, out=recvbuf, casting="unsafe")

    def Bcast(self, buf: "list[object]", root: int) -> None:
        assert (buf[1], root) == ("byte", 0)


def echo_world(echo: EchoCommunicator) -> _world.World:
    class NoWatchdog:
        def __enter__(self) -> None: ...
        def __exit__(self, *_: object) -> None: ...

    mpi = cast("Mpi", SimpleNamespace(IN_PLACE="in place", SUM="sum", MAX="max", BYTE="byte"))
    comm = cast("Communicator", echo)
    watchdog = cast("Watchdog", NoWatchdog())
    return _world.World(mpi, comm, comm, 0, echo.size, watchdog, Departures(comm), lambda: None)


def join_echo(monkeypatch: pytest.MonkeyPatch) -> EchoCommunicator:
    """Let this process be one of several with the same values, until the end of the test."""
    echo = EchoCommunicator()
    monkeypatch.setattr(_world, "_world", [echo_world(echo)])
    monkeypatch.setattr(_group, "members", [*_world._world])
    monkeypatch.setattr(communication.GlobalComm, "INITED", True)
    return echo


def install_mpi(monkeypatch: pytest.MonkeyPatch, comm: object) -> None:
    """Let `mpi4py.MPI` be a module with this communicator, until the end of the test."""
    # No path: the symbols of the program itself, which has none of MPI.
    module = SimpleNamespace(
        COMM_WORLD=comm, __file__=None, THREAD_MULTIPLE=3, Query_thread=lambda: 3
    )
    monkeypatch.setitem(sys.modules, "mpi4py", SimpleNamespace(MPI=module))
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", module)
