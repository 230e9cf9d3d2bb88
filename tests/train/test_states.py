"""The states of the monitors: interrupted anywhere, they print as if they had not been."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.train import LossMonitor, RunContext, TimeMonitor
from minispore.train._protocol.states import entry
from minispore.train.callback import _time_monitor

from .deciding import saved


@given(st.integers(0, 5), st.sets(st.integers(1, 20)))
def test_loss_lines(every: int, cuts: set[int]) -> None:
    def lines(cuts: set[int]) -> list[str]:
        monitor = LossMonitor(every)
        printed: list[str] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("builtins.print", lambda line, **_: printed.append(line))
            for step in range(1, 21):
                if step in cuts:
                    state, monitor = saved(monitor), LossMonitor(every)
                    monitor.load_state_dict(state)
                params = {"cur_step_num": step, "batch_num": 3, "net_outputs": 1 / step}
                monitor.on_train_step_end(RunContext({"cur_epoch_num": 1, **params}))
        return printed

    assert lines(cuts) == lines(set())


def test_in_a_resumed_epoch_only_the_steps_of_this_run_are_timed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [7.0]
    monkeypatch.setattr(_time_monitor, "perf_counter", lambda: now[0])
    context = RunContext({"batch_num": 5})
    monitor = TimeMonitor(data_time=True)
    monitor.on_train_epoch_begin(context)
    for _ in range(2):
        now[0] += 0.25
        monitor.on_train_step_begin(context)
        now[0] += 0.5
        monitor.on_train_step_end(context)
    monitor.on_train_epoch_end(context)
    line = "Train epoch time: 1500.000 ms, per step time: 750.000 ms (data time: 250.000 ms)"
    assert capsys.readouterr().out.strip() == line


@given(st.integers(-9, 9), st.sampled_from([bool, int, float, str]))
def test_an_int_will_do_for_a_float_and_nothing_else_for_anything(
    number: int, kind: type[object]
) -> None:
    values: list[object] = [number, float(number), bool(number), str(number)]
    for value in values:
        if type(value) is kind or (kind is float and value is number):
            found = entry({"key": value}, "key", kind, "Me")
            assert type(found) is kind
            assert found == value
        else:
            with pytest.raises(ValueError, match=rf"^For 'Me', .*'key'.* {kind.__name__}, .*got "):
                entry({"key": value}, "key", kind, "Me")


def test_what_is_no_state_changes_nothing() -> None:
    monitor = LossMonitor()
    lines: list[object] = ["3", 3.0, True, None]
    for line in lines:
        with pytest.raises(ValueError, match=re.escape("'LossMonitor', the state")):
            monitor.load_state_dict({"last_print_time": line})
    assert monitor.state_dict() == {"last_print_time": 0}
