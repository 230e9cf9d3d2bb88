"""tensorpack's hooks come in tensorpack's order, and MindSpore's in MindSpore's, in one list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.tensorpack import Callback, StopTraining, adapter
from minispore.train import Callback as TrainCallback
from minispore.train import Model, RunContext

from ..train.standins import Batches, ConstantLoss, Outputs, Rows, make
from .spies import (
    HOOKS,
    Boom,
    Failure,
    Line,
    Log,
    Pack,
    failures,
    outcome,
    tensorpack,
    train,
)

KINDS = (Boom, StopTraining, KeyboardInterrupt)


def counted(lines: list[Line], failure: Failure | None) -> list[Line]:
    """The lines, without the last counters where a step is done that was to be stopped."""
    if failure is None or failure[3] is not StopTraining or not failure[1].startswith("before_"):
        return lines
    return [(who, hook, (0, 0, 0) if hook == "after_train" else at) for who, hook, at in lines]


@pytest.mark.parametrize("failure", [None, *failures(1)], ids=str)
@pytest.mark.parametrize("fit", [False, True], ids=["train", "fit"])
def test_the_trace_is_that_of_tensorpack(failure: Failure | None, fit: bool) -> None:
    ours, theirs = Log(failure), Log(failure)
    ended = outcome(lambda: train(ours, "ppp", 2, 2, fit=fit))
    assert ended is outcome(lambda: tensorpack(theirs, [0, 1, 2], 2, 2))
    assert counted(ours, failure) == counted(theirs, failure)


@given(
    schools=st.text("pm", min_size=1, max_size=5),
    epochs=st.integers(1, 2),
    steps=st.integers(1, 3),
    fit=st.booleans(),
    initial=st.integers(0, 2),
    failure=st.none()
    | st.tuples(
        st.integers(0, 4), st.sampled_from(HOOKS), st.integers(1, 3), st.sampled_from(KINDS)
    ),
)
def test_interleaving_leaves_each_school_its_order(
    schools: str, epochs: int, steps: int, fit: bool, initial: int, failure: Failure | None
) -> None:
    pack = [i for i, school in enumerate(schools) if school == "p"]
    spores = [i for i, school in enumerate(schools) if school == "m"]

    mixed, alone = Log(failure), Log(failure)
    ended = outcome(lambda: train(mixed, schools, epochs, steps, fit=fit, initial=initial))
    assert ended is outcome(lambda: tensorpack(alone, pack, epochs, steps, initial))
    assert counted(mixed.of(*pack), failure) == counted(alone, failure)

    if ended is None and alone.seen < (failure[2] if failure else 1):
        undisturbed = Log()
        train(undisturbed, "m" * len(schools), epochs, steps, fit=fit, initial=initial)
        assert mixed.of(*spores) == undisturbed.of(*spores)


def test_one_event_keeps_the_order_of_the_list() -> None:
    log = Log()
    train(log, "mpmp", 1, 1, fit=False)
    names = [f"{who} {hook}" for who, hook, _ in log]
    step = names[names.index("1 after_run") : names.index("1 after_epoch")]
    assert step == [
        "1 after_run",
        "3 after_run",
        "0 on_train_step_end",
        "1 trigger_step",
        "2 on_train_step_end",
        "3 trigger_step",
    ]


def test_the_evaluation_of_fit_is_between_after_epoch_and_trigger_epoch() -> None:
    log = Log()
    train(log, "mp", 1, 1, fit=True)
    names = [f"{who} {hook}" for who, hook, _ in log]
    assert names[names.index("1 after_epoch") :][:5] == [
        "1 after_epoch",
        "0 on_eval_begin",
        "0 on_eval_end",
        "0 on_train_epoch_end",
        "1 trigger_epoch",
    ]


def test_after_stop_training_mindspores_callbacks_see_a_requested_stop() -> None:
    log = Log((1, "trigger_step", 1, StopTraining))
    train(log, "mpm", 3, 3, fit=True)
    for who in (0, 2):
        assert [hook for _, hook, _ in log.of(who)] == [
            "on_train_begin",
            "on_train_epoch_begin",
            "on_train_step_begin",
            "on_train_step_end",
            "on_train_epoch_end",
            "on_train_end",
            "exit",
        ]


@pytest.mark.parametrize("for_good", [False, True])
@pytest.mark.parametrize("event", ["on_train_step_end", "on_eval_step_end", "on_train_epoch_end"])
def test_in_an_epoch_that_a_stop_has_interrupted_nothing_is_triggered(
    event: str, for_good: bool
) -> None:
    log, stop = Log(), TrainCallback()

    def request_stop(run_context: RunContext) -> None:
        run_context.request_stop(for_good=for_good)

    setattr(stop, event, request_stop)
    model = Model(ConstantLoss(), metrics={"acc"}, eval_network=Outputs(), eval_indexes=[0, 1, 2])
    model.fit(3, Batches(1), Batches(2), 1, [Pack(log, 0), stop])
    interrupted = event != "on_train_epoch_end" and not for_good
    left_out: set[str] = {"trigger_epoch"} if interrupted else set()
    if interrupted and event == "on_train_step_end":
        left_out.add("after_epoch")
    assert [hook for _, hook, _ in log] == [hook for hook in HOOKS if hook not in left_out]


def test_an_evaluation_of_its_own_has_none_of_tensorpacks_hooks() -> None:
    log = Log()
    spy = Pack(log, 0)
    model = make({"accuracy"})
    model.eval(Rows(), [spy])
    assert not log
    model.train(1, Rows(), [spy])
    seen = list(log)
    model.eval(Rows(), [spy])
    assert log == seen


def test_a_failure_in_after_train_is_told_and_the_others_have_theirs(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    log = Log((0, "after_train", 1, Boom))
    train(log, "pp", 1, 1, fit=False)
    assert [line[:2] for line in log[-2:]] == [(0, "after_train"), (1, "after_train")]
    assert "Pack._after_train failed: Boom()" in caplog.text


def test_an_exception_names_the_callback_that_raised_it() -> None:
    log = Log((1, "after_run", 1, Boom))
    with pytest.raises(Boom) as raised:
        train(log, "mp", 1, 1, fit=False)
    assert "It was raised by Pack." in raised.value.__notes__


def test_when_setup_fails_nothing_was_begun() -> None:
    log = Log((1, "setup_graph", 1, Boom))
    with pytest.raises(Boom):
        train(log, "ppm", 1, 1, fit=False)
    assert [line[:2] for line in log.of(0, 1)] == [(0, "setup_graph"), (1, "setup_graph")]


def test_a_failure_of_a_mindspore_callback_ends_tensorpacks_too() -> None:
    log = Log((0, "on_train_step_end", 1, Boom))
    with pytest.raises(Boom):
        train(log, "mp", 1, 1, fit=False)
    assert [hook for _, hook, _ in log.of(1)][-2:] == ["after_run", "after_train"]


def test_the_hooks_through_which_a_callback_is_called_cannot_be_overridden() -> None:
    with pytest.raises(TypeError, match="'_trigger_epoch'"):
        type("Mixed", (Callback,), {"on_train_begin": lambda self, run_context: None})


def test_a_callback_outside_of_a_training_has_no_trainer() -> None:
    with pytest.raises(RuntimeError, match="Pack is in no training"):
        _ = Pack(Log(), 0).epoch_num


def test_events_outside_of_a_training_call_no_hook() -> None:
    log = Log()
    spy, run = Pack(log, 0), RunContext({})
    events = [name for name in dir(spy) if name.startswith("on_") and name != "on_exception"]
    for event in events:
        getattr(spy, event)(run)
    spy.on_exception(run, Boom())
    assert len(events) > 5
    assert log == []


def test_there_is_one_process_and_it_is_the_chief() -> None:
    log = Log()
    spy = Pack(log, 0)
    assert spy.chief_only
    assert spy.set_chief_only(False) is spy
    assert not spy.chief_only
    Model(ConstantLoss()).train(1, Batches(1), [spy, Pack(log, 1)])
    assert {who for who, _, _ in log} == {0, 1}


def test_the_same_callbacks_serve_two_trainings() -> None:
    log = Log()
    spy = Pack(log, 0)
    for _ in range(2):
        Model(ConstantLoss()).train(1, Batches(1), [spy])
    assert [hook for _, hook, _ in log] == list(HOOKS) * 2


def test_slow_triggers_are_named(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "minispore.tensorpack")
    now = [0.0]
    monkeypatch.setattr(adapter, "perf_counter", lambda: now[0])

    class Slow(Callback):
        def _trigger(self) -> None:
            now[0] += 1.5 * self.epoch_num

    class Quick(Callback):
        def _trigger(self) -> None:
            now[0] += 0.1

    Model(ConstantLoss()).train(2, Batches(1), [Quick(), Slow()])
    assert caplog.messages == ["The callbacks took 3.1 s after this epoch: Slow 3.0 s."]
