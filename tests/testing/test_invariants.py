"""The checks of invariants."""

from hypothesis import example, given
from hypothesis import strategies as st

from minispore.testing._invariants import find_unpaired_event
from minispore.train.protocol.callback import EVENTS


def naively_paired(events: list[str]) -> bool:
    """Return whether removing adjacent begin and end events repeatedly leaves no event."""
    for i, event in enumerate(events[:-1]):
        if event.endswith("_begin") and events[i + 1] == event.replace("begin", "end"):
            return naively_paired(events[:i] + events[i + 2 :])
    return not events


@given(st.lists(st.sampled_from(list(EVENTS)), max_size=6))
@example(["on_train_begin", "on_eval_begin", "on_eval_end", "on_train_end"])
@example(["on_train_begin", "on_eval_begin", "on_train_end", "on_eval_end"])
def test_unpaired_events_are_detected(events: list[str]) -> None:
    assert (
        find_unpaired_event([f"{event} in epoch 1" for event in events]) is None
    ) == naively_paired(events)
