"""`Callback`: the names of its hooks."""

import pytest
from hypothesis import given
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


@given(st.from_regex("on_[a-z_]{1,12}", fullmatch=True))
def test_only_events_may_begin_with_on(name: str) -> None:
    if name in EVENTS or name == "on_exception":
        define(name, nothing)
    else:
        with pytest.raises(TypeError, match=name):
            define(name, nothing)


def test_attributes_may_begin_with_on() -> None:
    define("on_gpu", True)
    define("once", nothing)
    define("_on_disk", nothing)


def test_indirect_subclasses_are_checked() -> None:
    parent = define("on_train_end", nothing)
    with pytest.raises(TypeError, match="on_train_emd"):
        type("Child", (parent,), {"on_train_emd": nothing})


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
