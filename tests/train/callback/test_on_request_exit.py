"""OnRequestExit: a signal or a file stops the run, and the next run continues."""

import builtins
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import nn
from minispore.train import Callback, Model, OnRequestExit, RunContext, load_checkpoint
from tests.helpers.resumable_training import Fault, Training
from tests.helpers.stub_models import Batches, ConstantLoss, Outputs, Rows


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Check that each test restores the signal handlers."""
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
    before = [signal.getsignal(number) for number in numbers]
    yield
    assert [signal.getsignal(number) for number in numbers] == before


class Send(Callback):
    """Send a signal to the process, or with number 0 request a stop, at a step; note the steps."""

    def __init__(self, number: int, step: int, event: str = "on_train_step_begin") -> None:
        self.number, self.step, self.event = number, step, event
        self.steps: list[int] = []

    def on_train_step_begin(self, run_context: RunContext) -> None:
        self.act("on_train_step_begin", run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        self.steps.append(run_context.original_args().cur_step_num)
        self.act("on_train_step_end", run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        self.act("on_train_epoch_end", run_context)

    def on_eval_step_begin(self, run_context: RunContext) -> None:
        self.act("on_eval_step_begin", run_context)

    def act(self, event: str, run_context: RunContext) -> None:
        if event != self.event or run_context.original_args().cur_step_num != self.step:
            return
        if self.number:
            os.kill(os.getpid(), self.number)
        else:
            run_context.request_stop()


EVENTS = st.tuples(st.just("on_train_step_begin"), st.integers(1, 7)) | st.tuples(
    st.just("on_eval_step_begin"), st.integers(1, 2)
)


@given(st.sampled_from([signal.SIGTERM, signal.SIGINT]), EVENTS)
def test_next_run_continues_exactly(number: int, place: tuple[str, int]) -> None:
    event, step = place
    with TemporaryDirectory() as name:
        folder = Path(name, "rank_0")

        def run(send: int, resumed: bool = False) -> tuple[list[str], dict[str, bytes]]:
            exit_ = OnRequestExit(directory=name, file_name="net")
            callbacks = [Send(number, send, event), exit_]
            outcome = Training("noise in a buffer", "adam").run(callbacks, Fault(), disturb=resumed)
            return outcome.lines, outcome.parameters

        lines, parameters = run(0)
        assert not folder.exists()
        before, stopped = run(step)
        assert stopped != parameters
        assert [path.name for path in folder.iterdir()] == ["net_train.ckpt"]
        after, resumed = run(0, resumed=True)
        assert resumed == parameters
        assert after == lines[len(lines) - len(after) :]
        assert before[: len(lines) - len(after)] == lines[: len(lines) - len(after)]
        assert not any(folder.iterdir())


OTHERS = st.sets(st.sampled_from([".minispore-killed.tmp", "mine.ckpt", "Net_eval.ckpt"]))


@given(
    number=st.sampled_from([signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, 0]),
    event=st.sampled_from(["on_train_step_begin", "on_train_step_end", "on_train_epoch_end"]),
    step=st.integers(1, 8),
    save=st.booleans(),
    others=OTHERS,
)
@example(signal.SIGTERM, "on_train_epoch_end", 3, True, set())
@example(signal.SIGTERM, "on_train_step_end", 8, True, {".minispore-killed.tmp"})
@example(signal.SIGTERM, "on_train_step_end", 8, False, {".minispore-killed.tmp"})
@example(0, "on_train_step_end", 8, False, {"Net_train.ckpt"})
def test_run_ends_with_the_step_of_the_signal(
    number: int, event: str, step: int, save: bool, others: set[str]
) -> None:
    """It is saved only if the signal stopped it, and `save_ckpt` is set; so are files removed."""
    stopped = step <= 6 and (event != "on_train_epoch_end" or step % 3 == 0)
    with TemporaryDirectory() as name:
        folder = Path(name, "rank_0")
        folder.mkdir()
        for file in others:
            (folder / file).touch()
        send = Send(number, step, event)
        exit_ = OnRequestExit(
            save, directory=name, sig=number or signal.SIGTERM, config_file=folder
        )
        Model(ConstantLoss()).train(2, Batches(3), [send, exit_])
        assert send.steps == [*range(1, (step if stopped else 6) + 1)]
        expected = {file for file in others if not save or not file.endswith(".tmp")}
        expected |= {"Net_train.ckpt"} if save and stopped and number else set()
        assert {path.name for path in folder.iterdir()} == expected


@given(st.integers(1, 6))
def test_second_signal_has_its_usual_effect(step: int) -> None:
    class Twice(Send):
        def on_train_step_begin(self, run_context: RunContext) -> None:
            super().on_train_step_begin(run_context)
            super().on_train_step_begin(run_context)

    send = Twice(signal.SIGINT, step)
    with TemporaryDirectory() as folder, pytest.raises(KeyboardInterrupt):
        Model(ConstantLoss()).train(2, Batches(3), [send, OnRequestExit(directory=folder)])
    assert send.steps == [*range(1, step)]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=2), st.booleans())
@example([2, 4, 2], True)
@example([2], False)
def test_evaluation_is_stopped_and_saved(steps: list[int], save: bool) -> None:
    """A later file replaces an earlier one; an evaluation of three steps saves nothing."""
    net = Outputs()
    net.layer = nn.Dense(2, 2)
    model = Model(net, metrics={"loss"}, eval_network=net, eval_indexes=[0, 1, 2])
    with TemporaryDirectory() as folder:
        exit_ = OnRequestExit(save, directory=folder, file_name="net")
        for i, step in enumerate(steps, start=1):
            model.eval(Rows(), [Send(signal.SIGTERM, step, "on_eval_step_begin"), exit_])
            assert Path(exit_.eval_file).exists() == (save and min(steps[:i]) <= 3)
        if save and min(steps) <= 3:
            (path,) = Path(folder, "rank_0").iterdir()
            assert str(path) == exit_.eval_file
            assert list(load_checkpoint(path)) == ["layer.weight", "layer.bias"]


def test_train_file_has_checksum_and_documented_path(
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


def test_missing_train_file_is_no_error(tmp_path: Path) -> None:
    class Removing(Send):
        def on_train_end(self, run_context: RunContext) -> None:
            if not run_context.get_stop_requested():
                (tmp_path / "rank_0" / "Net_train.ckpt").unlink()

    for step in (2, 99):  # the second run resumes from the file of the first
        callbacks = [Removing(signal.SIGTERM, step), OnRequestExit(directory=tmp_path)]
        Model(ConstantLoss()).train(1, Batches(4), callbacks)
    assert list((tmp_path / "rank_0").iterdir()) == []


def test_foreign_handler_is_replaced_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python cannot represent a handler that was not installed from Python."""
    installed: list[object] = []
    with monkeypatch.context() as patch:
        patch.setattr(signal, "signal", lambda number, handler: installed.append(handler))
        with OnRequestExit(directory=tmp_path, sig=signal.SIGUSR1):
            pass
    assert installed[-1] == signal.SIG_DFL


def test_handlers_are_restored_if_one_cannot_be_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = signal.signal

    def failing(number: int, handler: signal.Handlers) -> object:
        if number == signal.SIGINT and callable(handler) and handler != before:
            raise ValueError("not here")
        return plain(number, handler)

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(signal, "signal", failing)
    callback = OnRequestExit(directory=tmp_path, sig=[signal.SIGTERM, signal.SIGINT])
    with pytest.raises(RuntimeError, match="main thread"), callback:
        pass


def test_run_outside_main_thread_raises(tmp_path: Path) -> None:
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


ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]
CONTENTS = st.one_of(
    st.builds(
        '{{"name": "{}", "GracefulExit": {}}}'.format,
        st.sampled_from(["größer", "a", "aa"]),
        st.sampled_from(["0", "1", "2", "-1", '"1"', "null"]),
    ),
    st.sampled_from(['{"GracefulEx', "[1]", "1", "", "[" * 99_999]),
)


@given(
    contents=st.lists(st.none() | st.tuples(CONTENTS, st.sampled_from(ENCODINGS)), max_size=5),
    used_before=st.booleans(),
    coarse=st.booleans(),
)
@example([('{"GracefulExit": 0}', "utf-8"), ('{"GracefulExit": 1}', "utf-8")], False, True)
@example([('{"name": "a", "GracefulExit": 1}', "utf-8")], True, True)
def test_run_ends_at_the_first_step_that_finds_a_request(
    contents: list[tuple[str, str] | None], used_before: bool, coarse: bool
) -> None:
    """The file is replaced before each step; None removes it."""
    with TemporaryDirectory() as folder:
        config = Path(folder, "config.json")

        class Write(Callback):
            steps = size = 0

            def on_train_step_end(self, run_context: RunContext) -> None:
                self.steps += 1
                content = contents[self.steps - 1] if self.steps <= len(contents) else None
                config.unlink(missing_ok=True)
                if content is not None:
                    text, encoding = content
                    # On a disk with a coarse clock, only the size shows that a file has changed.
                    padding = self.size + 1 - len(text.encode(encoding))
                    self.size = config.write_bytes((text + " " * padding).encode(encoding))
                    time = 0 if coarse else self.steps * 10**9
                    os.utime(config, ns=(time, time))

        write = Write()
        ending = OnRequestExit(directory=folder, config_file=config, save_ckpt=False)
        if used_before:  # what an earlier run has read is forgotten
            config.write_text('{"GracefulExit": 1}', "utf-8")
            Model(ConstantLoss()).train(1, Batches(5), ending)
        Model(ConstantLoss()).train(1, Batches(5), [write, ending])
        requests = [i for i, pair in enumerate(contents, start=1) if pair and ": 1}" in pair[0]]
        assert write.steps == min(requests, default=5)


def test_unchanged_config_file_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"GracefulExit": 0}', "utf-8")
    opened: list[object] = []
    plain = builtins.open

    def counting(path: object, *args: object, **options: object) -> object:
        opened.append(path)
        return plain(path, *args, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(builtins, "open", counting)
    ending = OnRequestExit(directory=tmp_path, config_file=config, save_ckpt=False)
    Model(ConstantLoss()).train(1, Batches(5), ending)
    assert opened.count(config) == 1


def test_run_can_be_stopped_repeatedly(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"GracefulExit": 1}', "utf-8")
    ending = OnRequestExit(directory=tmp_path, config_file=config)
    for time in (1, 2, 3):
        net = nn.Dense(4, 3)
        optimizer = nn.SGD(net.trainable_params(), 0.1)
        Model(net, nn.CrossEntropyLoss(), optimizer).train(3, Rows(), ending)
        assert Path(ending.train_file).is_file(), time
        assert optimizer.global_step.item() == time
