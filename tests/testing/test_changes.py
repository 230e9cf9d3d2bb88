"""What a trace says that callbacks changed: all that they did change, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, nn
from minispore.testing import Event, EventTrace, _recording, record_events
from minispore.testing._looking import Eye, Sight
from minispore.train import (
    Callback,
    EarlyStopping,
    History,
    LearningRateScheduler,
    LossMonitor,
    Model,
    ReduceLROnPlateau,
    RunContext,
    TimeMonitor,
)
from minispore.train.callback._base import EVENTS

from .runs import ROWS

PARAMETERS = {
    "weight", "bias", "global_step", "learning_rate", "momentum", "moments.weight", "moments.bias",
}  # fmt: skip
# What there is in every event of a training; and what there is in none.
ENTRIES = {"mode", "cur_step_num", "network", "optimizer", "train_dataset"}
NEW = {"mine", "a name that is none"}
names = st.sets(st.sampled_from(sorted(PARAMETERS | ENTRIES | NEW)))
GONE = object()


def make() -> Model:
    net = nn.Dense(2, 3)
    optimizer = nn.Momentum(net.trainable_params(), 0.5, 0.75)
    return Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})


class Meddles(Callback):
    """At each event, change what the plan says; another of its kind puts it back."""

    def __init__(self, plan: list[set[str]], before: "Meddles | None" = None) -> None:
        self.plan = plan
        self.at = 0
        self.before = before
        self.parameters: dict[str, Tensor] = {}
        self.entries: dict[str, object] = {}

    def meddle(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        wanted = self.plan[self.at] if self.at < len(self.plan) else set[str]()
        for parameter in params.train_network.get_parameters():
            if parameter.name in wanted:
                if self.before:
                    parameter.set_data(self.before.parameters[parameter.name])
                else:
                    self.parameters[parameter.name] = Tensor(parameter.asnumpy().copy())
                    parameter.add_(Tensor(1, parameter.dtype))  # in place
        for name in sorted(wanted & (ENTRIES | NEW)):
            self.entries[name] = params.get(name, GONE)
            wished = self.before.entries[name] if self.before else object()
            if wished is GONE or (not self.before and name == "mode"):
                del params[name]
            else:
                params[name] = wished
        self.at += 1


for _name in EVENTS:
    setattr(Meddles, _name, Meddles.meddle)


def named(event: Event) -> set[str]:
    return {text.split(" from ")[0].removeprefix("cb_params.") for text in event.changed}


@given(st.lists(names, max_size=8))
def test_a_trace_says_just_what_each_call_changed(plan: list[set[str]]) -> None:
    first = Meddles(plan)
    with record_events() as trace:
        make().train(1, ROWS, [Callback(), first, Callback(), Meddles(plan, first)])
    plan += [set[str]()] * (8 - len(plan))
    calls = trace.of("Meddles"), trace.of("Meddles 2")
    for events in calls:
        assert [named(event) for event in events] == plan
        assert [len(event.changed) for event in events] == list(map(len, plan))
    assert len(calls[0]) == len(calls[1]) == 8
    assert all(event.source in {"Meddles", "Meddles 2"} for event in trace if event.changed)


def test_a_number_is_shown_before_and_after() -> None:
    with record_events() as trace:
        make().train(2, ROWS, LearningRateScheduler(lambda rate, step: 0.5 if step < 3 else 0.125))
    assert [(e.step, e.changed) for e in trace if e.changed] == [
        (3, ("learning_rate from 0.5 to 0.125",))
    ]
    assert "LearningRateScheduler: changes learning_rate from 0.5 to 0.125" in str(trace)


def test_the_line_of_a_tree_names_three_changes_and_counts_the_others() -> None:
    def line(stop: bool, changed: str, raised: str) -> str:
        event = Event("on_train_end", "Own", stop=stop, changed=tuple(changed), raised=raised)
        return EventTrace([event]).tree(durations=False)

    assert line(False, "a", "") == "Own.on_train_end: changes a"
    assert line(False, "abc", "") == "Own.on_train_end: changes a, b, c"
    assert line(False, "abcde", "") == "Own.on_train_end: changes a, b, c and 2 more"
    assert line(True, "ab", "E") == "Own.on_train_end: requests a stop, changes a, b, raises E"


def test_what_is_shipped_changes_what_it_is_for() -> None:
    def of(callback: Callback) -> set[str]:
        with record_events() as trace:
            make().fit(3, ROWS, ROWS, callbacks=callback)
        return {name for event in trace for name in named(event)}

    assert of(ReduceLROnPlateau(patience=0, min_delta=10.0)) == {"learning_rate"}
    assert of(EarlyStopping(patience=0, min_delta=10.0, restore_best_weights=True)) == {
        "weight", "bias",
    }  # fmt: skip
    for silent in (LossMonitor(), TimeMonitor(), History()):
        assert of(silent) == set()


def test_the_clock_stands_still_while_changes_are_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    look = Eye.look

    def slowly(self: Eye, context: RunContext) -> Sight:
        nonlocal now
        now += 1000.0
        return look(self, context)

    class Takes(Callback):
        def on_train_step_end(self, run_context: RunContext) -> None:
            nonlocal now
            now += 2.0

    monkeypatch.setattr(_recording, "perf_counter", lambda: now)
    monkeypatch.setattr(Eye, "look", slowly)
    with record_events() as trace:
        make().train(2, ROWS, [Takes(), Takes()])
    assert now > 8000.0
    assert trace[0].duration == 16.0
    assert [event.duration for event in trace.of("Takes 2")] == [2.0] * 4
    assert [event.start for event in trace.of("Takes 2")] == [2.0, 6.0, 10.0, 14.0]
    ends = [event for event in trace.of("") if event.name == "on_train_step_end"]
    assert [event.duration for event in ends] == [4.0] * 4
