"""The configuration file of OnRequestExit: its encodings, and reads only after changes."""

import builtins
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import nn
from minispore.train import Callback, Model, OnRequestExit, RunContext
from tests.helpers.stub_models import Batches, ConstantLoss, Rows


class Steps(Callback):
    count = 0

    def on_train_step_end(self, run_context: RunContext) -> None:
        self.count += 1


def steps_until_the_end(config: Path) -> int:
    steps = Steps()
    ending = OnRequestExit(directory=config.parent, config_file=config, save_ckpt=False)
    Model(ConstantLoss()).train(1, Batches(5), [steps, ending])
    return steps.count


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
        requests = [i for i, each in enumerate(contents, start=1) if each and ": 1}" in each[0]]
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
    assert steps_until_the_end(config) == 5
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


def test_stop_by_another_callback_saves_nothing(tmp_path: Path) -> None:
    class Stop(Callback):
        def on_train_step_end(self, run_context: RunContext) -> None:
            run_context.request_stop()

    net = nn.Dense(4, 3)
    model = Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1))
    model.train(2, Rows(), [Stop(), OnRequestExit(directory=tmp_path)])
    assert not list(tmp_path.iterdir())
