"""ProgressBar: where a bar is shown, and the lines of epochs."""

import io
import math
import re
import sys
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType

import pytest
import tqdm
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Tensor, nn, train
from minispore.train.protocol.callback import InternalCallbackParam
from minispore.utils import progress
from minispore.utils.progress import format_number
from tests.helpers.callback_driver import stopping_at
from tests.helpers.stub_models import Batches, ConstantLoss, Outputs, Rows


class Bar:
    """A bar of tqdm that records the calls of its methods."""

    made: list["Bar"]

    def __init__(
        self,
        total: int,
        desc: str,
        unit: str,
        leave: bool,
        disable: bool,
        miniters: int,
        file: object = None,
        mininterval: float = 0.1,
    ) -> None:
        assert (file is None) == (mininterval == 0.1)
        self.file = file
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


@pytest.mark.parametrize("shell", ["ZMQInteractiveShell", "TerminalInteractiveShell", None])
@pytest.mark.parametrize("widgets", [True, False])
@pytest.mark.parametrize("terminal", [True, False, None])
def test_bar_is_shown_on_a_terminal_and_in_a_notebook(
    shell: str | None, widgets: bool, terminal: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With widgets it is tqdm's bar for notebooks, and otherwise text on the standard output."""

    class Plain(Bar):
        made: list[Bar] = []

    class Notebook(Bar):
        made: list[Bar] = []

    module = ModuleType("tqdm.notebook")
    monkeypatch.setattr(module, "tqdm", Notebook, raising=False)
    monkeypatch.setitem(sys.modules, "tqdm.notebook", module)
    monkeypatch.setattr(tqdm, "tqdm", Plain)
    kernel = shell == "ZMQInteractiveShell"
    ipython = ModuleType("IPython")
    ipython.get_ipython = lambda: type(shell, (), {})() if shell else None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    found = {"ipywidgets": widgets}
    monkeypatch.setattr(progress, "find_spec", lambda name: True if found[name] else None)
    streams = {True: Terminal(), False: io.StringIO(), None: None}
    monkeypatch.setattr(sys, "stderr", streams[terminal])
    train.Model(ConstantLoss()).train(2, Batches(3), train.ProgressBar())
    made, others = Plain.made, Notebook.made
    if kernel and widgets:
        made, others = others, made
    steps = ["loss 0.500", "+1"] * 3
    assert [bar.calls for bar in made] == [
        [f"epoch {epoch}/2: 3 steps", *steps, "closed"] for epoch in (1, 2)
    ]
    assert not others
    assert all(bar.shown == bool(terminal or kernel) for bar in made)
    assert all((bar.file is sys.stdout) == (kernel and not widgets) for bar in made)


@pytest.mark.parametrize("stop", [1, 2, 3, 4])
def test_lines_of_a_resumed_run_are_those_of_one_run(
    stop: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The line of an interrupted epoch has the mean loss and the number of its steps."""
    monkeypatch.setattr(Bar, "made", [], raising=False)
    monkeypatch.setattr(tqdm, "tqdm", Bar)
    config = train.CheckpointConfig(append_info=["training_state"])
    saver = train.ModelCheckpoint("m", tmp_path, config)

    def run(last: int = 0, resume: str | None = None) -> list[str]:
        model = train.Model(
            ConstantLoss(), None, None, {"accuracy"}, Outputs(), eval_indexes=[0, 1, 2]
        )
        callbacks = [train.ProgressBar(), saver, stopping_at(last)]
        model.fit(2, Batches(3), Batches(1), callbacks=callbacks, resume=resume)
        return [re.sub(r"\(\d+\.\d s\)", "(s)", x) for x in capsys.readouterr().out.splitlines()]

    done = (stop - 1) // 3
    lines = [f"epoch {epoch}/2: loss 0.5000, accuracy 0.7500 (s)" for epoch in (1, 2)]
    stopped = ("1 step", "2 steps", "3 steps")[stop - 1 - 3 * done]
    line = f"epoch {done + 1}/2: loss 0.5000, stopped after {stopped} (s)"
    assert run(stop) == [*lines[:done], line]
    Bar.made.clear()
    assert run(resume=saver.latest_ckpt_file_name) == lines[done:]
    first = stop - 3 * done  # the bar of the epoch begins with the steps of the stopped run
    steps = [f"+{first}", *["loss 0.500", "+1"] * (3 - first)]
    assert Bar.made[0].calls == [f"epoch {done + 1}/2: 3 steps", *steps, "closed"]


class NoOutputs(nn.Cell):
    """A training network without a loss."""

    def construct(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        return ()


def test_missing_loss_is_nan_and_results_may_be_arrays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = train.CSVLogger(tmp_path / "run.csv")
    model = train.Model(NoOutputs(), None, None, {"recall"}, Outputs(), eval_indexes=[0, 1, 2])
    model.fit(1, Batches(3), Rows(), callbacks=[train.ProgressBar(), table])
    [row] = table.rows
    assert f"epoch 1/1: loss nan, recall {row['recall']} (" in capsys.readouterr().out
    assert math.isnan(float(str(row["net_output"])))


FINITE = st.floats(-1e300, 1e300)


@given(loss=FINITE, metric=FINITE)
@example(loss=9.1e-8, metric=1e-300)
@example(loss=0.000999, metric=0.00101)
def test_printed_numbers_are_near_the_values(loss: float, metric: float) -> None:
    """Also those that four decimals cannot show."""
    params = InternalCallbackParam(
        cur_epoch_num=1, initial_epoch=0, epoch_num=1, batch_num=1, net_outputs=loss,
        metrics={"error": metric},
    )  # fmt: skip
    bar, context = train.ProgressBar(), train.RunContext(params)
    bar.on_train_epoch_begin(context)
    bar.on_train_step_end(context)
    with redirect_stdout(io.StringIO()) as screen:
        bar.on_train_epoch_end(context)
    match = re.fullmatch(r"epoch 1/1: loss (\S+), error (\S+) \(.* s\)\n", screen.getvalue())
    assert match is not None
    for text, value in zip(match.groups(), (loss, metric), strict=True):
        assert float(text) == pytest.approx(value, rel=0.05, abs=0.0)
        short = format_number(value, 3)
        assert float(short) == pytest.approx(value, rel=0.05, abs=0.0)
        assert len(short) < 12 or abs(value) >= 1e6
