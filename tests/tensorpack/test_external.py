"""Functions, threads, processes, shells and programs run during a training."""

import math
import shlex
import signal
import sys
import threading
import time
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.tensorpack import (
    Callback,
    CallbackFactory,
    InjectShell,
    RunOp,
    RunUpdateOps,
    SendMonitorData,
    SendStat,
    StartProcOrThread,
    StopTraining,
    UnknownMetricError,
    external,
)
from minispore.tensorpack.external import CommandCallback
from minispore.train import Model
from tests.helpers.stub_models import Batches, ConstantLoss
from tests.tensorpack.small_trainings import train_counting


def test_inject_shell_removes_its_file(folder: Path) -> None:
    (folder / "INJECT_SHELL.tmp").touch()
    epochs: list[int] = []
    train_counting(InjectShell(enter=lambda trainer: epochs.append(trainer.epoch_num)))
    assert epochs == [1]
    (folder / "shell").touch()
    train_counting(
        InjectShell("shell", enter=lambda trainer: epochs.append(trainer.epoch_num)), epochs=1
    )
    assert epochs == [1, 1]
    assert not list(folder.iterdir())
    with pytest.raises(ValueError, match="shell"):
        InjectShell(shell="bash")


@pytest.mark.parametrize("shell", ["ipython", "pdb"])
def test_inject_shell_falls_back_to_pdb(
    shell: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setitem(
        sys.modules, "IPython", SimpleNamespace(embed=lambda: opened.append("ipython"))
    )
    monkeypatch.setattr("pdb.set_trace", lambda: opened.append("pdb"))
    (folder / "INJECT_SHELL.tmp").touch()
    train_counting(InjectShell(shell=shell), epochs=1)
    monkeypatch.setitem(sys.modules, "IPython", None)
    (folder / "INJECT_SHELL.tmp").touch()
    train_counting(InjectShell(shell=shell), epochs=1)
    assert opened == [shell, "pdb"]


def train_steps(*callbacks: Callback, epochs: int = 2) -> None:
    Model(ConstantLoss()).train(epochs, Batches(3), list(callbacks))


def test_run_op_calls_the_function_at_its_times() -> None:
    calls: list[str] = []
    train_steps(
        RunOp(lambda: calls.append("x")), RunOp(lambda: calls.append("s"), False, False, True)
    )
    assert "".join(calls) == "xsssxsssx"
    train_steps(RunUpdateOps("ops"), RunUpdateOps(lambda: calls.append("u")), epochs=1)
    assert "".join(calls).endswith("uuu")
    with pytest.raises(TypeError, match="RunOp"):
        RunOp("op")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_verbose_run_op_logs_each_call(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "minispore.tensorpack")

    def tidy() -> None:
        pass

    train_steps(RunOp(tidy, verbose=True), epochs=1)
    assert caplog.messages == ["Running tidy ..."] * 2


def test_a_thread_that_does_not_end_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(external, "_JOIN_SECONDS", 0.01)
    end = threading.Event()
    thread = threading.Thread(target=end.wait, name="busy")
    train_steps(StartProcOrThread(thread))
    end.set()
    thread.join()
    (message,) = caplog.messages
    assert "busy" in message
    assert "has not ended within 0.01 seconds" in message


@pytest.mark.parametrize("error", [None, StopTraining, KeyboardInterrupt])
def test_threads_are_stopped_after_training(error: type[BaseException] | None) -> None:
    stop = threading.Event()

    class Work(threading.Thread):
        def run(self) -> None:
            stop.wait()

        def stop(self) -> None:
            stop.set()

    class Fail(Callback):
        def _trigger_step(self) -> None:
            assert work.is_alive()
            if error is not None:
                raise error

    work = Work()
    if error is KeyboardInterrupt:
        with pytest.raises(KeyboardInterrupt):
            train_steps(StartProcOrThread(work), Fail())
    else:
        train_steps(StartProcOrThread(work), Fail())
    assert not work.is_alive()


def test_processes_are_terminated_after_training() -> None:
    process = get_context("spawn").Process(target=time.sleep, args=[60])
    train_steps(StartProcOrThread([process]))
    assert process.exitcode == -signal.SIGTERM
    with pytest.raises(TypeError, match="StartProcOrThread.*startable"):
        StartProcOrThread(print)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


NOTE = "import sys; open(sys.argv[1], 'a').write(sys.argv[2] + '\\n')"


def put(*names: str, epoch: int = 1) -> Callback:
    def each(cb: Callback) -> None:
        for name in names:
            if cb.epoch_num >= epoch:
                cb.trainer.monitors.put_scalar(name, cb.epoch_num + 0.5)

    return CallbackFactory(trigger=each, produces=names)


def run(*callbacks: Callback, epochs: int = 2) -> None:
    Model(ConstantLoss()).train(epochs, Batches(1), list(callbacks))


@pytest.fixture
def note(tmp_path: Path) -> list[str]:
    return [sys.executable, "-c", NOTE, str(tmp_path / "notes")]


def notes(folder: Path) -> list[str]:
    return (folder / "notes").read_text("utf-8").splitlines() if (folder / "notes").exists() else []


def test_send_stat_passes_the_newest_value(note: list[str], tmp_path: Path) -> None:
    run(put("val/a.b"), SendStat([*note, "{val/a.b} {val/a.b:.2e} {other} {{}}"], "val/a.b"))
    assert notes(tmp_path) == ["1.5 1.50e+00 {other} {{}}", "2.5 2.50e+00 {other} {{}}"]


def test_send_stat_skips_the_command_without_a_value(
    note: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run(put("x", epoch=2), SendStat([*note, "{x}"], ["x"]))
    assert notes(tmp_path) == ["2.5"]
    assert "SendStat does not run its command: no value was logged as 'x'" in caplog.text


def test_send_stat_rejects_unknown_names_before_training(note: list[str]) -> None:
    with pytest.raises(UnknownMetricError, match="SendStat reads 'y'"):
        run(put("x"), SendStat([*note, "{y}"], "y"))


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ([sys.executable, "-c", "raise SystemExit(3)"], "failed with 3"),
        (["/no/such/program"], "No such file"),
        ([sys.executable, "-c", "import time; time.sleep(30)"], "timed out"),
        (["true", "{x:q}"], "failed: .*format"),
        (["\0"], "failed: "),
    ],
)
@pytest.mark.parametrize("kind", [SendStat, SendMonitorData])
def test_command_failures_are_logged(
    kind: type[SendStat] | type[SendMonitorData],
    command: list[str],
    message: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    timeout = 0.3 if message == "timed out" else 30
    run(put("x"), kind(command, "x", timeout=timeout), epochs=1)
    assert len(caplog.messages) == 1
    import re

    assert re.search(message, caplog.text)


def test_send_monitor_data_waits_for_all_numbers(note: list[str], tmp_path: Path) -> None:
    sender = SendMonitorData([*note, "{x} {y}"], ["x", "y"])
    run(sender, put("x"), put("y", epoch=2), put("x"), epochs=3)
    assert notes(tmp_path) == ["2.5 2.5", "3.5 3.5"]
    restored = SendMonitorData([*note, "{x} {y}"], ["x", "y"])
    restored.load_state_dict(sender.state_dict())
    assert restored.state_dict() == sender.state_dict() == {"values": {"x": 3.5}}


def test_str_command_runs_in_the_shell(note: list[str], tmp_path: Path) -> None:
    run(put("x"), SendStat(f"{shlex.join(note)} {{x}} > /dev/null 2>&1", "x"), epochs=1)
    assert notes(tmp_path) == ["1.5"]


@pytest.mark.parametrize(
    ("command", "error"),
    [("", ValueError), (" ", ValueError), ([], ValueError), (3, TypeError), (["a", 3], TypeError)],
)
def test_invalid_commands_raise_errors(
    command: str | Sequence[str], error: type[Exception]
) -> None:
    with pytest.raises(error, match="command"):
        SendStat(command, "x")


@given(
    name=st.text("ab/-.{}:$ `'\"", min_size=1, max_size=6).filter(lambda n: "}" not in n),
    value=st.floats(),
    shell=st.booleans(),
)
def test_each_number_becomes_one_argument(name: str, value: float, shell: bool) -> None:
    command = CommandCallback("echo {" + name + "}" if shell else ["echo", "{" + name + "}"], name)
    given_ = command.arguments({name: value})
    assert float(given_[-1].removeprefix("echo ")) == value or math.isnan(value)


@given(value=st.floats(), fill=st.sampled_from("$`();|&'\"<> \\*~#\n"))
def test_shell_receives_a_formatted_number_as_one_word(value: float, fill: str) -> None:
    """Whatever characters its format adds."""
    (line,) = CommandCallback(f"echo {{x:{fill}^30}}", "x").arguments({"x": value})
    assert shlex.split(line) == ["echo", f"{value:{fill}^30}"]
