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
from minispore.train import Callback, CheckpointConfig, ModelCheckpoint, load_checkpoint

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


def weights(path: str | None) -> dict[str, bytes]:
    """Return the parameters in a checkpoint."""
    loaded = {} if path is None else load_checkpoint(path)
    return {
        name: each.asnumpy().tobytes() for name, each in loaded.items() if isinstance(each, Tensor)
    }


KINDS: list[Literal["train", "fit"]] = ["train", "fit"]
WITH_FAULT = st.one_of(mst.scenarios(KINDS[:1]), mst.scenarios(KINDS[1:]))
FAULTS = WITH_FAULT.filter(lambda each: each.fault is not None).map(
    lambda each: each.fault or NEVER
)


@settings(max_examples=settings().max_examples * 2 // 5)
@given(
    mst.scenarios(KINDS, ()),
    st.lists(FAULTS, min_size=1, max_size=2),
    mst.callback_lists("train", max_size=2),
)
@example(Scenario(epochs=2, batches=3), [Fault("on_train_step_begin", 5, "kill")], [])
@example(Scenario("fit", epochs=2), [Fault("on_eval_step_begin", 3, "stop")], [])
def test_repeatedly_resumed_runs_end_like_the_uninterrupted_run(
    uninterrupted: Scenario, faults: list[Fault], callbacks: list[Callback]
) -> None:
    """Stop, fail, interrupt or kill runs, and resume them each time."""
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        replace(uninterrupted, fault=NEVER).run([*callbacks, saver(one)])
        for fault in [*faults, NEVER]:
            resume = newest(other)
            scenario = replace(uninterrupted, fault=replace(fault, first=False))
            trace = scenario.run([*callbacks, saver(other)], resume)
            if not trace[0].raised and sentence(trace):
                assert re.fullmatch(RESUMED[uninterrupted.kind], sentence(trace))
        assert weights(newest(other)) == weights(newest(one))
        assert newest(one) is not None
