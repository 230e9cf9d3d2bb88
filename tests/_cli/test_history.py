"""The table of `minispore train`: runs that are stopped by Ctrl-C and resumed."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minispore
from minispore._cli import main
from minispore._cli.history import EVERY, History, Row, read_table
from minispore.train import (
    Callback,
    CheckpointConfig,
    Model,
    ModelCheckpoint,
    ProgressBar,
    RunContext,
)
from minispore.train.metrics import Loss
from tests.helpers.stub_models import Batches, ConstantLoss, Outputs


class Stop(Callback):
    def __init__(self, last: int) -> None:
        self.last = last

    def on_train_step_end(self, run_context: RunContext) -> None:
        if run_context.original_args().cur_step_num == self.last:
            run_context.request_stop()


@given(st.integers(1, 2 * EVERY))
@example(EVERY - 1)
@example(EVERY)
@example(EVERY + 1)
@example(2 * EVERY)
def test_stopped_run_has_each_step_in_one_row(stop: int) -> None:
    with TemporaryDirectory() as folder:
        table = Path(folder, "metrics.csv")
        Model(ConstantLoss()).train(1, Batches(2 * EVERY), [Stop(stop), History(table)])
        rows = [row.step for row in read_table(table)]
    assert rows == sorted({stop, *(step for step in (EVERY,) if step <= stop)})


def lines_until_interrupted(process: subprocess.Popen[str]) -> Iterator[str]:
    """Yield the lines of a process, and send it SIGINT after the first one."""
    assert process.stdout is not None
    for number, line in enumerate(process.stdout):
        if number == 0:
            process.send_signal(signal.SIGINT)
        yield line


@pytest.mark.full
@pytest.mark.skipif(os.name == "nt", reason="SIGINT cannot be sent to one process on Windows")
def test_ctrl_c_saves_a_checkpoint(digits: Path, tmp_path: Path) -> None:
    again = ["train", "--data", str(digits), "--out", str(tmp_path)]
    arguments = [sys.executable, "-m", "minispore", *again, "--epochs", "100000"]
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    ) as process:
        # If the interrupt does not work, the run must end nevertheless.
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        lines = list(lines_until_interrupted(process))
        watchdog.cancel()
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
    assert process.returncode == 130
    assert lines[0].startswith("epoch 1/100000: ")
    step = read_table(tmp_path / "metrics.csv")[-1].step
    assert lines[-1].startswith(f"Stopped by Ctrl-C after step {step}; in {tmp_path}: mnist-")
    epoch, in_epoch = (step - 1) // 32 + 1, (step - 1) % 32 + 1
    assert f"mnist-{epoch}_{in_epoch}.ckpt" in lines[-1]
    saved = minispore.load_checkpoint(str(tmp_path / f"mnist-{epoch}_{in_epoch}.ckpt"))
    weight = saved["dense_relu_sequential.0.weight"]
    assert isinstance(weight, minispore.Parameter)
    assert weight.shape == (512, 784)

    # The resumed run equals an uninterrupted one.
    epochs = ("--epochs", str(epoch + 1))
    assert main([*again, *epochs, "--resume"]) == 0
    straight = tmp_path / "straight"
    assert main(["train", "--data", str(digits), "--out", str(straight), *epochs]) == 0
    last = f"mnist-{epoch + 1}_32.ckpt"
    assert (tmp_path / last).read_bytes() == (straight / last).read_bytes()
    assert without_times(tmp_path) == without_times(straight)
    seconds = [row.seconds for row in read_table(tmp_path / "metrics.csv")]
    assert seconds == sorted(seconds)


def test_damaged_table_is_a_one_line_error(
    digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["train", "--data", str(digits), "--out", str(tmp_path), "--epochs", "1"]
    assert main(arguments) == 0
    table = tmp_path / "metrics.csv"
    for damage in (b"", b"\0\xff", b"step\n1,2,3,4\n", b"step\n1,2,a,4,5\n"):
        table.write_bytes(damage)
        assert main([*arguments, "--resume"]) == 2
        error = capsys.readouterr().err
        assert f"the table {table} is damaged: " in error
        assert error.count("\n") == 1
        assert table.read_bytes() == damage


def without_times(folder: Path) -> list[Row]:
    return [row._replace(seconds=0.0) for row in read_table(folder / "metrics.csv")]


@pytest.mark.parametrize("stop", [31, 32, 33, 49, 50, 51])
def test_resumed_table_equals_that_of_one_run(
    stop: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(folder: Path, last: int = 0, resume: Path | None = None) -> list[str]:
        folder.mkdir(exist_ok=True)
        scores = {"accuracy": Loss()}
        model = Model(ConstantLoss(), None, None, scores, Outputs(), eval_indexes=[0, 1, 2])
        callbacks = [
            Stop(last),
            History(folder / "metrics.csv"),
            ProgressBar(),
            ModelCheckpoint(
                "m", folder, CheckpointConfig(2 * EVERY, append_info=["training_state"])
            ),
        ]
        model.fit(2, Batches(2 * EVERY), Batches(1), callbacks=callbacks, resume=resume)
        printed = capsys.readouterr().out
        return [line.partition(" (")[0] for line in printed.splitlines()]

    straight = run(tmp_path / "a")
    run(tmp_path / "b", stop)
    assert run(tmp_path / "b", resume=tmp_path / "b" / f"m-1_{stop}.ckpt") == straight
    assert without_times(tmp_path / "b") == without_times(tmp_path / "a")
