"""Numbers are sent by calling programs, and nothing that goes wrong there ends a training."""

import math
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.tensorpack import (
    Callback,
    CallbackFactory,
    SendMonitorData,
    SendStat,
    UnknownMetricError,
)
from minispore.tensorpack.running import Command
from minispore.train import Model

from ..train.standins import Batches, ConstantLoss

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


def test_a_program_gets_the_newest_value(note: list[str], tmp_path: Path) -> None:
    run(put("val/a.b"), SendStat([*note, "{val/a.b} {val/a.b:.2e} {other} {{}}"], "val/a.b"))
    assert notes(tmp_path) == ["1.5 1.50e+00 {other} {{}}", "2.5 2.50e+00 {other} {{}}"]


def test_a_missing_number_is_told_and_nothing_is_sent(
    note: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run(put("x", epoch=2), SendStat([*note, "{x}"], ["x"]))
    assert notes(tmp_path) == ["2.5"]
    assert "SendStat sends nothing: nothing was put in under 'x'" in caplog.text


def test_a_name_that_nothing_writes_is_known_before(note: list[str]) -> None:
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
def test_a_failure_is_told(
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


def test_monitor_data_are_sent_when_all_have_come(note: list[str], tmp_path: Path) -> None:
    sender = SendMonitorData([*note, "{x} {y}"], ["x", "y"])
    run(sender, put("x"), put("y", epoch=2), put("x"), epochs=3)
    assert notes(tmp_path) == ["2.5 2.5", "3.5 3.5"]
    again = SendMonitorData([*note, "{x} {y}"], ["x", "y"])
    again.load_state_dict(sender.state_dict())
    assert again.state_dict() == sender.state_dict() == {"values": {"x": 3.5}}


def test_the_shell_on_request(note: list[str], tmp_path: Path) -> None:
    run(put("x"), SendStat(f"{shlex.join(note)} {{x}} > /dev/null 2>&1", "x", shell=True), epochs=1)
    assert notes(tmp_path) == ["1.5"]


def test_a_text_is_split_at_its_spaces() -> None:
    command = Command("curl -u 'a b:' -d body={val-error-top1}", "val-error-top1")
    assert command.arguments({"val-error-top1": 0.25}) == ["curl", "-u", "a b:", "-d", "body=0.25"]


@pytest.mark.parametrize(
    ("command", "shell", "error"),
    [
        ("curl x > /dev/null", False, ValueError),
        ("a && b", False, ValueError),
        ("echo $(ls)", False, ValueError),
        ("", False, ValueError),
        ([], False, ValueError),
        (["a"], True, TypeError),
        (3, False, TypeError),
        (["a", 3], False, TypeError),
    ],
)
def test_what_is_no_command(
    command: str | Sequence[str], shell: bool, error: type[Exception]
) -> None:
    with pytest.raises(error, match="command"):
        SendStat(command, "x", shell=shell)


@given(
    name=st.text("ab/-.{}:$ `'\"", min_size=1, max_size=6).filter(lambda n: "}" not in n),
    value=st.floats(),
    shell=st.booleans(),
)
def test_a_number_is_one_argument_whatever_its_name(name: str, value: float, shell: bool) -> None:
    command = Command("echo {" + name + "}" if shell else ["echo", "{" + name + "}"], name, shell)
    given_ = command.arguments({name: value})
    assert float(given_[-1].removeprefix("echo ")) == value or math.isnan(value)
