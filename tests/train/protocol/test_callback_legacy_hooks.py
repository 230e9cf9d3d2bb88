"""The present and the MindSpore 1.x name of a hook call each other."""

import pytest

from minispore.train import Callback, RunContext
from minispore.train.protocol.callback import _HOOK_SYNONYMS, EVENTS


def with_hook(name: str, contexts: list[RunContext]) -> Callback:
    """Return a callback that overrides one hook."""

    def hook(self: Callback, run_context: RunContext) -> None:
        contexts.append(run_context)

    created: Callback = type("Own", (Callback,), {name: hook})()
    return created


@pytest.mark.parametrize("event", EVENTS)
def test_legacy_and_current_hooks_call_each_other(event: str) -> None:
    legacy = EVENTS[event]
    contexts: list[RunContext] = []
    context = RunContext({})
    getattr(with_hook(legacy, contexts), event)(context)
    assert [each is context for each in contexts] == [True]
    contexts.clear()
    # In a loop of MindSpore 1.x the legacy name means the training.
    getattr(with_hook(event, contexts), legacy)(context)
    assert [each is context for each in contexts] == [True] * event.startswith("on_train_")


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("foreign", _HOOK_SYNONYMS)
def test_hook_names_of_other_frameworks_get_suggestion(event: str, foreign: str) -> None:
    word = _HOOK_SYNONYMS[foreign]
    name = event.replace(word, foreign)
    if name not in EVENTS:
        with pytest.raises(TypeError, match=f"'{name}', .* did you mean '{event}'"):
            with_hook(name, [])
