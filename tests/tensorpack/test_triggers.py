"""Proxies and triggers: callbacks of either API that are called by another callback."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from minispore import tensorpack as tp
from minispore.tensorpack import triggers
from minispore.train import Callback as TrainCallback
from minispore.train import CheckpointConfig, EarlyStopping, Model, ModelCheckpoint, RunContext
from tests.helpers.stub_models import Batches, ConstantLoss, Rows, make
from tests.tensorpack.recording_callbacks import (
    HOOKS,
    EventRecorder,
    Failure,
    HookError,
    HookRecorder,
    Line,
    Log,
    outcome,
    tensorpack,
    train,
)
from tests.tensorpack.small_trainings import Clock, Logs, Passing, train_constant


@given(
    apis=st.sampled_from(["p", "m", "pm", "mp"]),
    fit=st.booleans(),
    failure=st.none()
    | st.tuples(
        st.integers(0, 1),
        # tensorpack logs errors after the training: a proxy does so for MindSpore's callbacks.
        st.sampled_from([*HOOKS, "on_train_step_end", "on_eval_begin"]),
        st.integers(1, 3),
        st.sampled_from([HookError, KeyboardInterrupt]),
    ),
)
@example("m", False, (0, "on_train_step_end", 1, KeyboardInterrupt))
@example("pm", False, (0, "setup_graph", 1, HookError))
def test_proxies_forward_what_the_callbacks_receive(
    apis: str, fit: bool, failure: Failure | None
) -> None:
    direct, forwarded = Log(failure), Log(failure)
    ended = outcome(lambda: train(direct, apis, 2, 2, fit=fit))
    assert outcome(lambda: train(forwarded, apis, 2, 2, fit=fit, wrap=tp.ProxyCallback)) is ended
    for number in range(len(apis)):
        assert direct.of(number) == forwarded.of(number)


def test_proxy_forwards_the_run_context() -> None:
    class Modes(TrainCallback):
        def on_train_begin(self, run_context: RunContext) -> None:
            modes.append(run_context.original_args().mode)

        on_eval_begin = on_eval_step_end = on_train_begin

    modes: list[str] = []
    make({"accuracy"}).fit(1, Rows(), Rows(4), callbacks=[tp.ProxyCallback(Modes())])
    assert modes == ["train", "eval", "eval"]


def test_proxy_has_the_names_of_the_wrapped_callback() -> None:
    minimum = tp.MinSaver("epoch")
    assert [*tp.ProxyCallback(Logs({})).produces()] == ["step", "epoch"]
    assert [*tp.ProxyCallback(minimum).consumes()] == [*minimum.consumes()] == ["epoch"]


def test_proxy_saves_the_wrapped_state() -> None:
    stopping = EarlyStopping("loss")
    stopping.load_state_dict(state := stopping.state_dict() | {"wait": 3})
    wrapped = tp.Every(epochs=2)(stopping)
    restored = tp.Every(epochs=2)(EarlyStopping("loss"))
    restored.load_state_dict(wrapped.state_dict())
    assert restored.state_dict()["callback"] == state
    with pytest.raises(ValueError, match="LossMonitor|EarlyStopping"):
        tp.Every(epochs=2)(EarlyStopping("loss")).load_state_dict(
            {"callback": None, "elapsed": 0.0, "enabled": True}
        )


class Triggered(tp.Callback):
    def __init__(self) -> None:
        self.at: list[tuple[int, int]] = []

    def _trigger(self) -> None:
        self.at.append((self.epoch_num, self.global_step))


few = st.none() | st.integers(1, 5)


Wrap = Callable[[tp.Callback, tp.Every], tp.ProxyCallback]
WAYS: list[Wrap] = [
    lambda cb, every: every(cb),
    lambda cb, every: tp.PeriodicTrigger(cb, every.steps, every.epochs),
    lambda cb, every: tp.PeriodicTrigger(tp.ProxyCallback(cb), every=every),
]


@given(
    wrap=st.sampled_from(WAYS),
    steps=few,
    epochs=few,
    total=st.integers(1, 5),
    size=st.integers(1, 4),
)
def test_every_matches_a_simple_count(
    wrap: Wrap, steps: int | None, epochs: int | None, total: int, size: int
) -> None:
    assume(steps or epochs)
    callback, log = Triggered(), Log()
    every = tp.Every(steps=steps, epochs=epochs)
    Model(ConstantLoss()).train(
        total, Batches(size), [wrap(callback, every), every(EventRecorder(log, 0))]
    )
    due = [(1 + (n - 1) // size, n) for n in range(1, total * size + 1) if steps and n % steps == 0]
    ends = [(e, e * size) for e in range(1, total + 1) if epochs and e % epochs == 0]
    assert callback.at == sorted(due + ends)
    hooks = [hook for _, hook, _ in log]
    of_epochs = {1 + (n - 1) // size for _, n in ends}
    expected = {n for _, n in due}
    expected |= {n for n in range(1, total * size + 1) if 1 + (n - 1) // size in of_epochs}
    assert hooks.count("on_train_step_end") == hooks.count("on_train_step_begin") == len(expected)
    assert hooks.count("on_train_epoch_end") == (len(ends) if epochs else total)
    assert hooks.count("on_train_epoch_begin") == hooks.count("on_train_epoch_end")


def test_periodic_trigger_can_fire_before_training() -> None:
    callback = Triggered()
    train_constant(tp.PeriodicTrigger(callback, before_train=True))
    assert callback.at == [(0, 0)]


@given(
    seconds=st.integers(1, 9),
    durations=st.lists(st.integers(0, 9), min_size=1, max_size=12),
    saved_at=st.sets(st.integers(0, 11)),
)
@example(seconds=2, durations=[1] * 7, saved_at=set())
@example(seconds=3, durations=[1] * 7, saved_at={0, 1, 2, 3, 4, 5, 6})
def test_every_counts_seconds_from_the_last_due_step(
    seconds: int, durations: list[int], saved_at: set[int]
) -> None:
    """Saving the state and loading it later, at some steps, changes nothing."""
    clock, elapsed, expected = Clock(), 0, list[int]()
    for step, duration in enumerate(durations, 1):
        elapsed += duration
        if elapsed >= seconds:
            expected.append(step)
            elapsed = 0
    every, callback, log = tp.Every(seconds=seconds), Triggered(), Log()
    wrapped = [every(callback), every(HookRecorder(log, 0))]

    class SavesAndLoads(tp.Callback):
        def _after_run(self, run_context: object, run_values: object) -> None:
            if self.global_step in saved_at:
                saved = [member.state_dict() for member in wrapped]
                clock.now += 100
                for member, state in zip(wrapped, saved, strict=True):
                    member.load_state_dict(state)

    with clock.replaces_perf_counter(triggers):
        Model(ConstantLoss()).train(
            1, Batches(len(durations)), [Passing(clock, durations), SavesAndLoads(), *wrapped]
        )
    assert [step for _, step in callback.at] == expected
    assert [at[1] for _, hook, at in log if hook == "trigger_step"] == expected


@pytest.mark.parametrize("fit", [False, True])
def test_mindspore_callbacks_receive_the_due_epochs(fit: bool) -> None:
    log, uninterrupted = Log(), Log()
    model = make({"accuracy"})
    for callback in (tp.Every(epochs=2)(EventRecorder(log, 0)), EventRecorder(uninterrupted, 0)):
        if fit:
            model.fit(2, Rows(), Rows(), callbacks=[callback])
        else:
            model.train(2, Rows(), [callback])
    hooks = [hook for _, hook, _ in uninterrupted]
    second = hooks.index("on_train_epoch_begin", hooks.index("on_train_epoch_end"))
    assert [hook for _, hook, _ in log] == [hooks[0], *hooks[second:]]


times = st.sets(st.tuples(st.integers(0, 3), st.integers(0, 6)))


@given(chosen=times, api=st.sampled_from("pm"), fit=st.booleans())
def test_enable_callback_if_evaluates_at_each_hook(
    chosen: set[tuple[int, int]], api: str, fit: bool
) -> None:
    """The result before a run is used after it, where tensorpack's step is one higher."""
    always, log, model = Log(), Log(), Log()

    def enable(callback: TrainCallback) -> TrainCallback:
        return tp.EnableCallbackIf(callback, lambda cb: (cb.epoch_num, cb.global_step) in chosen)

    train(always, api, 2, 3, fit=fit)
    train(log, api, 2, 3, fit=fit, wrap=enable)
    tensorpack(model, [0], 2, 3)
    enabled, states = True, dict[str, list[bool]]()
    for _, hook, (epoch, step, _) in model:
        if hook in {"setup_graph", "before_train", "after_train"}:
            enabled = True
        elif hook != "after_run":
            enabled = (epoch, step) in chosen
        states.setdefault(hook if api == "p" else triggers._EVENTS.get(hook, hook), []).append(
            enabled
        )
    expected = list[Line]()
    for line in always:
        if line[1] in states:
            enabled = states[line[1]].pop(0)
        if enabled or line[1] == "exit":
            expected.append(line)
    assert log == expected


@given(steps=few, epochs=few, total=st.integers(1, 4), size=st.integers(1, 4))
@example(steps=None, epochs=3, total=4, size=2)
@example(steps=5, epochs=None, total=2, size=3)
def test_periodic_callback_calls_the_due_hooks_and_with_epochs_the_last_ones(
    steps: int | None, epochs: int | None, total: int, size: int
) -> None:
    assume(steps or epochs)
    log = Log()
    train_constant(
        tp.PeriodicCallback(HookRecorder(log, 0), steps, epochs), epochs=total, steps=size
    )

    def is_due(done: int, epoch: int, *, last: bool) -> bool:
        by_steps = steps is not None and done % steps == 0
        return by_steps or (epochs is not None and (epoch % epochs == 0 or last))

    ends = range(size, total * size + 1, size)
    due_ends = [n for n in ends if is_due(n, n // size, last=n == total * size)]
    due_steps = [
        n for n in range(total * size) if is_due(n, n // size + 1, last=n == total * size - 1)
    ]
    triggered = [
        n
        for n in range(1, total * size + 1)
        if is_due(n, (n - 1) // size + 1, last=n == total * size)
    ]
    for hook, expected in (
        ("before_run", due_steps),
        ("after_run", [n + 1 for n in due_steps]),
        ("trigger_step", triggered),
        ("trigger_epoch", due_ends),
    ):
        assert [at[1] for _, name, at in log if name == hook] == expected


def test_callback_factory_calls_its_functions() -> None:
    calls: list[object] = []
    callback = tp.CallbackFactory(
        setup_graph=lambda cb: calls.append("setup"),
        before_train=lambda cb: calls.append("before"),
        trigger=lambda cb: calls.append(cb.epoch_num),
        after_train=lambda cb: calls.append("after"),
    )
    train_constant(callback, epochs=2)
    assert calls == ["setup", "before", 1, 2, "after"]


def test_every_wraps_monitors(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "minispore.tensorpack")
    train_constant(tp.Every(epochs=3)(tp.ScalarPrinter()), epochs=4)
    assert caplog.messages == ["loss: 0.5"]


@pytest.mark.parametrize(
    "wrap", [tp.Every(epochs=2), lambda cb: tp.ProxyCallback(tp.Every(epochs=2)(cb))]
)
def test_wrapped_model_checkpoint_can_be_resumed(
    wrap: Callable[[TrainCallback], TrainCallback], tmp_path: Path
) -> None:
    config = CheckpointConfig(save_checkpoint_steps=2, append_info=["training_state"])

    def train(resume: Path | None = None) -> list[object]:
        model = make()
        callback = wrap(ModelCheckpoint("net", str(tmp_path), config))
        model.train(4, Rows(), [callback], resume=resume)
        return [param.asnumpy().tolist() for param in model.train_network.trainable_params()]

    uninterrupted = train()
    assert sorted(path.name for path in tmp_path.glob("*.ckpt")) == [
        "net-2_1.ckpt",
        "net-2_3.ckpt",
        "net-4_1.ckpt",
        "net-4_3.ckpt",
    ]
    assert train(tmp_path / "net-2_1.ckpt") == uninterrupted
