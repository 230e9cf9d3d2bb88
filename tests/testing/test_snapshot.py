"""Snapshots: a trace contains exactly the changes that callbacks make."""

from copy import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, nn
from minispore.testing import Event, EventTrace, _recorder, record_events
from minispore.testing._snapshot import StateSnapshot, StateSnapshotter
from minispore.train import Callback, LearningRateScheduler, Model, RunContext
from minispore.train.protocol.callback import EVENTS
from tests.testing.small_training import ROWS

PARAMETERS = {
    "weight", "bias", "global_step", "learning_rate", "momentum", "moments.weight", "moments.bias",
}  # fmt: skip
NUMBERS = {"global_step", "learning_rate", "momentum"}
# Entries that exist in every event of a training, and entries that do not exist.
ENTRIES = {"mode", "cur_step_num", "network", "optimizer", "train_dataset"}
NEW = {"mine", "a name with spaces"}
names = st.sets(st.sampled_from(sorted(PARAMETERS | ENTRIES | NEW)))
MISSING = object()


def make() -> Model:
    net = nn.Dense(2, 3)
    optimizer = nn.Momentum(net.trainable_params(), 0.5, 0.75)
    return Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})


def another(value: object) -> object:
    """Return another value of the same type; `MISSING` for a str."""
    if isinstance(value, str):
        return MISSING
    return value + 1 if isinstance(value, int) else copy(value)


class ModifiesState(Callback):
    """Change the values of some names at each event; a second object restores them."""

    def __init__(self, changes: list[set[str]], before: "ModifiesState | None" = None) -> None:
        self.changes = changes
        self.at = 0
        self.before = before
        self.parameters: dict[str, Tensor] = {}
        self.entries: dict[str, object] = {}

    def modify(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        requested = self.changes[self.at] if self.at < len(self.changes) else set[str]()
        for parameter in params.train_network.get_parameters():
            if parameter.name in requested:
                if self.before:
                    parameter.set_data(self.before.parameters[parameter.name])
                else:
                    self.parameters[parameter.name] = Tensor(parameter.asnumpy().copy())
                    parameter.add_(Tensor(1, parameter.dtype))  # in place
        for name in sorted(requested & (ENTRIES | NEW)):
            self.entries[name] = params.get(name, MISSING)
            new_value = self.before.entries[name] if self.before else another(self.entries[name])
            if new_value is MISSING:
                del params[name]
            else:
                params[name] = new_value
        self.at += 1


for _name in EVENTS:
    setattr(ModifiesState, _name, ModifiesState.modify)


def named(event: Event) -> set[str]:
    """Return the names of changes; check that only numbers are shown with their values."""
    pairs = [text.partition(" from ") for text in event.changed]
    assert all((name in NUMBERS) == (" to " in values) for name, _, values in pairs)
    return {name.removeprefix("cb_params.") for name, _, _ in pairs}


@given(st.lists(names, max_size=8))
def test_trace_contains_exactly_the_changes_of_each_call(changes: list[set[str]]) -> None:
    first = ModifiesState(changes)
    with record_events() as trace:
        make().train(1, ROWS, [Callback(), first, Callback(), ModifiesState(changes, first)])
    changes += [set[str]()] * (8 - len(changes))
    calls = trace.of("ModifiesState"), trace.of("ModifiesState 2")
    for events in calls:
        assert [named(event) for event in events] == changes
        assert [len(event.changed) for event in events] == list(map(len, changes))
    assert len(calls[0]) == len(calls[1]) == 8
    assert all(
        event.source in {"ModifiesState", "ModifiesState 2"} for event in trace if event.changed
    )


def test_changed_numbers_show_both_values() -> None:
    with record_events() as trace:
        make().train(2, ROWS, LearningRateScheduler(lambda rate, step: 0.5 if step < 3 else 0.125))
    assert [(e.step, e.changed) for e in trace if e.changed] == [
        (3, ("learning_rate from 0.5 to 0.125",))
    ]
    assert "LearningRateScheduler: changes learning_rate from 0.5 to 0.125" in str(trace)


def test_equal_values_are_no_change() -> None:
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


def test_each_run_snapshots_its_own_network() -> None:
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


def test_tree_lines_name_three_changes() -> None:
    def line(stop: bool, changed: str, raised: str) -> str:
        event = Event("on_train_end", "Own", stop=stop, changed=tuple(changed), raised=raised)
        return EventTrace([event]).tree(durations=False)

    assert line(False, "a", "") == "Own.on_train_end: changes a"
    assert line(False, "abc", "") == "Own.on_train_end: changes a, b, c"
    assert line(False, "abcde", "") == "Own.on_train_end: changes a, b, c and 2 more"
    assert line(True, "ab", "E") == "Own.on_train_end: requests a stop, changes a, b, raises E"


def test_trace_clock_excludes_snapshots(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    snapshot = StateSnapshotter.snapshot

    def slowly(self: StateSnapshotter, context: RunContext) -> StateSnapshot:
        nonlocal now
        now += 1000.0
        return snapshot(self, context)

    class Takes(Callback):
        def on_train_step_end(self, run_context: RunContext) -> None:
            nonlocal now
            now += 2.0

    monkeypatch.setattr(_recorder, "perf_counter", lambda: now)
    monkeypatch.setattr(StateSnapshotter, "snapshot", slowly)
    with record_events() as trace:
        make().train(2, ROWS, [Takes(), Takes()])
    assert now > 8000.0
    assert trace[0].duration == 16.0
    assert [event.duration for event in trace.of("Takes 2")] == [2.0] * 4
    assert [event.start for event in trace.of("Takes 2")] == [2.0, 6.0, 10.0, 14.0]
    ends = [event for event in trace.of("") if event.name == "on_train_step_end"]
    assert [event.duration for event in ends] == [4.0] * 4
