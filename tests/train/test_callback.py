"""The base class, the parameters of a run, and the context that carries them."""

import copy
import pickle
from collections.abc import Callable
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.train import Callback, RunContext
from minispore.train._protocol.callback import EVENTS
from minispore.train._protocol.manager import CallbackManager
from minispore.train.callback import _InternalCallbackParam
from minispore.train.callback._callback import InternalCallbackParam


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
def test_a_misspelt_event_is_refused_with_the_nearest(wrong: str, meant: str) -> None:
    with pytest.raises(TypeError, match=f"'{wrong}'.* did you mean '({meant})'"):
        define(wrong, nothing)


@given(st.from_regex("on_[a-z_]{1,12}", fullmatch=True))
def test_of_all_names_with_on_only_events_are_allowed(name: str) -> None:
    if name in EVENTS or name == "on_exception":
        define(name, nothing)
    else:
        with pytest.raises(TypeError, match=name):
            define(name, nothing)


def test_what_is_no_method_may_be_called_anything() -> None:
    define("on_gpu", True)
    define("once", nothing)
    define("_on_disk", nothing)


def test_subclasses_of_subclasses_are_looked_at() -> None:
    parent = define("on_train_end", nothing)
    with pytest.raises(TypeError, match="on_train_emd"):
        type("Child", (parent,), {"on_train_emd": nothing})


def test_parameters_are_one_thing_by_attribute_and_by_key() -> None:
    params = InternalCallbackParam(mode="train")
    params.init_time = 1.5
    params["best"] = 2
    assert (params.mode, params["init_time"], params.best) == ("train", 1.5, 2)
    assert dict(params) == {"mode": "train", "init_time": 1.5, "best": 2}
    del params.best
    assert "best" not in params
    assert _InternalCallbackParam is InternalCallbackParam


def test_a_name_never_set_is_an_attribute_error() -> None:
    params = InternalCallbackParam(mode="train")
    assert not hasattr(params, "metrics")
    assert getattr(params, "metrics", None) is None
    with pytest.raises(AttributeError, match=r"no 'metrics'.* they hold mode"):
        _ = params.metrics
    with pytest.raises(AttributeError, match="no 'metrics'"):
        del params.metrics


def pickled(params: InternalCallbackParam) -> InternalCallbackParam:
    return cast("InternalCallbackParam", pickle.loads(pickle.dumps(params)))


DUPLICATES: list[Callable[[InternalCallbackParam], InternalCallbackParam]] = [
    copy.copy,
    copy.deepcopy,
    pickled,
]


@pytest.mark.parametrize("duplicate", DUPLICATES)
def test_parameters_can_be_copied(
    duplicate: Callable[[InternalCallbackParam], InternalCallbackParam],
) -> None:
    params = InternalCallbackParam(cur_step_num=3)
    other = duplicate(params)
    assert type(other) is InternalCallbackParam
    assert other == params
    assert other is not params


def test_a_context_hands_out_one_object() -> None:
    params = InternalCallbackParam()
    context = RunContext(params)
    assert context.original_args() is params is context.original_args()
    assert RunContext({"a": 1}).original_args().a == 1


def test_a_stop_cannot_be_taken_back() -> None:
    context = RunContext({})
    assert not context.get_stop_requested()
    context.request_stop()
    context.request_stop()
    assert context.get_stop_requested()


@pytest.mark.parametrize("wrong", [None, 1, [("a", 1)], "a"])
def test_parameters_must_be_a_dict(wrong: dict[str, object]) -> None:
    with pytest.raises(TypeError, match=r"^For 'RunContext', .*'original_args'"):
        RunContext(wrong)


@pytest.mark.parametrize("name", [*EVENTS, *EVENTS.values()])
def test_an_attribute_that_takes_a_hooks_name_is_told_before_anything_runs(name: str) -> None:
    taken = Callback()
    setattr(taken, name, 0.0)
    with pytest.raises(TypeError, match=f"'Callback', '{name}' is the name of a hook.* float"):
        CallbackManager([taken])
