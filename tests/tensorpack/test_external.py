"""Functions, threads, processes, shells and programs run during a training."""

import math
import re
import shlex
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import tensorpack as tp
from minispore.tensorpack import external
from minispore.tensorpack.external import CommandCallback
from tests.tensorpack.small_trainings import train_constant, train_counting


def test_inject_shell_removes_its_file(folder: Path) -> None:
    (folder / "INJECT_SHELL.tmp").touch()
    epochs: list[int] = []
    train_counting(tp.InjectShell(enter=lambda trainer: epochs.append(trainer.epoch_num)))
    assert epochs == [1]
    (folder / "shell").touch()
    train_counting(
        tp.InjectShell("shell", enter=lambda trainer: epochs.append(trainer.epoch_num)), epochs=1
    )
    assert epochs == [1, 1]
    assert not list(folder.iterdir())


def test_inject_shell_waits_in_the_working_directory_without_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A file that comes after the last trigger is removed, too, but opens no shell."""
    monkeypatch.chdir(tmp_path)
    caplog.set_level("INFO", "minispore.tensorpack")
    opened: list[int] = []
    shell = tp.InjectShell(enter=lambda trainer: opened.append(trainer.epoch_num))
    touch = tp.CallbackFactory(trigger=lambda cb: Path("INJECT_SHELL.tmp").touch())
    train_counting(shell, touch)
    assert opened == [2]
    assert not list(tmp_path.iterdir())
    path = tmp_path / "INJECT_SHELL.tmp"
    assert caplog.messages[0] == f"To open a shell, create the file '{path}'."


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
    train_counting(tp.InjectShell(shell=shell), epochs=1)
    monkeypatch.setitem(sys.modules, "IPython", None)
    (folder / "INJECT_SHELL.tmp").touch()
    train_counting(tp.InjectShell(shell=shell), epochs=1)
    assert opened == [shell, "pdb"]


@given(
    before=st.booleans(), triggered=st.booleans(), each_step=st.booleans(), epochs=st.integers(1, 3)
)
def test_run_op_calls_the_function_at_its_times(
    before: bool, triggered: bool, each_step: bool, epochs: int
) -> None:
    """And logs each call, if it is verbose."""
    calls: list[str] = []
    messages: list[str] = []

    def called() -> None:
        calls.append("x")

    count = tp.CallbackFactory(trigger=lambda cb: calls.append("e"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tp.logger, "info", messages.append)
        train_constant(tp.RunOp(called, before, triggered, each_step, True), count, epochs=epochs)
    assert "".join(calls) == "x" * before + ("xxx" * each_step + "x" * triggered + "e") * epochs
    assert messages == ["Running called ..."] * calls.count("x")


def test_run_op_is_called_before_training_and_triggered_by_default() -> None:
    calls: list[str] = []
    train_constant(tp.RunOp(lambda: calls.append("x")), tp.RunUpdateOps("ops"))
    train_constant(tp.RunUpdateOps(lambda: calls.append("u")), epochs=1)
    assert "".join(calls) == "xxxuuu"


def test_a_thread_that_does_not_end_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(external, "_JOIN_SECONDS", 0.01)
    end = threading.Event()
    thread = threading.Thread(target=end.wait, name="busy")
    train_constant(tp.StartProcOrThread(thread))
    end.set()
    thread.join()
    (message,) = caplog.messages
    assert "busy" in message
    assert "has not ended within 0.01 seconds" in message


@pytest.mark.parametrize("error", [None, tp.StopTraining, KeyboardInterrupt])
def test_threads_are_stopped_after_training(error: type[BaseException] | None) -> None:
    stop = threading.Event()

    class Work(threading.Thread):
        def run(self) -> None:
            stop.wait()

        def stop(self) -> None:
            stop.set()

    class Fail(tp.Callback):
        def _trigger_step(self) -> None:
            assert work.is_alive()
            if error is not None:
                raise error

    work = Work()
    if error is KeyboardInterrupt:
        with pytest.raises(KeyboardInterrupt):
            train_constant(tp.StartProcOrThread(work), Fail())
    else:
        train_constant(tp.StartProcOrThread(work), Fail())
    assert not work.is_alive()


def test_processes_are_terminated_after_training() -> None:
    process = get_context("spawn").Process(target=time.sleep, args=[60])
    train_constant(tp.StartProcOrThread([process]))
    assert process.exitcode == -signal.SIGTERM


NOTE = "import sys; open(sys.argv[1], 'a').write(sys.argv[2] + '\\n')"


def put(name: str, values: Sequence[float | None]) -> tp.Callback:
    """Log the value of each epoch."""

    def log_value(cb: tp.Callback) -> None:
        value = values[cb.epoch_num - 1]
        if value is not None:
            cb.trainer.monitors.put_scalar(name, value)

    return tp.CallbackFactory(trigger=log_value, produces=[name])


@pytest.fixture
def note(tmp_path: Path) -> list[str]:
    return [sys.executable, "-c", NOTE, str(tmp_path / "notes")]


def notes(folder: Path) -> list[str]:
    return (folder / "notes").read_text("utf-8").splitlines() if (folder / "notes").exists() else []


@given(st.lists(st.none() | st.integers(0, 9), min_size=1, max_size=5))
def test_send_stat_runs_its_command_with_the_newest_value(values: list[float | None]) -> None:
    sent: list[Mapping[str, float]] = []
    sender = tp.SendStat(["true", "{x}"], ["x"])
    vars(sender)["call"] = sent.append
    train_constant(put("x", values), sender, epochs=len(values))
    newest, expected = None, list[dict[str, float]]()
    for value in values:
        newest = newest if value is None else value
        expected += [] if newest is None else [{"x": newest}]
    assert sent == expected


@given(st.lists(st.sampled_from(["x", "y", "other", "resume"]), max_size=12))
def test_send_monitor_data_waits_for_all_numbers(names: list[str]) -> None:
    """Also if its state is saved in between."""
    sent: list[Mapping[str, float]] = []
    expected: list[Mapping[str, float]] = []
    waiting: dict[str, float] = {}

    def create() -> tp.SendMonitorData:
        sender = tp.SendMonitorData(["true", "{x} {y}"], ["x", "y"])
        sender.reset_state()
        vars(sender)["call"] = sent.append
        return sender

    sender = create()
    for value, name in enumerate(names):
        if name == "resume":
            state, sender = sender.state_dict(), create()
            assert state == {"values": waiting}
            sender.load_state_dict(state)
            continue
        sender.process_scalar(name, float(value))
        if name in "xy":
            waiting[name] = value
        if len(waiting) == 2:
            expected.append(waiting)
            waiting = {}
    assert sent == expected


def test_send_stat_rejects_unknown_names_before_training() -> None:
    with pytest.raises(tp.UnknownMetricError, match="SendStat reads 'y'"):
        train_constant(put("x", [1.0]), tp.SendStat(["true", "{y}"], "y"), epochs=1)


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
@pytest.mark.parametrize("kind", [tp.SendStat, tp.SendMonitorData])
def test_command_failures_are_logged(
    kind: type[tp.SendStat] | type[tp.SendMonitorData],
    command: list[str],
    message: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    timeout = 0.3 if message == "timed out" else 30
    train_constant(put("x", [1.5]), kind(command, "x", timeout=timeout), epochs=1)
    (logged,) = caplog.messages
    assert re.search(message, logged)


def test_commands_run_with_and_without_a_shell(note: list[str], tmp_path: Path) -> None:
    train_constant(
        put("val/a.b", [1.5]),
        tp.SendStat(f"{shlex.join(note)} {{val/a.b}} > /dev/null 2>&1", "val/a.b"),
        tp.SendStat([*note, "{val/a.b} {val/a.b:.2e} ${other} {{}}"], "val/a.b"),
        epochs=1,
    )
    assert notes(tmp_path) == ["1.5", "1.5 1.50e+00 ${other} {{}}"]


@given(
    text=st.text("ab:{}$ '\"", max_size=8),
    names=st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=2),
    shell=st.booleans(),
)
@example("{b}", ["a"], False)
@example("{b:a}", ["a"], True)
@example("{a:{b}}", ["b"], True)
def test_a_name_in_braces_is_one_of_the_names(text: str, names: list[str], shell: bool) -> None:
    """Other braces, such as those of JSON and of a shell's variables, are sent as they are."""
    left = re.sub(r"\{(" + "|".join(names) + r")(:[^{}]*)?\}", " ", text)
    unknown = re.search(r"(?<!\$)\{([ab][ab$]*)(:[^{} '\"]*)?\}", left)
    command = f"echo {text}" if shell else ["echo", text]
    with pytest.raises(ValueError, match="names") if unknown else nullcontext() as raised:
        tp.SendStat(command, names)
    if raised and unknown:
        assert f"{{{unknown[1]}}}" in str(raised.value)


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
