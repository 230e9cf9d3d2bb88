"""The interface of mpi4py that minispore uses, and its import; the environment of `mpiexec`."""

import os
from collections.abc import Mapping
from ctypes import byref, c_int
from importlib import import_module
from typing import Any, Final, Protocol, cast

# The environment variables in which launchers pass the rank and the number of processes.
_LAUNCHERS: Final = (
    ("PMI_RANK", "PMI_SIZE"),
    ("PMIX_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
)
# MPICH's number for CUDA among the kinds of GPU.
_CUDA: Final = 0
_LAUNCH_EXAMPLE: Final = "mpiexec -n 2 python train.py"


class Request(Protocol):
    """A nonblocking operation."""

    def Test(self) -> bool:  # noqa: N802 (mpi4py's names, here and below)
        """Return whether it is complete."""
        ...


class Message(Protocol):
    """A message that has arrived."""

    # Any, since it is an object of another process.
    def recv(self) -> Any:  # noqa: ANN401
        """Return the object that was sent."""
        ...


class Communicator(Protocol):
    """A group of processes. mpi4py's capitalized methods take buffers, the others any object."""

    def Get_rank(self) -> int:  # noqa: N802
        """Return the rank of this process."""
        ...

    def Get_size(self) -> int:  # noqa: N802
        """Return the number of processes."""
        ...

    def Dup(self) -> "Communicator":  # noqa: N802
        """Return a communicator of the same processes, whose messages are separate."""
        ...

    def Free(self) -> None:  # noqa: N802
        """Free a communicator that `Dup` has returned."""
        ...

    def Barrier(self) -> None:  # noqa: N802
        """Wait until all processes have called this."""
        ...

    def Ibarrier(self) -> Request:  # noqa: N802
        """Start a barrier without waiting."""
        ...

    def Allreduce(self, sendbuf: object, recvbuf: object, op: object) -> None:  # noqa: N802
        """Combine the buffers of all processes into the receive buffer of each."""
        ...

    def Bcast(self, buf: object, root: int) -> None:  # noqa: N802
        """Copy the buffer of one process to all."""
        ...

    # Any, since it is an object of another process.
    def bcast(self, obj: object, root: int) -> Any:  # noqa: ANN401
        """Send the object of one process to all."""
        ...

    def isend(self, obj: object, dest: int) -> object:
        """Start to send an object to one process, without waiting."""
        ...

    def improbe(self) -> Message | None:
        """Return a message of any process, if one has arrived."""
        ...

    def allgather(self, sendobj: object) -> list[Any]:
        """Send the objects of all processes to all, in the order of their ranks."""
        ...

    def Split_type(self, split_type: int) -> "Communicator":  # noqa: N802
        """Return a communicator of the processes that share a resource."""
        ...

    def Abort(self, errorcode: int) -> None:  # noqa: N802
        """Abort all processes."""
        ...


class Mpi(Protocol):
    """The module `mpi4py.MPI`."""

    COMM_WORLD: Communicator
    COMM_TYPE_SHARED: int
    THREAD_MULTIPLE: int
    IN_PLACE: object
    SUM: object
    MAX: object
    BYTE: object
    # The path of the extension module, which is linked with the MPI library.
    __file__: str

    def Query_thread(self) -> int:  # noqa: N802
        """Return how threads may call MPI: all at any time if `THREAD_MULTIPLE`."""
        ...


def load(environment: Mapping[str, str] = os.environ) -> Mpi:
    """Return the module of mpi4py, in one of several processes that `mpiexec` has started.

    Args:
        environment: The environment variables.

    Raises:
        RuntimeError: `mpiexec` has not started the process, mpi4py cannot be imported, or it uses
            another MPI than `mpiexec`.
    """
    size_variable = next((size for rank, size in _LAUNCHERS if rank in environment), None)
    if size_variable is None:
        raise RuntimeError(
            "For 'init', this program must be one of several processes that 'mpiexec' starts, "
            f"but it was started without 'mpiexec'. Start it as in: {_LAUNCH_EXAMPLE}"
        )
    try:
        mpi = cast(Mpi, import_module("mpi4py.MPI"))
    except (ImportError, RuntimeError) as error:  # RuntimeError: there is no MPI library
        raise RuntimeError(
            f"For 'init', mpi4py and an MPI are needed, which cannot be imported: {error}. "
            "Install them with the extra 'mpi'."
        ) from error
    size = mpi.COMM_WORLD.Get_size()
    launched = environment.get(size_variable, str(size))
    if launched != str(size):
        raise RuntimeError(
            f"For 'init', 'mpiexec' has started {launched} processes, but the MPI of mpi4py "
            f"sees {size}: they are of different MPIs. Use the 'mpiexec' of mpi4py's MPI; the "
            "extra 'mpi' installs both."
        )
    return mpi


def is_cuda_aware(symbols: object, environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether MPI accepts GPU memory, by MINISPORE_MPI_CUDA or else by asking the library.

    Args:
        symbols: The functions of the MPI library. A library without a query function is not
            CUDA-aware.
        environment: The environment variables.

    Raises:
        ValueError: MINISPORE_MPI_CUDA is neither 0 nor 1.
    """
    setting = environment.get("MINISPORE_MPI_CUDA")
    if setting is not None:
        if setting not in {"0", "1"}:
            raise ValueError(
                "For 'init', the environment variable MINISPORE_MPI_CUDA must be 0 or 1, but got "
                f"{setting!r}."
            )
        return setting == "1"
    # MPICH has both functions, but before MPICH 4 the second one aborts without CUDA support.
    mpich = getattr(symbols, "MPIX_GPU_query_support", None)
    if mpich is not None:
        answer = c_int(0)
        return mpich(_CUDA, byref(answer)) == 0 and answer.value == 1
    open_mpi = getattr(symbols, "MPIX_Query_cuda_support", None)
    return open_mpi is not None and open_mpi() == 1
