"""The file by which a run is ended: read in any of JSON's encodings, and only when it changes."""

import builtins
import signal
from pathlib import Path

import pytest

from minispore import nn
from minispore.train import Callback, Model, OnRequestExit, RunContext

from .standins import Batches, ConstantLoss, Rows


class Steps(Callback):
    count = 0

    def on_train_step_end(self, run_context: RunContext) -> None:
        self.count += 1


def steps_until_the_end(config: Path) -> int:
    steps = Steps()
    ending = OnRequestExit(directory=config.parent, config_file=config, save_ckpt=False)
    Model(ConstantLoss()).train(1, Batches(5), [steps, ending])
    return steps.count


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]
)
@pytest.mark.parametrize(("wanted", "steps"), [(1, 1), (0, 5)])
def test_each_encoding_is_read(tmp_path: Path, encoding: str, wanted: int, steps: int) -> None:
    config = tmp_path / "config.json"
    config.write_text(f'{{"name": "größer", "GracefulExit": {wanted}}}', encoding)
    assert steps_until_the_end(config) == steps


def test_a_file_that_stays_the_same_is_read_once(
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
    assert steps_until_the_end(config) == 5
    assert opened.count(config) == 1


def test_a_run_can_be_stopped_again_and_again(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"GracefulExit": 1}', "utf-8")
    for time in (1, 2, 3):
        net = nn.Dense(4, 3)
        model = Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1))
        ending = OnRequestExit(directory=tmp_path, config_file=config)
        model.train(3, Rows(), ending)
        assert Path(ending.train_file).is_file(), time


def test_who_was_stopped_by_somebody_else_has_nothing_to_save(tmp_path: Path) -> None:
    class Stop(Callback):
        def on_train_step_end(self, run_context: RunContext) -> None:
            run_context.request_stop()

    net = nn.Dense(4, 3)
    model = Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1))
    model.train(2, Rows(), [Stop(), OnRequestExit(directory=tmp_path)])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_what_nobody_can_catch_is_refused(number: signal.Signals) -> None:
    with pytest.raises(ValueError, match="must be a signal that can be caught, but got"):
        OnRequestExit(sig=[signal.SIGTERM, number])
