"""The recording of runs: which events a trace contains, and how they are nested."""

import re
from contextlib import redirect_stdout
from typing import Self

import pytest
from hypothesis import given

from minispore import drawing
from minispore.testing import Event, EventTrace, Scenario, record_events
from minispore.testing import strategies as mst
from minispore.train import Callback, LossMonitor, RunContext
from minispore.train.protocol.callback import CallbackManager, make_callback_manager
from tests.testing.small_training import ROWS, make


class HookError(Exception):
    """The exception that a hook raises."""


class StopsOrRaises(Callback):
    """A callback that raises or requests a stop in the second step, with a legacy hook."""

    def __init__(self, raises: bool = False) -> None:
        self.raises = raises

    def on_train_step_begin(self, run_context: RunContext) -> None:
        if run_context.original_args().cur_step_num == 2:
            if self.raises:
                raise HookError
            run_context.request_stop()

    def epoch_begin(self, run_context: RunContext) -> None: ...

    def on_exception(self, run_context: RunContext, error: BaseException) -> None: ...


def test_tree_shows_an_exception_and_resets_the_depth() -> None:
    model, data = make(), ROWS
    with record_events() as trace:
        with pytest.raises(HookError):
            model.train(3, data, [StopsOrRaises(), StopsOrRaises(raises=True)])
        model.eval(data)
    assert all(line.endswith(" ms") for line in str(trace).splitlines())
    assert trace[:3] == EventTrace(list(trace)[:3])
    assert trace.tree(durations=False).splitlines() == [
        "run: raises HookError",
        "  train",
        "    on_train_begin",
        "    train epoch 1",
        "      on_train_epoch_begin epoch 1",
        "        StopsOrRaises.epoch_begin",
        "        StopsOrRaises 2.epoch_begin",
        "      train step 1",
        "        on_train_step_begin step 1",
        "          StopsOrRaises",
        "          StopsOrRaises 2",
        "        on_train_step_end step 1",
        "      train step 2",
        "        on_train_step_begin step 2: raises HookError",
        "          StopsOrRaises: requests a stop",
        "          StopsOrRaises 2: raises HookError",
        "  StopsOrRaises.on_exception",
        "  StopsOrRaises 2.on_exception",
        "run",
        "  eval",
        "    on_eval_begin",
        "    eval epoch",
        "      on_eval_epoch_begin",
        *[
            "      eval step 1",
            "        on_eval_step_begin step 1",
            "        on_eval_step_end step 1",
        ],
        *[
            "      eval step 2",
            "        on_eval_step_begin step 2",
            "        on_eval_step_end step 2",
        ],
        "      on_eval_epoch_end",
        "    on_eval_end",
    ]


@given(mst.scenarios(), mst.callback_lists())
def test_lines_of_the_tree_take_as_long_as_those_nested_in_them(
    scenario: Scenario, callbacks: list[Callback]
) -> None:
    """And each call is nested in an event, or in the run."""
    with redirect_stdout(None):
        tree = scenario.run(callbacks).tree().splitlines()
    remaining: dict[int, float] = {}  # by the indentation of the line around
    for line in tree:
        time = float(line.split()[-2])
        indent = len(line) - len(line.lstrip())
        remaining = {level: time_left for level, time_left in remaining.items() if level < indent}
        if remaining:
            remaining[max(remaining)] -= time
            assert remaining[max(remaining)] > -0.01, "\n".join(tree)  # milliseconds are rounded
        remaining[indent] = time


def test_nested_runs_are_below_their_call() -> None:
    other = make()

    class Evaluates(Callback):
        def __enter__(self) -> Self:
            return self

        def on_train_end(self, run_context: RunContext) -> None:
            other.eval(ROWS)

    with record_events() as trace, record_events() as again:
        make().train(1, ROWS, Evaluates())
    assert trace == again
    assert trace.tree(durations=False).splitlines()[:2] == ["run", "  Evaluates.__enter__"]
    index = trace.names.index("run", 1)
    assert (trace[index - 1].source, trace[index - 1].depth) == ("Evaluates", 2)
    assert trace[index].depth == 3
    assert trace[-1] == Event("on_eval_end", depth=4, step=2)
    lines = trace.tree(durations=False).splitlines()
    call = lines.index("      Evaluates")
    assert lines[call - 1 : call + 3] == [
        "    on_train_end",
        lines[call],
        " " * 8 + "run",
        " " * 10 + "eval",
    ]


class Logs(LossMonitor):
    """A callback that is called before the others of a list."""

    def on_train_begin(self, run_context: RunContext) -> None: ...


def test_callbacks_have_their_positions_in_the_list() -> None:
    trace = Scenario(epochs=1, batches=1).run([LossMonitor(9), LossMonitor(9), Logs(9)])
    positions = {event.source: event.position for event in trace}
    assert positions == {"": None, "Logs": 2, "LossMonitor": 0, "LossMonitor 2": 1}
    assert next(iter(trace.of("Logs"))) == next(event for event in trace if event.source)
    titles = re.findall("<title>([^<]*)</title></path>", drawing.draw_events(trace))
    assert titles == ["LossMonitor", "LossMonitor 2", "Logs"]


def test_only_runs_in_the_block_are_recorded() -> None:
    """Without a recording nothing is instrumented."""
    with record_events() as trace:
        assert type(make_callback_manager(None)) is not CallbackManager
    assert type(make_callback_manager(None)) is CallbackManager
    make().train(1, ROWS)
    assert not trace


def test_equal_runs_have_equal_traces() -> None:
    def run(epochs: int) -> EventTrace:
        with record_events() as trace:
            make().train(epochs, ROWS, LossMonitor(100))
        return trace

    assert run(2) == run(2) != run(1)


def test_recording_does_not_change_exceptions() -> None:
    """Notes, errors in `on_exception`, and suppression by `__exit__` are the same."""

    class AlsoFails(StopsOrRaises):
        def on_exception(self, run_context: RunContext, error: BaseException) -> None:
            raise ValueError("another")

    with record_events(), pytest.raises(HookError) as raised:
        make().train(1, ROWS, AlsoFails(raises=True))
    with pytest.raises(HookError) as plain:
        make().train(1, ROWS, AlsoFails(raises=True))
    assert raised.value.__notes__ == plain.value.__notes__

    class Suppresses(StopsOrRaises):
        def __exit__(self, *error: object) -> bool:
            return True

    with record_events() as trace:
        make().train(1, ROWS, Suppresses(raises=True))
    assert trace.names[-1] == "__exit__"
