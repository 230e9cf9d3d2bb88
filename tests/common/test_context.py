"""Options: known ones are checked and remembered, others refused; none is set if one is wrong."""

import sys
from importlib import import_module

import pytest

import minispore as ms
from minispore import get_context, set_context
from minispore.common import context


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "_settings", dict(context._settings))


@pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE])
def test_both_modes_run_code_as_python_does(mode: int) -> None:
    set_context(mode=mode, device_target="CPU")
    assert (get_context("mode"), get_context("device_target")) == (mode, "CPU")
    steps: list[float] = []

    def f(x: ms.Tensor) -> ms.Tensor:
        steps.append(x.item())
        return x * x

    assert ms.grad(f)(ms.Tensor(3.0)).item() == 6.0
    assert steps == [3.0]


@pytest.mark.parametrize("name", sorted(context._settings))
def test_every_option_takes_its_own_value(name: str) -> None:
    value = get_context(name)
    set_context(**{name: value})
    assert get_context(name) == value


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        ("mode", 2, ValueError, "'mode' must be one of 0, 1, but got 2"),
        ("mode", "graph", TypeError, "'mode' must be one of int"),
        ("device_target", "Ascend", ValueError, "must be one of 'CPU', 'GPU', but got 'Ascend'"),
        ("device_target", 3, TypeError, "'device_target' must be one of str"),
        ("device_id", -1, ValueError, "'device_id' must be at least 0, but got -1"),
        ("deterministic", "yes", ValueError, "'deterministic' must be one of 'ON', 'OFF'"),
        ("save_graphs", "yes", TypeError, "'save_graphs' must be one of bool, int"),
        ("print_file_path", "x", ValueError, "no option 'print_file_path'; there are: determin"),
    ],
)
def test_a_wrong_option_changes_nothing(
    name: str, value: object, error: type[Exception], message: str
) -> None:
    before = {option: get_context(option) for option in context._settings}
    with pytest.raises(error, match=message):
        set_context(max_call_depth=7, **{name: value})
    assert {option: get_context(option) for option in context._settings} == before


def test_what_is_no_option() -> None:
    with pytest.raises(ValueError, match="For 'get_context', there is no option 'foo'"):
        get_context("foo")
    with pytest.raises(TypeError, match="'attr_key'"):
        get_context(3)  # type: ignore[arg-type]


def test_a_missing_gpu_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.delitem(sys.modules, "minispore._array._cupy", raising=False)
    with pytest.raises(RuntimeError, match="needs CuPy"):
        set_context(max_call_depth=7, device_target="GPU")
    assert get_context("device_target") == "CPU"
    assert get_context("max_call_depth") != 7


def test_set_device() -> None:
    ms.set_device("CPU", 0)
    assert (get_context("device_target"), get_context("device_id")) == ("CPU", 0)
    with pytest.raises(ValueError, match="'TPU'"):
        ms.set_device("TPU")


def test_scripts_find_it_where_mindspores_do() -> None:
    module = import_module("minispore.context")
    assert module is ms.context
    assert set(module.__all__) == set(context.__all__)
    assert all(getattr(module, name) is getattr(context, name) for name in context.__all__)
