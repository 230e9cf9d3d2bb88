"""ProgressBar: where a bar is shown, and the lines of epochs."""

import io
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import tqdm

from minispore.train import CheckpointConfig, Model, ModelCheckpoint, ProgressBar
from minispore.utils import progress
from tests.helpers.callback_driver import stopping_at
from tests.helpers.stub_models import Batches, ConstantLoss, Outputs


class Bar:
    """A bar of tqdm that records the calls of its methods."""

    made: list["Bar"]

    def __init__(
        self, total: int, desc: str, unit: str, leave: bool, disable: bool, miniters: int
    ) -> None:
        self.calls = [f"{desc}: {total} {unit}s"]
        self.shown = not (leave or disable)
        self.made.append(self)

    def set_postfix_str(self, text: str, refresh: bool) -> None:
        assert not refresh
        self.calls.append(text)

    def update(self, steps: int = 1) -> None:
        self.calls.append(f"+{steps}")

    def close(self) -> None:
        self.calls.append("closed")


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("kernel", [True, False])
@pytest.mark.parametrize("widgets", [True, False])
@pytest.mark.parametrize("terminal", [True, False, None])
def test_bar_is_shown_on_a_terminal_and_in_a_notebook_with_widgets(
    kernel: bool, widgets: bool, terminal: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the latter is tqdm's bar for notebooks."""

    class Plain(Bar):
        made: list[Bar] = []

    class Notebook(Bar):
        made: list[Bar] = []

    module = ModuleType("tqdm.notebook")
    monkeypatch.setattr(module, "tqdm", Notebook, raising=False)
    monkeypatch.setitem(sys.modules, "tqdm.notebook", module)
    monkeypatch.setattr(tqdm, "tqdm", Plain)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    if kernel:
        monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    found = {"ipywidgets": widgets}
    monkeypatch.setattr(progress, "find_spec", lambda name: True if found[name] else None)
    streams = {True: Terminal(), False: io.StringIO(), None: None}
    monkeypatch.setattr(sys, "stderr", streams[terminal])
    Model(ConstantLoss()).train(2, Batches(3), ProgressBar())
    made, others = Plain.made, Notebook.made
    if kernel and widgets:
        made, others = others, made
    steps = ["loss 0.500", "+1"] * 3
    assert [bar.calls for bar in made] == [
        [f"epoch {epoch}/2: 3 steps", *steps, "closed"] for epoch in (1, 2)
    ]
    assert not others
    assert all(bar.shown == bool(terminal or (kernel and widgets)) for bar in made)


@pytest.mark.parametrize("stop", [1, 2, 3, 4])
def test_lines_of_a_resumed_run_are_those_of_one_run(
    stop: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line of an interrupted epoch has the mean loss and the number of its steps."""
    config = CheckpointConfig(append_info=["training_state"])
    saver = ModelCheckpoint("m", tmp_path, config)

    def run(last: int = 0, resume: str | None = None) -> list[str]:
        model = Model(ConstantLoss(), None, None, {"accuracy"}, Outputs(), eval_indexes=[0, 1, 2])
        callbacks = [ProgressBar(), saver, stopping_at(last)]
        model.fit(2, Batches(3), Batches(1), callbacks=callbacks, resume=resume)
        return [re.sub(r"\(\d+\.\d s\)", "(s)", x) for x in capsys.readouterr().out.splitlines()]

    done = (stop - 1) // 3
    lines = [f"epoch {epoch}/2: loss 0.5000, accuracy 0.7500 (s)" for epoch in (1, 2)]
    stopped = ("1 step", "2 steps", "3 steps")[stop - 1 - 3 * done]
    line = f"epoch {done + 1}/2: loss 0.5000, stopped after {stopped} (s)"
    assert run(stop) == [*lines[:done], line]
    assert run(resume=saver.latest_ckpt_file_name) == lines[done:]
