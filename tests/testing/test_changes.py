"""What a trace says that callbacks changed: all that they did change, and nothing else."""

from copy import copy

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
from minispore.train._protocol.callback import EVENTS

from .runs import ROWS

PARAMETERS = {
    "weight", "bias", "global_step", "learning_rate", "momentum", "moments.weight", "moments.bias",
}  # fmt: skip
NUMBERS = {"global_step", "learning_rate", "momentum"}
# What there is in every event of a training; and what there is in none.
ENTRIES = {"mode", "cur_step_num", "network", "optimizer", "train_dataset"}
NEW = {"mine", "a name that is none"}
names = st.sets(st.sampled_from(sorted(PARAMETERS | ENTRIES | NEW)))
GONE = object()


def make() -> Model:
    net = nn.Dense(2, 3)
    optimizer = nn.Momentum(net.trainable_params(), 0.5, 0.75)
    return Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})


def another(value: object) -> object:
    """Something else of the same type; nothing in place of words."""
    if isinstance(value, str):
        return GONE
    return value + 1 if isinstance(value, int) else copy(value)


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
            wished = self.before.entries[name] if self.before else another(self.entries[name])
            if wished is GONE:
                del params[name]
            else:
                params[name] = wished
        self.at += 1


for _name in EVENTS:
    setattr(Meddles, _name, Meddles.meddle)


def named(event: Event) -> set[str]:
    """The names of what was changed; numbers, and only they, have their values beside them."""
    pairs = [text.partition(" from ") for text in event.changed]
    assert all((name in NUMBERS) == (" to " in values) for name, _, values in pairs)
    return {name.removeprefix("cb_params.") for name, _, _ in pairs}


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


def test_what_is_set_to_what_it_was_is_not_changed() -> None:
    class Sets(Callback):
        def on_train_step_end(self, run_context: RunContext) -> None:
            params = run_context.original_args()
            params.rate, params.name = float("0.5"), str(0.25)
            for parameter in params.network.get_parameters():
                parameter.set_data(parameter.copy())

    with record_events() as trace:
        make().train(2, ROWS, Sets())
    assert [e.changed for e in trace.of("Sets")] == [("cb_params.rate", "cb_params.name")] + 3 * [
        ()
    ]


def test_in_each_run_its_own_network_is_looked_at() -> None:
    class Doubles(Callback):
        def on_train_end(self, run_context: RunContext) -> None:
            weight = next(run_context.original_args().network.get_parameters())
            weight.set_data(weight * 2)

    class Trains(Doubles):
        def on_train_end(self, run_context: RunContext) -> None:
            make().train(1, ROWS, Doubles())
            super().on_train_end(run_context)

    with record_events() as trace:
        make().train(1, ROWS, [Trains(), Doubles()])
    assert [(e.source, e.depth) for e in trace if e.changed == ("weight",)] == [
        ("Trains", 2), ("Doubles", 5), ("Doubles", 2),
    ]  # fmt: skip


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
