"""Random runs, read from their traces: each is a sentence of the grammar of events."""

import re
from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from minispore.testing import Event, EventTrace, Schedule
from minispore.testing import strategies as mst
from minispore.train import Callback
from minispore.train.callback._base import EVENTS

# One letter an event, of the training B e s t f E, of an evaluation V x y z w W.
LETTERS = dict(zip(EVENTS, "BestfEVxyzwW", strict=True))
EVALUATION = "Vx(yz)+wW"
GRAMMAR = {
    "train": "B(e(st)+f)+E",
    "fit": f"B(e(st)+({EVALUATION})?f)+E",
    "eval": EVALUATION,
}


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
