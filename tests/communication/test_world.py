"""The group of processes: joining it, ranks and sizes, and errors."""

import math
import os
import sys
from collections.abc import Callable
from itertools import chain, repeat
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minispore as ms
from minispore import communication
from minispore.communication import _watchdog, _world
from tests.communication.echo_communicator import install_mpi, join_echo


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [(3, TypeError, "must be a string.*int"), ("hccl", RuntimeError, "must be one of 'mpi'")],
)
def test_unknown_backend_raises(name: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        communication.init(cast("str", name))


@given(st.floats(max_value=0))
@example(0.0)
@example(math.inf)
@example(math.nan)
@example("soon")
def test_invalid_timeout_variable_raises(limit: object) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINISPORE_MPI_TIMEOUT", str(limit))
        with pytest.raises(ValueError, match="MINISPORE_MPI_TIMEOUT must be a number"):
            communication.init()


def test_ranks_without_init() -> None:
    assert (communication.get_rank(), communication.get_group_size()) == (0, 1)
    assert (communication.get_local_rank(), communication.get_local_rank_size()) == (0, 1)
    communication.release()
    with pytest.raises(RuntimeError, match=r"call 'minispore\.communication\.init\(\)'"):
        communication.get_process_group_ranks()


def test_init_joins_the_processes_and_release_leaves_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[str] = []
    # One of the other processes has left before, the other does so after the timeout.
    messages = [SimpleNamespace(recv=lambda: (0, "")), SimpleNamespace(recv=lambda: (2, ""))]
    polls = chain([messages[0]], repeat(None, 20), [messages[1]], repeat(None))
    monkeypatch.setenv("MINISPORE_MPI_TIMEOUT", "0.05")
    monkeypatch.setattr(_watchdog.Watchdog, "_end", lambda *_: calls.append("end"))

    def communicator() -> SimpleNamespace:
        return SimpleNamespace(
            Get_rank=lambda: 1,
            Get_size=lambda: 3,
            Dup=communicator,
            isend=lambda _, dest: calls.append(f"message to {dest}"),
            improbe=lambda: next(polls),
            Free=lambda: calls.append("Free"),
        )

    install_mpi(monkeypatch, communicator())
    monkeypatch.setenv("PMI_RANK", "1")
    monkeypatch.setenv("PMI_SIZE", "3")
    settings = ("global_rank", "device_num")
    exit_at_once = os._exit
    before = [ms.get_auto_parallel_context(name) for name in settings]
    communication.init()
    try:
        assert (communication.get_rank(), communication.get_group_size()) == (1, 3)
        assert communication.get_process_group_ranks() == [0, 1, 2]
        assert [ms.get_auto_parallel_context(name) for name in settings] == [1, 3]
        assert communication.GlobalComm.INITED
        assert not communication.GlobalComm.CUDA_AWARE
        assert sys.excepthook is not sys.__excepthook__
        assert os._exit is not exit_at_once
    finally:
        communication.release()
    assert calls == ["message to 0", "message to 2", "Free", "Free"]
    assert (communication.get_rank(), communication.get_group_size()) == (0, 1)
    assert [ms.get_auto_parallel_context(name) for name in settings] == before
    assert sys.excepthook is sys.__excepthook__
    assert os._exit is exit_at_once
    assert not communication.GlobalComm.INITED


def test_init_twice_keeps_the_group(monkeypatch: pytest.MonkeyPatch) -> None:
    join_echo(monkeypatch)
    joined = _world.require_world()
    communication.init()
    assert _world.require_world() is joined
    assert communication.get_process_group_ranks() == [0, 1, 2]


def test_management_exports_the_same_objects() -> None:
    from minispore.communication import management

    for name in communication.__all__:
        assert getattr(management, name) is getattr(communication, name)


@pytest.mark.parametrize(
    "name",
    [
        "get_rank",
        "get_group_size",
        "get_local_rank",
        "get_local_rank_size",
        "get_process_group_ranks",
    ],
)
def test_only_the_world_group_is_supported(name: str) -> None:
    function: Callable[[object], object] = getattr(communication, name)
    with pytest.raises(ValueError, match=f"^For '{name}', .* all processes, but got 'some'"):
        function("some")
    with pytest.raises(TypeError, match=f"^For '{name}', .*'group' must be type of string.*int"):
        function(3)


def test_groups_cannot_be_created() -> None:
    assert communication.get_rank("nccl_world_group") == 0
    with pytest.raises(NotImplementedError, match="There is one group"):
        communication.create_group("two", [0, 1])  # type: ignore[attr-defined]
