"""`Callback`: the names of its hooks."""

from contextlib import nullcontext

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore.train import Callback, RunContext
from minispore.train.protocol.callback import _HOOK_SYNONYMS, EVENTS, CallbackManager


def define(name: str, value: object) -> type:
    return type("Own", (Callback,), {name: value})


def nothing(self: Callback, run_context: RunContext) -> None: ...


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("on_trian_begin", "on_train_begin"),
        ("on_train_epoch_start", "on_train_epoch_begin"),
        ("on_train_batch_start", "on_train_step_begin"),
        ("on_validation_end", "on_eval_end"),
        ("on_epoch_end", "on_train_epoch_end|on_eval_epoch_end"),
        ("on_eval_ends", "on_eval_end"),
    ],
)
def test_misspelt_event_raises_with_suggestion(wrong: str, meant: str) -> None:
    with pytest.raises(TypeError, match=f"'{wrong}'.* did you mean '({meant})'"):
        define(wrong, nothing)


@given(st.from_regex("_?on_?[a-z_]{1,12}", fullmatch=True), st.booleans(), st.booleans())
@example("on_train_emd", True, True)
@example("on_gpu", True, False)
@example("once", False, True)
def test_only_events_may_begin_with_on(name: str, indirect: bool, is_method: bool) -> None:
    """Also in a subclass of a subclass; other attributes may."""
    parent = define("on_train_end", nothing) if indirect else Callback
    wrong = is_method and name.startswith("on_") and name not in {*EVENTS, "on_exception"}
    with pytest.raises(TypeError, match=name) if wrong else nullcontext():
        type("Child", (parent,), {name: nothing if is_method else True})


@given(st.sampled_from([*EVENTS, *EVENTS.values()]))
def test_attribute_named_like_hook_raises_before_run(name: str) -> None:
    taken = Callback()
    setattr(taken, name, 0.0)
    with pytest.raises(TypeError, match=f"'Callback', '{name}' is the name of a hook.* float"):
        CallbackManager([taken])


@given(st.sampled_from([*EVENTS]), st.sampled_from([*_HOOK_SYNONYMS]))
def test_hook_names_of_other_frameworks_get_suggestion(event: str, foreign: str) -> None:
    name = event.replace(_HOOK_SYNONYMS[foreign], foreign)
    if name not in EVENTS:
        with pytest.raises(TypeError, match=f"'{name}', .* did you mean '{event}'"):
            define(name, nothing)
