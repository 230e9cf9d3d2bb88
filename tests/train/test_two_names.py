"""An event's name of today and of MindSpore 1.x: who has one is called by either."""

import pytest

from minispore.train import Callback, RunContext
from minispore.train._protocol.callback import _WORDS_ELSEWHERE, EVENTS


def with_hook(name: str, told: list[RunContext]) -> Callback:
    """A callback with one hook, and with nothing of its own under any other name."""

    def hook(self: Callback, run_context: RunContext) -> None:
        told.append(run_context)

    made: Callback = type("Own", (Callback,), {name: hook})()
    return made


@pytest.mark.parametrize("event", EVENTS)
def test_who_has_one_name_is_called_by_the_other_with_the_same_context(event: str) -> None:
    older = EVENTS[event]
    told: list[RunContext] = []
    context = RunContext({})
    getattr(with_hook(older, told), event)(context)
    assert [each is context for each in told] == [True]
    told.clear()
    # In a loop of MindSpore 1.x the older name means the training.
    getattr(with_hook(event, told), older)(context)
    assert [each is context for each in told] == [True] * event.startswith("on_train_")


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("foreign", _WORDS_ELSEWHERE)
def test_who_knows_other_frameworks_is_told_the_name_here(event: str, foreign: str) -> None:
    word = _WORDS_ELSEWHERE[foreign]
    name = event.replace(word, foreign)
    if name not in EVENTS:
        with pytest.raises(TypeError, match=f"'{name}', .* did you mean '{event}'"):
            with_hook(name, [])
