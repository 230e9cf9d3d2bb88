"""Random runs, read from their traces: sentences of the grammar of events, and parts of them."""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from hypothesis import example, given, settings
from hypothesis import strategies as st

from minispore import Tensor
from minispore.testing import Event, EventTrace, Schedule, Trouble
from minispore.testing import strategies as mst
from minispore.train import Callback, CheckpointConfig, ModelCheckpoint, load_checkpoint
from minispore.train._protocol.callback import EVENTS

# One letter an event, of the training B e s t f E, of an evaluation V x y z w W.
LETTERS = dict(zip(EVENTS, "BestfEVxyzwW", strict=True))
EVALUATION = "Vx(yz)+wW"
GRAMMAR = {
    "train": "B(e(st)+f)+E",
    "fit": f"B(e(st)+({EVALUATION})?f)+E",
    "eval": EVALUATION,
}
# A training state wants the same callbacks in the same order, among them the one for the trouble.
NEVER = Trouble("on_train_end", times=1000)
# A run that goes on inside of an epoch may have none of its steps left.
RESUMED = {"train": "B(e(st)*f)*E", "fit": f"B(e(st)*({EVALUATION})?f)*E"}


def loop_events(trace: EventTrace) -> list[Event]:
    return [event for event in trace.of("") if event.name != "run"]


def sentence(trace: EventTrace) -> str:
    return "".join(LETTERS[event.name] for event in loop_events(trace))


@given(mst.schedules(), st.data())
def test_a_run_is_a_sentence_or_ends_with_an_exception(
    schedule: Schedule, data: st.DataObject
) -> None:
    callbacks = data.draw(mst.callback_lists("train"))
    trace = schedule.run(callbacks)
    whole = replace(schedule, trouble=None).run([])
    assert re.fullmatch(GRAMMAR[schedule.kind], sentence(whole))
    if trace[0].raised:
        # What happened until then is what happens in the whole run.
        assert sentence(whole).startswith(sentence(trace))
    else:
        assert re.fullmatch(GRAMMAR[schedule.kind], sentence(trace))
    if schedule.trouble is None:
        assert loop_events(trace) == loop_events(whole)


@given(mst.schedules(), mst.callback_lists("train"))
def test_a_trace_is_a_tree(schedule: Schedule, callbacks: list[Callback]) -> None:
    trace = schedule.run(callbacks)
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
    """A checkpoint of the newest step, from which a run can go on exactly."""
    config = CheckpointConfig(1, keep_checkpoint_max=1, append_info=["training_state"])
    return ModelCheckpoint("net", folder, config)


def newest(folder: str) -> str | None:
    return next(map(str, Path(folder).glob("*.ckpt")), None)


def weights(path: str | None) -> dict[str, bytes]:
    """What a checkpoint holds of the network and the optimizer."""
    loaded = {} if path is None else load_checkpoint(path)
    return {
        name: each.asnumpy().tobytes() for name, each in loaded.items() if isinstance(each, Tensor)
    }


KINDS: list[Literal["train", "fit"]] = ["train", "fit"]
DISTURBED = st.one_of(mst.schedules(KINDS[:1]), mst.schedules(KINDS[1:]))
TROUBLES = DISTURBED.filter(lambda each: each.trouble is not None).map(
    lambda each: each.trouble or NEVER
)


@settings(max_examples=settings().max_examples * 2 // 5)
@given(
    mst.schedules(KINDS, ()),
    st.lists(TROUBLES, min_size=1, max_size=2),
    mst.callback_lists("train", max_size=2),
)
@example(Schedule(epochs=2, batches=3), [Trouble("on_train_step_begin", 5, "kill")], [])
@example(Schedule("fit", epochs=2), [Trouble("on_eval_step_begin", 3, "stop")], [])
def test_a_session_of_runs_ends_where_the_uninterrupted_run_does(
    whole: Schedule, troubles: list[Trouble], callbacks: list[Callback]
) -> None:
    """Stopped, failed, interrupted or killed, and each time resumed: as if nothing had been."""
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        replace(whole, trouble=NEVER).run([*callbacks, saver(one)])
        for trouble in [*troubles, NEVER]:
            resume = newest(other)
            schedule = replace(whole, trouble=replace(trouble, first=False))
            trace = schedule.run([*callbacks, saver(other)], resume)
            if not trace[0].raised and sentence(trace):
                assert re.fullmatch(RESUMED[whole.kind], sentence(trace))
        assert weights(newest(other)) == weights(newest(one))
        assert newest(one) is not None
