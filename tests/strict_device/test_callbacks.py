"""`Model` and the callbacks on a device: the same results and files, and few transfers."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minispore import Tensor, set_context, train
from minispore.engine.array import DeviceTarget
from minispore.tensorpack import DEFAULT_CALLBACKS, MovingAverageSummary, ScalarHistory
from tests.strict_device.runs import BATCHES, run
from tests.strict_device.strict_backend import TransferCounter

# What a file of a run holds of the device: the network's parameters and Adam's moments. In a
# training state the loss is tried out and then written.
PARAMETERS, LOSS = 12, 2
# Before a file is replaced, whether all weights are finite.
FINITE = 1
Make = Callable[[str], train.Callback]

# Each with how often the host waits in one epoch without an evaluation.
CALLBACKS: dict[str, tuple[Make, int]] = {
    "LossMonitor": (lambda folder: train.LossMonitor(), BATCHES),
    "LossMonitor, sometimes": (lambda folder: train.LossMonitor(5), 2),
    "LossMonitor, never": (lambda folder: train.LossMonitor(0), 1),
    "TimeMonitor": (lambda folder: train.TimeMonitor(data_time=True), 0),
    "History": (lambda folder: train.History(), 1),
    "EarlyStopping": (lambda folder: train.EarlyStopping("loss"), 1),
    "ReduceLROnPlateau": (lambda folder: train.ReduceLROnPlateau("loss", patience=1), 1),
    "LearningRateScheduler": (lambda folder: train.LearningRateScheduler(lambda r, s: r * 0.9), 0),
    "LambdaCallback": (lambda folder: train.LambdaCallback(), 0),
    # The last boundary's training state, with the loss.
    "OnRequestExit": (lambda folder: train.OnRequestExit(directory=folder), LOSS),
    "FlopsUtilizationCollector": (
        lambda folder: train.FlopsUtilizationCollector(BATCHES, computility=100, full_flops=False),
        0,
    ),
    "ModelCheckpoint": (
        lambda folder: train.ModelCheckpoint(
            "net", folder, train.CheckpointConfig(save_checkpoint_steps=5, keep_checkpoint_max=3)
        ),
        2 * (PARAMETERS + FINITE),
    ),
    "BestCheckpoint": (
        lambda folder: train.BestCheckpoint("loss", directory=folder),
        1 + PARAMETERS + FINITE,
    ),
    "BackupAndRestore": (
        lambda folder: train.BackupAndRestore(folder),
        PARAMETERS + FINITE + 3 + 2 * LOSS,
    ),
    "SummaryCollector": (lambda folder: train.SummaryCollector(folder, collect_freq=BATCHES), 20),
}


def without_times(lines: str) -> str:
    return re.sub(r"\d+\.\d+( ms|%)", "", lines)


@pytest.mark.parametrize(("make", "waits"), CALLBACKS.values(), ids=CALLBACKS)
def test_callback_gives_the_same_results_and_transfers(
    gpu: TransferCounter,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    make: Make,
    waits: int,
) -> None:
    folder = tmp_path / "run"

    def lines() -> str:
        return without_times(capsys.readouterr().out)

    def callbacks() -> list[train.Callback]:
        return [make(str(folder))]

    here, there = (run(target, folder, callbacks, lines) for target in ("CPU", "GPU"))
    assert there.lines == here.lines
    assert there.parameters == here.parameters
    assert set(there.files) == set(here.files)
    for name, content in here.files.items():
        if name.endswith(".ckpt"):
            assert there.files[name] == content
    alone = run("GPU", folder, callbacks, lines, epochs=1, validate=False)
    assert alone.steps == [(0, 0)] * BATCHES
    assert alone.counts[1] <= waits
    # Two columns of each batch; and what a callback reads back from its own files.
    assert alone.counts[0] == 2 * BATCHES


def watched(monitor: train.LossMonitor, *losses: float, batches: int = 5) -> None:
    """Call the monitor with these losses, in epochs of `batches` steps."""
    args: dict[str, object] = {"batch_num": batches, "cur_epoch_num": 1}
    with monitor:
        for step, loss in enumerate(map(Tensor, losses), 1):
            args |= {"cur_step_num": step, "net_outputs": loss}
            monitor.on_train_step_end(train.RunContext(args))
            if step % batches == 0:
                monitor.on_train_epoch_end(train.RunContext(args))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_non_finite_loss_error_names_its_step(gpu: TransferCounter, bad: float) -> None:
    monitor = train.LossMonitor(4)
    with pytest.raises(ValueError, match="In epoch: 1 step: 2, loss is NAN or INF"):
        watched(monitor, 0.5, bad, 0.5, 0.5)
    with pytest.raises(ValueError, match="In epoch: 1 step: 5, loss is NAN or INF"):
        watched(monitor, 0.5, 0.5, 0.5, 0.5, bad)


def test_non_finite_loss_is_detected_before_saving(gpu: TransferCounter) -> None:
    monitor = train.LossMonitor(0)
    args: dict[str, object] = {"batch_num": 5, "cur_epoch_num": 1, "cur_step_num": 1}
    args["net_outputs"] = Tensor(np.nan)
    with monitor:
        monitor.on_train_step_end(train.RunContext(args))
        with pytest.raises(ValueError, match="step: 1, loss is NAN"):
            monitor.state_dict()
    # A run that has failed leaves nothing to the next one.
    assert monitor.state_dict() == {"last_print_time": 0}


def test_pending_losses_are_checked_in_time(gpu: TransferCounter) -> None:
    losses = [Tensor(0.5)] * 2500
    gpu.clear()
    args: dict[str, object] = {"batch_num": 10_000, "cur_epoch_num": 1}
    monitor = train.LossMonitor(0)
    for step, loss in enumerate(losses, 1):
        monitor.on_train_step_end(
            train.RunContext(args | {"cur_step_num": step, "net_outputs": loss})
        )
    assert gpu.counts() == (0, 2)


def test_first_of_several_outputs_is_printed(
    gpu: TransferCounter, capsys: pytest.CaptureFixture[str]
) -> None:
    printed: list[str] = []
    for target in ("CPU", "GPU"):
        set_context(device_target=target)
        for outputs in ((Tensor([0.1, 0.2]), Tensor(1.0)), Tensor([0.1, 0.2]), [0.25], 0.5):
            args: dict[str, object] = {"batch_num": 5, "cur_step_num": 1}
            args["net_outputs"] = outputs
            train.LossMonitor().on_train_step_end(train.RunContext(args))
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


def test_tensorpack_callbacks_give_the_same_results(
    gpu: TransferCounter, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"

    def lines() -> str:
        return str(bool(capsys.readouterr().out))

    here, there = (run(t, folder, DEFAULT_CALLBACKS, lines) for t in ("CPU", "GPU"))
    assert there == here
    # The average of the loss is needed at the end of an epoch.
    assert there.steps == 2 * [*[(0, 0)] * (BATCHES - 1), (0, 1)]


def test_means_over_many_steps_equal_the_hosts(
    gpu: TransferCounter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minispore.train.protocol.outputs._MAX_PENDING", 3)
    targets: tuple[DeviceTarget, ...] = ("CPU", "GPU")
    found: list[list[tuple[int, float]]] = []
    for target in targets:
        history = ScalarHistory()
        callbacks = [MovingAverageSummary(), history]
        run(target, tmp_path / target, lambda made=callbacks: made, str, validate=False)  # type: ignore[misc]
        found.append(history.get_history("loss/EMA"))
    assert found[0] == found[1]
    assert len(found[0]) == 2
