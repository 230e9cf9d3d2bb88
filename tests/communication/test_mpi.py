"""The import of mpi4py, and the query whether MPI accesses GPU memory."""

import sys
from collections.abc import Callable
from ctypes import c_int
from types import SimpleNamespace
from typing import Protocol

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore.communication import _mpi
from tests.communication.echo_communicator import EchoCommunicator, install_mpi

LAUNCHED = {"PMI_RANK": "0", "PMI_SIZE": "3"}


def test_missing_launcher_error_shows_the_command() -> None:
    with pytest.raises(
        RuntimeError,
        match=r"^For 'init',.*without 'mpiexec'.*mpiexec -n 2 python train\.py",
    ):
        _mpi.load({})


def test_missing_mpi4py_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", None)
    with pytest.raises(RuntimeError, match="^For 'init', mpi4py and an MPI are.*the extra 'mpi'"):
        _mpi.load(LAUNCHED)


def test_launcher_of_another_mpi_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    install_mpi(monkeypatch, EchoCommunicator(1))
    with pytest.raises(
        RuntimeError,
        match="^For 'init', .*started 3 processes, but the MPI .* sees 1",
    ):
        _mpi.load(LAUNCHED)
    for environment in ({"PMI_RANK": "0", "PMI_SIZE": "1"}, {"PMI_RANK": "0"}):
        assert _mpi.load(environment).COMM_WORLD.Get_size() == 1


class Pointer(Protocol):
    _obj: c_int


def mpich(result: int, answer: int) -> Callable[[int, Pointer], int]:
    """Return MPICH's function that queries GPU support."""

    def query(kind: int, pointer: Pointer) -> int:
        assert kind == 0
        pointer._obj.value = answer
        return result

    return query


def abort() -> int:
    raise AssertionError


@given(
    st.none() | st.booleans(),
    st.none() | st.tuples(st.sampled_from([0, 16]), st.booleans()),
    st.none() | st.booleans(),
)
@example(True, (16, True), None)
@example(None, (0, True), None)
@example(None, (0, False), True)
@example(False, None, None)
@example(True, None, None)
@example(True, None, False)
def test_cuda_awareness_is_queried_or_set_by_the_user(
    open_mpi: bool | None, mpich_: tuple[int, bool] | None, setting: bool | None
) -> None:
    """MPICH's function, which may fail, precedes that of Open MPI."""
    symbols: dict[str, object] = {}
    if open_mpi is not None:
        symbols["MPIX_Query_cuda_support"] = (lambda: int(open_mpi)) if mpich_ is None else abort
    if mpich_ is not None:
        symbols["MPIX_GPU_query_support"] = mpich(*mpich_)
    environment = {} if setting is None else {"MINISPORE_MPI_CUDA": str(int(setting))}
    queried = bool(open_mpi) if mpich_ is None else mpich_ == (0, True)
    expected = queried if setting is None else setting
    assert _mpi.is_cuda_aware(SimpleNamespace(**symbols), environment) is expected


def test_invalid_mpi_cuda_variable_raises() -> None:
    with pytest.raises(ValueError, match="MINISPORE_MPI_CUDA must be 0 or 1, but got 'yes'"):
        _mpi.is_cuda_aware(SimpleNamespace(), {"MINISPORE_MPI_CUDA": "yes"})
