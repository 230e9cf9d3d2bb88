"""What is asked of MPI, and of who started the processes; the only place that imports mpi4py."""

import os
from collections.abc import Mapping
from ctypes import byref, c_int
from importlib import import_module
from typing import Any, Final, Protocol, cast

# Who starts processes tells each of them its number, and how many there are.
_LAUNCHERS: Final = (
    ("PMI_RANK", "PMI_SIZE"),
    ("PMIX_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
)
# MPICH's number for CUDA among the kinds of GPU.
_CUDA: Final = 0
_HOW: Final = "mpiexec -n 2 python train.py"


class Request(Protocol):
    """Something that is under way."""

    def Test(self) -> bool:  # noqa: N802 (mpi4py's names, here and below)
        """Whether it is done."""
        ...


class Communicator(Protocol):
    """The processes; mpi4py's names with a capital take buffers, the others any object."""

    def Get_rank(self) -> int:  # noqa: N802
        """This one's number."""
        ...

    def Get_size(self) -> int:  # noqa: N802
        """How many there are."""
        ...

    def Dup(self) -> "Communicator":  # noqa: N802
        """The same processes, whose messages are not mixed up with these."""
        ...

    def Free(self) -> None:  # noqa: N802
        """Give up what `Dup` made."""
        ...

    def Barrier(self) -> None:  # noqa: N802
        """Wait until all are here."""
        ...

    def Ibarrier(self) -> Request:  # noqa: N802
        """The same without waiting."""
        ...

    def Allreduce(self, sendbuf: object, recvbuf: object, op: object) -> None:  # noqa: N802
        """Combine everybody's buffers, for everybody."""
        ...

    def Bcast(self, buf: object, root: int) -> None:  # noqa: N802
        """Give everybody the buffer of one."""
        ...

    # Any: what comes out is what another process put in.
    def bcast(self, obj: object, root: int) -> Any:  # noqa: ANN401
        """Give everybody the object of one."""
        ...

    def allgather(self, sendobj: object) -> list[Any]:
        """Give everybody everybody's objects, in the order of their numbers."""
        ...

    def Split_type(self, split_type: int) -> "Communicator":  # noqa: N802
        """Those of the processes that share something."""
        ...

    def Abort(self, errorcode: int) -> None:  # noqa: N802
        """End all processes."""
        ...


class Mpi(Protocol):
    """The module."""

    COMM_WORLD: Communicator
    COMM_TYPE_SHARED: int
    IN_PLACE: object
    SUM: object
    MAX: object
    BYTE: object
    # Where the module's binary lies, which is linked with MPI.
    __file__: str


def load(owner: str, environment: Mapping[str, str] = os.environ) -> Mpi:
    """MPI, for one of several processes that `mpiexec` has started.

    Raises:
        RuntimeError: It was not started so, or there is no mpi4py, or it is of another MPI.
    """
    started = next((size for rank, size in _LAUNCHERS if rank in environment), None)
    if started is None:
        raise RuntimeError(
            f"For '{owner}', this program must be one of several processes that 'mpiexec' starts, "
            f"but it was started by itself. Start it as in: {_HOW}"
        )
    try:
        mpi = cast(Mpi, import_module("mpi4py.MPI"))
    except (ImportError, RuntimeError) as error:  # RuntimeError: there is no MPI library
        raise RuntimeError(
            f"For '{owner}', mpi4py and an MPI are needed, which cannot be imported: {error}. "
            "Install them with the extra 'mpi'."
        ) from error
    size = mpi.COMM_WORLD.Get_size()
    told = environment.get(started, str(size))
    if told != str(size):
        raise RuntimeError(
            f"For '{owner}', 'mpiexec' has started {told} processes, but the MPI of mpi4py sees "
            f"{size}: they are of different MPIs. Use the 'mpiexec' that belongs to mpi4py's MPI; "
            "the extra 'mpi' installs both."
        )
    return mpi


def takes_cuda(symbols: object, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether MPI reads and writes a card's memory: as MINISPORE_MPI_CUDA says, or as MPI does.

    Args:
        symbols: The functions of the MPI library. One that does not say that it can, cannot.
        environment: The program's.

    Raises:
        ValueError: MINISPORE_MPI_CUDA is neither 0 nor 1.
    """
    told = environment.get("MINISPORE_MPI_CUDA")
    if told is not None:
        if told not in {"0", "1"}:
            raise ValueError(
                "For 'init', the environment variable MINISPORE_MPI_CUDA must be 0 or 1, but got "
                f"{told!r}."
            )
        return told == "1"
    # MPICH has both functions, but before MPICH 4 its second one ends the program if it cannot.
    mpich = getattr(symbols, "MPIX_GPU_query_support", None)
    if mpich is not None:
        answer = c_int(0)
        return mpich(_CUDA, byref(answer)) == 0 and answer.value == 1
    open_mpi = getattr(symbols, "MPIX_Query_cuda_support", None)
    return open_mpi is not None and open_mpi() == 1
