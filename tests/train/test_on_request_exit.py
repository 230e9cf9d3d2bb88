"""OnRequestExit: a signal or a file ends the run after the step, and the next run goes on."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from minispore import nn
from minispore.train import Callback, Model, OnRequestExit, RunContext, load_checkpoint

from .resuming import Training, Trouble
from .standins import Batches, ConstantLoss, Outputs, Rows


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """After each test the handlers are what they were before it."""
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
    before = [signal.getsignal(number) for number in numbers]
    yield
    assert [signal.getsignal(number) for number in numbers] == before


class Send(Callback):
    """Send the process a signal, at the first step for which that is wanted."""

    def __init__(self, number: int, step: int, event: str = "on_train_step_begin") -> None:
        self.number, self.step, self.event = number, step, event
        self.steps: list[int] = []

    def on_train_step_begin(self, run_context: RunContext) -> None:
        self.act("on_train_step_begin", run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        self.steps.append(run_context.original_args().cur_step_num)

    def on_eval_step_begin(self, run_context: RunContext) -> None:
        self.act("on_eval_step_begin", run_context)

    def act(self, event: str, run_context: RunContext) -> None:
        if event == self.event and run_context.original_args().cur_step_num == self.step:
            os.kill(os.getpid(), self.number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(
    ("event", "step"),
    [("on_train_step_begin", 1), ("on_train_step_begin", 7), ("on_eval_step_begin", 2)],
)
def test_the_next_run_is_the_rest_of_the_uninterrupted_one(
    tmp_path: Path, number: int, event: str, step: int
) -> None:
    def run(send: int, resumed: bool = False) -> tuple[list[str], dict[str, bytes]]:
        exit_ = OnRequestExit(directory=tmp_path, file_name="net")
        callbacks = [Send(number, send, event), exit_]
        outcome = Training("noise in a buffer", "adam").go(callbacks, Trouble(), disturb=resumed)
        return outcome.lines, outcome.parameters

    lines, parameters = run(0)
    assert not list(tmp_path.iterdir())
    before, stopped = run(step)
    assert stopped != parameters
    assert [path.name for path in (tmp_path / "rank_0").iterdir()] == ["net_train.ckpt"]
    after, resumed = run(0, resumed=True)
    assert resumed == parameters
    assert after == lines[len(lines) - len(after) :]
    assert before[: len(lines) - len(after)] == lines[: len(lines) - len(after)]
    assert not list((tmp_path / "rank_0").iterdir())


def test_a_run_that_comes_to_its_end_leaves_nothing(tmp_path: Path) -> None:
    Model(ConstantLoss()).train(1, Batches(2), OnRequestExit(directory=tmp_path))
    assert not list(tmp_path.iterdir())


def test_without_saving_it_only_stops(tmp_path: Path) -> None:
    send = Send(signal.SIGTERM, 2)
    model = Model(ConstantLoss())
    model.train(2, Batches(3), [send, OnRequestExit(save_ckpt=False, directory=tmp_path)])
    assert send.steps == [1, 2]
    assert not list(tmp_path.iterdir())


def test_a_second_signal_is_as_if_there_were_no_callback(tmp_path: Path) -> None:
    class Twice(Send):
        def on_train_step_begin(self, run_context: RunContext) -> None:
            super().on_train_step_begin(run_context)
            super().on_train_step_begin(run_context)

    send = Twice(signal.SIGINT, 2)
    with pytest.raises(KeyboardInterrupt):
        Model(ConstantLoss()).train(2, Batches(3), [send, OnRequestExit(directory=tmp_path)])
    assert send.steps == [1]


def test_signals_of_ones_own(tmp_path: Path) -> None:
    send = Send(signal.SIGUSR1, 3)
    exit_ = OnRequestExit(directory=tmp_path, sig=signal.SIGUSR1)
    Model(ConstantLoss()).train(2, Batches(3), [send, exit_])
    assert send.steps == [1, 2, 3]


@pytest.mark.parametrize(
    ("content", "steps"),
    [
        ('{"GracefulExit": 1}', [1]),
        ('{"GracefulExit": 0}', [1, 2, 3]),
        ('{"GracefulEx', [1, 2, 3]),
        ("[1]", [1, 2, 3]),
        (None, [1, 2, 3]),
    ],
)
def test_a_config_file(tmp_path: Path, content: str | None, steps: list[int]) -> None:
    config = tmp_path / "config.json"
    if content is not None:
        config.write_text(content, "utf-8")
    send = Send(0, 0)
    exit_ = OnRequestExit(directory=tmp_path, config_file=config)
    Model(ConstantLoss()).train(1, Batches(3), [send, exit_])
    assert send.steps == steps


def test_a_config_file_that_is_written_meanwhile(tmp_path: Path) -> None:
    config = tmp_path / "config.json"

    class Write(Callback):
        def on_train_step_end(self, run_context: RunContext) -> None:
            step = run_context.original_args().cur_step_num
            config.write_text(
                json.dumps({"GracefulExit": int(step == 4), "step": "." * step}), "utf-8"
            )

    send = Send(0, 0)
    exit_ = OnRequestExit(directory=tmp_path, config_file=config)
    Model(ConstantLoss()).train(3, Batches(3), [send, Write(), exit_])
    assert send.steps == [1, 2, 3, 4]


def test_an_evaluation_is_ended_and_its_network_saved(tmp_path: Path) -> None:
    net = Outputs()
    net.layer = nn.Dense(2, 2)
    model = Model(net, metrics={"loss"}, eval_network=net, eval_indexes=[0, 1, 2])
    exit_ = OnRequestExit(directory=tmp_path, file_name="net")
    for _ in range(2):  # the second file takes the place of the first
        model.eval(Rows(), [Send(signal.SIGTERM, 2, "on_eval_step_begin"), exit_])
    (path,) = (tmp_path / "rank_0").iterdir()
    assert str(path) == exit_.eval_file
    assert list(load_checkpoint(path)) == ["layer.weight", "layer.bias"]


def test_the_file_to_go_on_from_has_a_check_sum_and_is_found_where_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exit_ = OnRequestExit()
    assert (exit_.train_file, exit_.eval_file) == (
        "./rank_0/Net_train.ckpt",
        "./rank_0/Net_eval.ckpt",
    )
    Model(ConstantLoss()).train(1, Batches(4), [Send(signal.SIGTERM, 2), exit_])
    assert [path.name for path in (tmp_path / "rank_0").iterdir()] == ["Net_train.ckpt"]
    assert load_checkpoint(exit_.train_file, crc_check=True)


def test_what_is_gone_already_need_not_be_removed(tmp_path: Path) -> None:
    class Removing(Send):
        def on_train_end(self, run_context: RunContext) -> None:
            if not run_context.get_stop_requested():
                (tmp_path / "rank_0" / "Net_train.ckpt").unlink()

    for step in (2, 99):  # the second run goes on from the file of the first
        callbacks = [Removing(signal.SIGTERM, step), OnRequestExit(directory=tmp_path)]
        Model(ConstantLoss()).train(1, Batches(4), callbacks)
    assert list((tmp_path / "rank_0").iterdir()) == []


def test_what_a_kill_has_left_goes_before_anything_is_written(tmp_path: Path) -> None:
    exit_ = OnRequestExit(directory=tmp_path)
    (tmp_path / "rank_0").mkdir()
    (tmp_path / "rank_0" / ".minispore-killed.tmp").touch()
    Model(ConstantLoss()).train(1, Batches(1), exit_)
    assert list((tmp_path / "rank_0").iterdir()) == []


def test_who_saves_nothing_removes_nothing(tmp_path: Path) -> None:
    exit_ = OnRequestExit(save_ckpt=False, directory=tmp_path)
    path = tmp_path / "rank_0" / "Net_train.ckpt"
    path.parent.mkdir()
    path.touch()
    Model(ConstantLoss()).train(1, Batches(1), exit_)
    assert path.exists()


def test_for_a_handler_that_cannot_be_put_back_stands_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a handler that was not installed from Python, Python knows nothing."""
    installed: list[object] = []
    with monkeypatch.context() as patch:
        patch.setattr(signal, "signal", lambda number, handler: installed.append(handler))
        with OnRequestExit(directory=tmp_path, sig=signal.SIGUSR1):
            pass
    assert installed[-1] == signal.SIG_DFL


def test_signals_are_for_the_main_thread(tmp_path: Path) -> None:
    errors: list[BaseException] = []

    def train() -> None:
        try:
            Model(ConstantLoss()).train(1, Batches(1), OnRequestExit(directory=tmp_path))
        except RuntimeError as error:
            errors.append(error)

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    assert "main thread" in str(errors[0])


@pytest.mark.parametrize(
    ("error", "argument", "value"),
    [
        (ValueError, "save_ckpt", 1),
        (ValueError, "save_mindir", 1),
        (NotImplementedError, "save_mindir", True),
        (ValueError, "file_name", 1),
        (ValueError, "file_name", ""),
        (ValueError, "file_name", "a/b"),
        (TypeError, "directory", 1),
        (TypeError, "config_file", 1),
        (ValueError, "sig", "TERM"),
        (ValueError, "sig", True),
        (ValueError, "sig", signal.SIGKILL),
        (ValueError, "sig", [signal.SIGTERM, 1000]),
    ],
)
def test_wrong_arguments(error: type[Exception], argument: str, value: object) -> None:
    with pytest.raises(error, match=f"For 'OnRequestExit', .*'{argument}'"):
        OnRequestExit(**{argument: value})  # type: ignore[arg-type]
