"""When callbacks of either school are called."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from minispore.tensorpack import (
    Callback,
    CallbackFactory,
    EnableCallbackIf,
    Every,
    PeriodicCallback,
    PeriodicTrigger,
    ProxyCallback,
    ScalarPrinter,
    states,
)
from minispore.train import Callback as TrainCallback
from minispore.train import CheckpointConfig, EarlyStopping, LossMonitor, Model, ModelCheckpoint

from ..train.standins import Batches, ConstantLoss, Rows, make
from .spies import Log, Pack, Spore


class Triggered(Callback):
    def __init__(self) -> None:
        self.at: list[tuple[int, int]] = []

    def _trigger(self) -> None:
        self.at.append((self.epoch_num, self.global_step))


def run(callback: TrainCallback, epochs: int = 4, steps: int = 3) -> None:
    Model(ConstantLoss()).train(epochs, Batches(steps), [callback])


@pytest.mark.parametrize(
    "wrap",
    [
        lambda cb: PeriodicTrigger(cb, every_k_steps=5, every_k_epochs=3),
        lambda cb: Every(steps=5, epochs=3)(cb),
        lambda cb: PeriodicTrigger(ProxyCallback(cb), every=Every(steps=5, epochs=3)),
    ],
)
def test_periodic_trigger(wrap: Callable[[Callback], ProxyCallback]) -> None:
    callback = Triggered()
    run(wrap(callback))
    assert callback.at == [(2, 5), (3, 9), (4, 10)]


few = st.none() | st.integers(1, 5)


@given(steps=few, epochs=few, total=st.integers(1, 5), each=st.integers(1, 4))
def test_every_as_one_would_count(
    steps: int | None, epochs: int | None, total: int, each: int
) -> None:
    assume(steps or epochs)
    callback, log = Triggered(), Log()
    every = Every(steps=steps, epochs=epochs)
    Model(ConstantLoss()).train(total, Batches(each), [every(callback), every(Spore(log, 0))])
    due = [(1 + (n - 1) // each, n) for n in range(1, total * each + 1) if steps and n % steps == 0]
    ends = [(e, e * each) for e in range(1, total + 1) if epochs and e % epochs == 0]
    assert callback.at == sorted(due + ends)
    hooks = [hook for _, hook, _ in log]
    of_epochs = {1 + (n - 1) // each for _, n in ends}
    wanted = {n for _, n in due}
    wanted |= {n for n in range(1, total * each + 1) if 1 + (n - 1) // each in of_epochs}
    assert hooks.count("on_train_step_end") == hooks.count("on_train_step_begin") == len(wanted)
    assert hooks.count("on_train_epoch_end") == (len(ends) if epochs else total)
    assert hooks.count("on_train_epoch_begin") == hooks.count("on_train_epoch_end")


def test_periodic_trigger_before_train() -> None:
    callback = Triggered()
    run(PeriodicTrigger(callback, before_train=True))
    assert callback.at == [(0, 0)]


def test_periodic_trigger_refuses_what_it_would_never_call() -> None:
    with pytest.raises(TypeError, match="'_trigger' of its own.*Pack"):
        PeriodicTrigger(Pack(Log(), 0), every_k_steps=2)


@pytest.mark.parametrize(
    "arguments", [{}, {"steps": 0}, {"epochs": -1}, {"seconds": -0.5}, {"seconds": 0}]
)
def test_every_refuses(arguments: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="Every"):
        Every(**arguments)


def test_every_counts_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr(states, "perf_counter", lambda: next(clock))
    callback = Triggered()
    run(Every(seconds=2.5)(callback), epochs=1, steps=20)
    steps = [step for _, step in callback.at]
    assert 4 < len(steps) < 20
    assert len({b - a for a, b in pairwise(steps)}) == 1


def test_every_with_a_callback_of_mindspores(capsys: pytest.CaptureFixture[str]) -> None:
    run(Every(steps=5)(LossMonitor(1)))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines if line] == [
        "epoch: 2 step: 2",
        "epoch: 4 step: 1",
    ]


@pytest.mark.parametrize("fit", [False, True])
def test_a_callback_of_mindspores_sees_the_epochs_that_are_due(fit: bool) -> None:
    log, whole = Log(), Log()
    model = make({"accuracy"})
    for callback in (Every(epochs=2)(Spore(log, 0)), Spore(whole, 0)):
        if fit:
            model.fit(2, Rows(), Rows(), callbacks=[callback])
        else:
            model.train(2, Rows(), [callback])
    hooks = [hook for _, hook, _ in whole]
    second = hooks.index("on_train_epoch_begin", hooks.index("on_train_epoch_end"))
    assert [hook for _, hook, _ in log] == [hooks[0], *hooks[second:]]


def test_a_plain_proxy_passes_the_evaluations_on() -> None:
    log, alone = Log(), Log()
    model = make({"accuracy"})
    model.fit(2, Rows(), Rows(), callbacks=[ProxyCallback(Spore(log, 0)), Spore(alone, 0)])
    for event in ("on_eval_begin", "on_eval_end"):
        counts = [[hook for _, hook, _ in each].count(event) for each in (log, alone)]
        assert counts == [2, 2]


def test_a_proxy_stands_for_a_callback() -> None:
    with pytest.raises(TypeError, match="'cb' must be Callback, but got"):
        ProxyCallback(print)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_failure_reaches_a_wrapped_callback() -> None:
    log = Log((0, "on_train_step_end", 1, KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        run(Every(steps=2)(Spore(log, 0)))
    assert [hook for _, hook, _ in log][-2:] == ["on_exception", "exit"]


def test_a_wrapped_callback_hears_of_a_failure_before_the_first_hook() -> None:
    log = Log((1, "setup_graph", 1, KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        Model(ConstantLoss()).train(1, Batches(1), [Pack(log, 1), Every(steps=2)(Spore(log, 0))])
    assert [hook for _, hook, _ in log.of(0)] == ["on_exception", "exit"]


def test_enable_callback_if_asks_before_the_step() -> None:
    log = Log()
    run(EnableCallbackIf(Pack(log, 0), lambda cb: cb.global_step == 1), epochs=1)
    assert [(hook, at[1]) for _, hook, at in log] == [
        ("setup_graph", 0),
        ("before_train", 0),
        ("before_run", 1),
        ("after_run", 2),
        ("trigger_step", 2),
        ("after_train", 3),
    ]


def test_periodic_callback_as_tensorpack_has_it() -> None:
    log = Log()
    run(PeriodicCallback(Pack(log, 0), every_k_epochs=3), epochs=4, steps=2)
    at = {(hook, *counters[:2]) for _, hook, counters in log}
    assert ("trigger_epoch", 3, 6) in at
    assert ("trigger_epoch", 4, 8) in at  # the very last step
    assert ("before_run", 4, 7) in at
    assert ("before_run", 4, 6) not in at


def test_callback_factory() -> None:
    said: list[object] = []
    callback = CallbackFactory(
        setup_graph=lambda cb: said.append("setup"),
        before_train=lambda cb: said.append("before"),
        trigger=lambda cb: said.append(cb.epoch_num),
        after_train=lambda cb: said.append("after"),
    )
    run(callback, epochs=2)
    assert said == ["setup", "before", 1, 2, "after"]


def test_the_state_of_a_wrapped_callback_is_kept() -> None:
    stopping = EarlyStopping("loss")
    stopping.load_state_dict(state := stopping.state_dict() | {"wait": 3})
    wrapped = Every(epochs=2)(stopping)
    again = Every(epochs=2)(EarlyStopping("loss"))
    again.load_state_dict(wrapped.state_dict())
    assert again.state_dict()["callback"] == state
    with pytest.raises(ValueError, match="LossMonitor|EarlyStopping"):
        Every(epochs=2)(EarlyStopping("loss")).load_state_dict(
            {"callback": None, "elapsed": 0.0, "enabled": True}
        )


def test_every_with_a_monitor(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "minispore.tensorpack")
    run(Every(epochs=3)(ScalarPrinter()))
    assert caplog.messages == ["loss: 0.5"]


@pytest.mark.parametrize("wrap", [Every(epochs=2), lambda cb: ProxyCallback(Every(epochs=2)(cb))])
def test_a_checkpoint_that_is_saved_now_and_then_can_be_resumed_from(
    wrap: Callable[[TrainCallback], TrainCallback], tmp_path: Path
) -> None:
    config = CheckpointConfig(save_checkpoint_steps=2, append_info=["training_state"])

    def train(resume: Path | None = None) -> list[object]:
        model = make()
        callback = wrap(ModelCheckpoint("net", str(tmp_path), config))
        model.train(4, Rows(), [callback], resume=resume)
        return [each.asnumpy().tolist() for each in model.train_network.trainable_params()]

    whole = train()
    assert sorted(path.name for path in tmp_path.glob("*.ckpt")) == [
        "net-2_1.ckpt",
        "net-2_3.ckpt",
        "net-4_1.ckpt",
        "net-4_3.ckpt",
    ]
    assert train(tmp_path / "net-2_1.ckpt") == whole
