"""Options of the auto-parallel context, compared with the launcher's values."""

from collections.abc import Iterator
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore as ms
from minispore.common import parallel
from minispore.common.parallel import clear_world_info, is_set_explicitly, set_world_info

DEFAULTS: dict[str, object] = {
    "device_num": 1,
    "global_rank": 0,
    "gradients_mean": False,
    "parallel_mode": "stand_alone",
    "parameter_broadcast": False,
}
VALUES: dict[str, st.SearchStrategy[object]] = {
    "device_num": st.sampled_from([1, 3, 4096]),
    "global_rank": st.sampled_from([0, 2, 4095]),
    "gradients_mean": st.booleans(),
    "parallel_mode": st.sampled_from(["stand_alone", "data_parallel"]),
    "parameter_broadcast": st.booleans(),
}
some_options = st.fixed_dictionaries({}, optional=VALUES)
worlds = st.tuples(VALUES["global_rank"], VALUES["device_num"])


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    yield
    clear_world_info()
    ms.reset_auto_parallel_context()


@given(st.lists(some_options | worlds | st.sampled_from(["reset", "alone"]), max_size=6))
def test_parallel_option_is_the_launchers_or_the_last_value(steps: list[object]) -> None:
    clear_world_info()
    ms.reset_auto_parallel_context()
    chosen: dict[str, object] = {}
    world: dict[str, object] = {}
    for step in steps:
        if step == "reset":
            ms.reset_auto_parallel_context()
            chosen = {}
        elif step == "alone":
            clear_world_info()
            world = {}
        elif isinstance(step, tuple):
            rank, size = cast("tuple[int, int]", step)
            launched: dict[str, object] = {"global_rank": rank, "device_num": size}
            for name, value in launched.items():
                if chosen.get(name, value) != value:
                    expected = contradiction(name, value, chosen[name])
                    with pytest.raises(ValueError, match=f"^{expected}$"):
                        set_world_info(rank, size)
                    break
            else:
                set_world_info(rank, size)
                world = launched
        else:
            options = cast("dict[str, object]", step)
            for name, value in options.items():
                if world.get(name, value) != value:
                    expected = contradiction(name, world[name], value)
                    with pytest.raises(ValueError, match=f"^{expected}$"):
                        ms.set_auto_parallel_context(**options)
                    break
            else:
                ms.set_auto_parallel_context(**options)
                chosen |= options
        for name in DEFAULTS:
            assert ms.get_auto_parallel_context(name) == {**DEFAULTS, **chosen, **world}[name]
            assert is_set_explicitly(name) == (name in chosen)


def contradiction(name: str, launched: object, value: object) -> str:
    return (
        f"The context configuration parameter '{name}' is {launched} in this process, as it was "
        f"started, but got {value}; leave it out."
    )


@pytest.mark.parametrize("name", sorted(parallel._FIXED))
def test_options_of_other_modes_are_fixed(name: str) -> None:
    value = ms.get_auto_parallel_context(name)
    ms.set_auto_parallel_context(**{name: value})
    assert ms.get_auto_parallel_context(name) == value
    assert not is_set_explicitly(name)
    with pytest.raises(ValueError, match=f"^For 'set_auto_parallel_context', '{name}' can only"):
        ms.set_auto_parallel_context(gradients_mean=True, **{name: [value]})
    assert ms.get_auto_parallel_context(name) == value
    assert not is_set_explicitly("gradients_mean")
