"""The order of hooks: each API sees its own order when both are used in one list."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore.tensorpack import Callback, ScalarHistory, StopTraining, adapter, logger
from minispore.train import Callback as TrainCallback
from minispore.train import Model, RunContext
from tests.helpers.stub_models import Batches, ConstantLoss, Rows, make
from tests.tensorpack.recording_callbacks import (
    HOOKS,
    Failure,
    HookError,
    HookRecorder,
    Line,
    Log,
    failures,
    outcome,
    stops_at,
    tensorpack,
    train,
)
from tests.tensorpack.small_trainings import Clock

KINDS = (HookError, StopTraining, KeyboardInterrupt)
few = st.integers(1, 3)


def counted(lines: list[Line], failure: Failure | None) -> list[Line]:
    """Return the lines, without the final counters if StopTraining could not prevent the step."""
    if failure is None or failure[3] is not StopTraining or not failure[1].startswith("before_"):
        return lines
    return [
        (callback, hook, (0, 0, 0) if hook == "after_train" else at) for callback, hook, at in lines
    ]


@pytest.mark.parametrize("failure", [None, *failures(1)], ids=str)
@pytest.mark.parametrize("fit", [False, True], ids=["train", "fit"])
def test_hooks_are_called_in_tensorpacks_order(failure: Failure | None, fit: bool) -> None:
    ours, theirs = Log(failure), Log(failure)
    ended = outcome(lambda: train(ours, "ppp", 2, 2, fit=fit))
    assert ended is outcome(lambda: tensorpack(theirs, [0, 1, 2], 2, 2))
    assert counted(ours, failure) == counted(theirs, failure)


@given(
    apis=st.text("pm", min_size=1, max_size=5),
    epochs=st.integers(1, 2),
    steps=st.integers(1, 3),
    fit=st.booleans(),
    initial=st.integers(0, 2),
    failure=st.none()
    | st.tuples(
        st.integers(0, 4), st.sampled_from(HOOKS), st.integers(1, 3), st.sampled_from(KINDS)
    ),
)
def test_interleaving_preserves_the_order_of_tensorpack(
    apis: str, epochs: int, steps: int, fit: bool, initial: int, failure: Failure | None
) -> None:
    tensorpack_callbacks = [i for i, api in enumerate(apis) if api == "p"]
    mixed, single = Log(failure), Log(failure)
    ended = outcome(lambda: train(mixed, apis, epochs, steps, fit=fit, initial=initial))
    assert ended is outcome(
        lambda: tensorpack(single, tensorpack_callbacks, epochs, steps, initial)
    )
    assert counted(mixed.of(*tensorpack_callbacks), failure) == counted(single, failure)


@given(apis=st.text("pm", max_size=4), epochs=few, steps=few, fit=st.booleans())
def test_events_call_one_hook_on_all_callbacks_and_then_one_on_each_in_list_order(
    apis: str, epochs: int, steps: int, fit: bool
) -> None:
    """With an evaluation, `after_epoch` comes before it, and `trigger_epoch` after it."""
    log, expected = Log(), list[tuple[int, str]]()
    train(log, apis, epochs, steps, fit=fit)

    def event(name: str, first: str = "", hook: str = "") -> None:
        hooks = {"m": name, "p": hook}
        expected.extend((i, first) for i, api in enumerate(apis) if first and api == "p")
        expected.extend((i, hooks[api]) for i, api in enumerate(apis) if hooks[api])

    event("on_train_begin", "setup_graph", "before_train")
    for _ in range(epochs):
        event("on_train_epoch_begin", hook="before_epoch")
        for _ in range(steps):
            event("on_train_step_begin", hook="before_run")
            event("on_train_step_end", "after_run", "trigger_step")
        if fit:
            event("on_eval_begin", "after_epoch")
            event("on_eval_end")
        event("on_train_epoch_end", "" if fit else "after_epoch", "trigger_epoch")
    event("on_train_end", hook="after_train")
    assert [line[:2] for line in log if line[1] != "exit"] == expected


@given(
    events=st.sampled_from(
        [
            ("before_epoch", "on_train_epoch_begin"),
            ("before_run", "on_train_step_begin"),
            ("trigger_step", "on_train_step_end"),
            ("trigger_epoch", "on_train_epoch_end"),
        ]
    ),
    occurrence=few,
    epochs=few,
    steps=few,
    fit=st.booleans(),
)
def test_stop_training_requests_a_stop(
    events: tuple[str, str], occurrence: int, epochs: int, steps: int, fit: bool
) -> None:
    hook, event = events
    raised, requested = Log((1, hook, occurrence, StopTraining)), Log()
    train(raised, "mpm", epochs, steps, fit=fit)
    train(requested, "mpm", epochs, steps, stops_at(event, occurrence), fit=fit)
    assert raised.of(0, 2) == requested.of(0, 2)


@pytest.mark.parametrize("for_good", [False, True])
@pytest.mark.parametrize("event", ["on_train_step_end", "on_eval_step_end", "on_train_epoch_end"])
def test_interrupted_epochs_trigger_nothing(event: str, for_good: bool) -> None:
    log = Log()
    train(log, "p", 3, 1, stops_at(event, finished=for_good), fit=True)
    interrupted = event != "on_train_epoch_end" and not for_good
    left_out: set[str] = {"trigger_epoch"} if interrupted else set()
    if interrupted and event == "on_train_step_end":
        left_out.add("after_epoch")
    assert [hook for _, hook, _ in log] == [hook for hook in HOOKS if hook not in left_out]


def test_model_eval_calls_no_tensorpack_hooks() -> None:
    log = Log()
    spy = HookRecorder(log, 0)
    model = make({"accuracy"})
    model.eval(Rows(), [spy])
    assert not log
    model.train(1, Rows(), [spy])
    before = list(log)
    model.eval(Rows(), [spy])
    assert log == before


def test_after_train_failures_are_logged_and_others_called(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    log = Log((0, "after_train", 1, HookError))
    train(log, "pp", 1, 1, fit=False)
    assert [line[:2] for line in log[-2:]] == [(0, "after_train"), (1, "after_train")]
    (record,) = caplog.records
    assert record.message == "HookRecorder._after_train failed: HookError()"
    assert record.exc_info
    assert record.exc_info[0] is HookError


@pytest.mark.parametrize("hook", HOOKS[1:-1])
def test_the_callback_that_raises_an_exception_or_stops_is_named(
    hook: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(HookError) as raised:
        train(Log((1, hook, 1, HookError)), "mp", 1, 1, fit=False)
    assert raised.value.__notes__[0] == "It was raised by HookRecorder."
    caplog.set_level("INFO", "minispore.tensorpack")
    train(Log((1, hook, 1, StopTraining)), "mp", 1, 1, fit=False)
    assert caplog.messages == ["Training was stopped by HookRecorder."]


EVENTS = ("on_train_begin", "on_train_epoch_begin", "on_train_step_end", "on_train_epoch_end")


@given(apis=st.text("pm", max_size=3), event=st.sampled_from(EVENTS), kind=st.sampled_from(KINDS))
def test_after_a_mindspore_callback_has_failed_only_after_train_is_called(
    apis: str, event: str, kind: type[BaseException]
) -> None:
    log = Log((len(apis), event, 1, kind))
    assert outcome(lambda: train(log, apis + "m", 1, 1, fit=False)) is kind
    later = log[log.index((len(apis), event, (0, 0, 0))) :]
    expected = [(i, "after_train") for i, api in enumerate(apis) if api == "p"]
    assert [line[:2] for line in later if apis[line[0] : line[0] + 1] == "p"] == expected


def test_events_outside_of_a_training_call_no_hook() -> None:
    log = Log()
    spy, run = HookRecorder(log, 0), RunContext({})
    events = [name for name in dir(spy) if name.startswith("on_") and name != "on_exception"]
    for event in events:
        getattr(spy, event)(run)
    spy.on_exception(run, HookError())
    assert len(events) > 5
    assert log == []


def test_a_single_process_is_the_chief() -> None:
    log = Log()
    spy = HookRecorder(log, 0)
    assert spy.chief_only
    assert spy.set_chief_only(False) is spy
    assert not spy.chief_only

    class Everywhere(Callback):
        _chief_only = False

    assert not Everywhere().chief_only
    Model(ConstantLoss()).train(1, Batches(1), [spy, HookRecorder(log, 1)])
    assert {callback for callback, _, _ in log} == {0, 1}


def test_callbacks_can_be_used_in_two_trainings() -> None:
    log = Log()
    spy = HookRecorder(log, 0)
    for _ in range(2):
        Model(ConstantLoss()).train(1, Batches(1), [spy])
    assert [hook for _, hook, _ in log] == list(HOOKS) * 2


quarters = st.integers(0, 12).map(lambda n: n / 4)


@given(st.lists(st.tuples(quarters, quarters, quarters), min_size=1, max_size=3))
@example([(1.5, 0.25, 0.0), (3.0, 0.0, 0.0)])
@example([(0.75, 0.75, 0.5)])
@example([(2.0, 0.0, 0.0), (1.75, 0.0, 0.0)])
def test_slow_callbacks_are_logged(times: list[tuple[float, ...]]) -> None:
    """In epochs whose callbacks took two seconds, those are listed that took a good part of it."""
    clock, messages = Clock(), list[str]()

    class Slow(Callback):
        def __init__(self, number: int) -> None:
            self.number = number

        def _trigger(self) -> None:
            clock.now += times[self.epoch_num - 1][self.number]

    class StopsInTheNextEpoch(Callback):
        def _before_run(self, run_context: RunContext) -> None:
            if self.epoch_num > len(times):
                raise StopTraining

    kinds = [type(f"Slow{i}", (Slow,), {}) for i in range(3)]
    with clock.replaces_perf_counter(adapter), pytest.MonkeyPatch.context() as patch:
        patch.setattr(logger, "info", messages.append)
        callbacks: list[TrainCallback] = [kind(i) for i, kind in enumerate(kinds)]
        callbacks.append(StopsInTheNextEpoch())
        Model(ConstantLoss()).train(len(times) + 1, Batches(1), callbacks)
    expected: list[str] = []
    for seconds in times:
        slow = [
            f"Slow{i} {s:.1f} s" for i, s in enumerate(seconds) if s > max(1, 0.3 * sum(seconds))
        ]
        if sum(seconds) >= 2 and slow:
            expected.append(
                f"The callbacks took {sum(seconds):.1f} s after this epoch: {', '.join(slow)}."
            )
    assert [message for message in messages if "stopped" not in message] == expected


@given(st.integers(0, 3), st.integers(1, 3), st.integers(1, 3))
def test_trainer_counts_the_epochs_of_all_runs(initial: int, epochs: int, steps: int) -> None:
    numbers: list[tuple[int, int, int, bool]] = []

    class Counts(Callback):
        def _trigger_step(self) -> None:
            trainer = self.trainer
            assert (trainer.starting_epoch, trainer.max_epoch) == (initial + 1, initial + epochs)
            assert trainer.steps_per_epoch == steps
            numbers.append(
                (self.epoch_num, self.global_step, self.local_step, trainer.is_last_step)
            )

    model = Model(ConstantLoss())
    model.train(initial + epochs, Batches(steps), [Counts()], initial_epoch=initial)
    assert numbers == [
        (epoch, (epoch - 1) * steps + step, step - 1, step == steps)
        for epoch in range(initial + 1, initial + epochs + 1)
        for step in range(1, steps + 1)
    ]


@pytest.mark.parametrize("hook", ["_after_run", "_trigger_step", "_after_epoch"])
def test_nothing_is_logged_after_stop_training(hook: str) -> None:
    def stop(*arguments: object) -> None:
        raise StopTraining

    history = ScalarHistory()
    callback = type("Stops", (Callback,), {hook: stop})()
    make({"accuracy"}).fit(1, Rows(), Rows(), callbacks=[callback, history])
    assert set(history.names()) <= {"loss", "learning_rate"}
