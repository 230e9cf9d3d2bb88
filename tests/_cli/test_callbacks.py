"""The callbacks of `minispore train`: runs that are stopped by Ctrl-C and resumed."""

import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore
from minispore._cli import main
from minispore._cli.callbacks import StopOnInterrupt
from minispore.train import Callback, RunContext
from tests.helpers.stub_models import Rows, make


def lines_until_interrupted(process: subprocess.Popen[str]) -> Iterator[str]:
    """Yield the lines of a process, and send it SIGINT after the first one."""
    assert process.stdout is not None
    for number, line in enumerate(process.stdout):
        if number == 0:
            process.send_signal(signal.SIGINT)
        yield line


@given(step=st.integers(1, 4), evaluating=st.booleans(), twice=st.booleans())
def test_sigint_stops_after_the_step_and_a_second_one_at_once(
    step: int, evaluating: bool, twice: bool
) -> None:
    """In an evaluation, the step is one of the evaluation. Afterwards the handler is the former."""
    seen = list[str]()

    class Sends(Callback):
        def on_train_step_begin(self, run_context: RunContext) -> None:
            self.send("train")

        def on_eval_step_begin(self, run_context: RunContext) -> None:
            self.send("eval")

        def send(self, phase: str) -> None:
            seen.append(phase)
            if seen.count("eval" if evaluating else "train") == step:
                for _ in range(1 + twice):
                    signal.raise_signal(signal.SIGINT)

    interrupt, before = StopOnInterrupt(), signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt) if twice else nullcontext():
        make({"accuracy"}).fit(2, Rows(), Rows(), callbacks=[interrupt, Sends()])
    assert interrupt.requested
    phases = (["train"] * 3 + ["eval"] * 3) * 2
    last = [i for i, phase in enumerate(phases) if (phase == "eval") == evaluating][step - 1]
    assert seen == phases[: last + 1]
    assert signal.getsignal(signal.SIGINT) is before


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
    table = (tmp_path / "metrics.csv").read_text("utf-8")
    step = int(table.splitlines()[-1].split(",")[1])
    assert lines[-1] == f"To resume it: minispore {shlex.join(arguments[3:])} --resume\n"
    assert lines[-2].startswith(f"Stopped by Ctrl-C after step {step}; in {tmp_path}: mnist-")
    epoch, in_epoch = (step - 1) // 32 + 1, (step - 1) % 32 + 1
    assert f"mnist-{epoch}_{in_epoch}.ckpt" in lines[-2]
    saved = minispore.load_checkpoint(str(tmp_path / f"mnist-{epoch}_{in_epoch}.ckpt"))
    weight = saved["dense_relu_sequential.0.weight"]
    assert isinstance(weight, minispore.Parameter)
    assert weight.shape == (512, 784)

    # The resumed run equals an uninterrupted one, and writes the whole table.
    (tmp_path / "metrics.csv").write_bytes(b"\0\xff")
    epochs = ("--epochs", str(epoch + 1))
    assert main([*again, *epochs, "--resume"]) == 0
    straight = tmp_path / "straight"
    assert main(["train", "--data", str(digits), "--out", str(straight), *epochs]) == 0
    last = f"mnist-{epoch + 1}_32.ckpt"
    for name in (last, "metrics.csv"):
        assert (tmp_path / name).read_bytes() == (straight / name).read_bytes()
