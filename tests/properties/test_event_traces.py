"""The events of random runs match a grammar, also after faults and when resumed."""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from hypothesis import example, given, settings
from hypothesis import strategies as st

from minispore import Tensor
from minispore._course.playground import EVALUATION, GRAMMAR, LETTERS
from minispore.testing import Event, EventTrace, Fault, Scenario
from minispore.testing import strategies as mst
from minispore.train import Callback, CheckpointConfig, History, ModelCheckpoint, load_checkpoint
from minispore.train.protocol.callback import EVENTS

# A training state needs the same callbacks in the same order, including the fault injector.
NEVER = Fault("on_train_end", times=1000)
# A run that is resumed inside an epoch may have no step of it left.
RESUMED = {"train": "B(e(st)*f)*E", "fit": f"B(e(st)*({EVALUATION})?f)*E"}


def loop_events(trace: EventTrace) -> list[Event]:
    return [event for event in trace.of("") if event.name != "run"]


def sentence(trace: EventTrace) -> str:
    return "".join(LETTERS[event.name] for event in loop_events(trace))


@given(mst.scenarios(), st.data())
def test_event_sequences_match_the_grammar(scenario: Scenario, data: st.DataObject) -> None:
    callbacks = data.draw(mst.callback_lists("train"))
    trace = scenario.run(callbacks)
    uninterrupted = replace(scenario, fault=None).run([])
    assert re.fullmatch(GRAMMAR[scenario.kind], sentence(uninterrupted))
    if trace[0].raised:
        # The events until then are those of the uninterrupted run.
        assert sentence(uninterrupted).startswith(sentence(trace))
    else:
        assert re.fullmatch(GRAMMAR[scenario.kind], sentence(trace))
    if scenario.fault is None:
        assert loop_events(trace) == loop_events(uninterrupted)


@given(mst.scenarios(["fit"], ()), mst.callback_lists("train"))
def test_validation_and_logging_change_no_loss(
    scenario: Scenario, callbacks: list[Callback]
) -> None:
    alone, watched = History(), History()
    replace(scenario, kind="train").run([alone])
    scenario.run([*callbacks, watched])
    assert watched.history["net_output"] == alone.history["net_output"]


@given(mst.scenarios(), mst.callback_lists("train"))
def test_traces_form_a_tree(scenario: Scenario, callbacks: list[Callback]) -> None:
    trace = scenario.run(callbacks)
    depths = [event.depth for event in trace]
    assert depths[0] == 0
    assert all(1 <= deep <= before + 1 for before, deep in pairwise(depths))
    # An event begins after the one before, and a call lies within its event.
    for before, after in pairwise(trace):
        assert before.start <= after.start
        if after.source and before.depth < after.depth:
            assert after.start + after.duration <= before.start + before.duration
    ends = {event.name: event.depth for event in loop_events(trace)}
    for name, depth in ends.items():
        if name.endswith("_end") and name.replace("_end", "_begin") in ends:
            assert depth == ends[name.replace("_end", "_begin")]


def saver(folder: str) -> ModelCheckpoint:
    """Return a callback that saves each step with the training state."""
    config = CheckpointConfig(1, keep_checkpoint_max=1, append_info=["training_state"])
    return ModelCheckpoint("net", folder, config)


def newest(folder: str) -> str | None:
    return next(map(str, Path(folder).glob("*.ckpt")), None)


def weights(folder: str) -> dict[str, bytes]:
    """Return the parameters in the newest checkpoint."""
    path = newest(folder)
    loaded = {} if path is None else load_checkpoint(path)
    return {name: x.asnumpy().tobytes() for name, x in loaded.items() if isinstance(x, Tensor)}


def resumed(
    scenario: Scenario, faults: list[Fault], callbacks: list[Callback], folder: str
) -> list[EventTrace]:
    """Run the scenario with each of the faults in turn, from the newest checkpoint on."""
    return [
        replace(scenario, fault=fault).run([*callbacks, saver(folder)], newest(folder))
        for fault in faults
    ]


KINDS: list[Literal["train", "fit"]] = ["train", "fit"]
FAULTS = st.builds(
    Fault,
    st.sampled_from(list(EVENTS)),
    st.integers(1, 4),
    st.sampled_from(["stop", "exception", "interrupt", "kill"]),
)


@settings(max_examples=settings().max_examples * 2 // 5)
@given(mst.scenarios(KINDS, ()), st.lists(FAULTS, max_size=2), mst.callback_lists("train"))
@example(Scenario(epochs=2, batches=3), [Fault("on_train_step_begin", 5, "kill")], [])
@example(Scenario("fit", epochs=2), [Fault("on_eval_step_begin", 3, "stop")], [])
def test_repeatedly_resumed_runs_end_like_the_uninterrupted_run(
    scenario: Scenario, faults: list[Fault], callbacks: list[Callback]
) -> None:
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        resumed(scenario, [NEVER], callbacks, one)
        resumed(scenario, [*faults, NEVER], callbacks, other)
        assert weights(one) == weights(other) != {}


@settings(max_examples=settings().max_examples * 2 // 5)
@given(mst.scenarios(KINDS, ()), st.lists(FAULTS, min_size=1, max_size=2))
def test_events_of_resumed_runs_match_the_grammar(scenario: Scenario, faults: list[Fault]) -> None:
    with TemporaryDirectory() as folder:
        for trace in resumed(scenario, [*faults, NEVER], [], folder):
            if not trace[0].raised and sentence(trace):
                assert re.fullmatch(RESUMED[scenario.kind], sentence(trace))
