"""Options of the context; `error_messages.txt` has the errors of invalid ones."""

from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore as ms
from minispore import get_context, set_context
from minispore.common import context


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "_settings", dict(context._settings))


@pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE])
def test_both_modes_run_ordinary_python(mode: int) -> None:
    set_context(mode=mode, device_target="CPU")
    assert (get_context("mode"), get_context("device_target")) == (mode, "CPU")
    steps: list[float] = []

    def f(x: ms.Tensor) -> ms.Tensor:
        steps.append(x.item())
        return x * x

    assert ms.grad(f)(ms.Tensor(3.0)).item() == 6.0
    assert steps == [3.0]


CHOICES: dict[str, st.SearchStrategy[object]] = {
    "deterministic": st.sampled_from(["ON", "OFF"]),
    "device_id": st.just(0),
    "device_target": st.just("CPU"),
    "memory_optimize_level": st.sampled_from(["O0", "O1"]),
    "mode": st.sampled_from([0, 1]),
}
OF_TYPES: dict[type, st.SearchStrategy[object]] = {
    # Some switches have grades.
    bool: st.booleans() | st.integers(0, 3),
    dict: st.dictionaries(st.text(max_size=2), st.text(max_size=2), max_size=2),
    int: st.integers(0, 2000),
    str: st.text(max_size=3),
}
OPTIONS = {name: OF_TYPES[type(value)] for name, value in context._settings.items()} | CHOICES


@given(st.lists(st.fixed_dictionaries({}, optional=OPTIONS), max_size=3))
def test_context_returns_the_last_value_of_an_option(steps: list[dict[str, object]]) -> None:
    expected = {name: get_context(name) for name in OPTIONS}
    for options in steps:
        set_context(**options)
        expected |= options
        assert {name: get_context(name) for name in OPTIONS} == expected


def test_set_device() -> None:
    set_context(device_id=3)
    ms.set_device("CPU")
    assert (get_context("device_target"), get_context("device_id")) == ("CPU", 3)
    ms.set_device("CPU", 0)
    assert (get_context("device_target"), get_context("device_id")) == ("CPU", 0)


def test_context_module_exports_the_same_objects() -> None:
    module = import_module("minispore.context")
    assert module is ms.context
    assert set(module.__all__) == set(context.__all__)
    assert all(getattr(module, name) is getattr(context, name) for name in context.__all__)
