"""The group of processes: joining it, ranks and sizes, and errors."""

import math
from typing import cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import communication
from minispore.communication import _world
from tests.communication.echo_communicator import join_echo


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [(3, TypeError, "must be a string"), ("hccl", RuntimeError, "must be one of 'mpi'")],
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


def test_init_twice_keeps_the_group(monkeypatch: pytest.MonkeyPatch) -> None:
    join_echo(monkeypatch)
    joined = _world.require_world("test")
    communication.init()
    assert _world.require_world("test") is joined
    assert communication.get_process_group_ranks() == [0, 1, 2]


def test_management_exports_the_same_objects() -> None:
    from minispore.communication import management

    for name in communication.__all__:
        assert getattr(management, name) is getattr(communication, name)


def test_only_the_world_group_is_supported() -> None:
    assert communication.get_rank("nccl_world_group") == 0
    with pytest.raises(ValueError, match="the group of all processes, but got 'some'"):
        communication.get_rank("some")
    with pytest.raises(TypeError, match="'group' must be type of string"):
        communication.get_group_size(3)  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match="There is one group"):
        communication.create_group("two", [0, 1])  # type: ignore[attr-defined]
