"""History: the values recorded in train, fit and eval."""

import copy
import csv
import json
import math
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Tensor, nn, train
from minispore.tensorpack import JSONLWriter, ScalarHistory
from minispore.train.metrics import Metric
from tests.helpers.callback_driver import stopping_at
from tests.helpers.stub_models import Batches, ConstantLoss, Outputs, Rows


def model(loss: float = 0.1) -> train.Model:
    return train.Model(
        ConstantLoss(loss), metrics={"accuracy"}, eval_network=Outputs(), eval_indexes=[0, 1, 2]
    )


def test_resumed_epoch_replaces_interrupted_one(tmp_path: Path) -> None:
    history = train.History()
    config = train.CheckpointConfig(append_info=["training_state"])
    callbacks: list[train.Callback] = [
        history,
        train.ModelCheckpoint("net", tmp_path, config),
        stopping_at(4),
    ]
    model().fit(3, Batches(3), Batches(1), callbacks=callbacks)
    # MindSpore too records an epoch that a stop has interrupted; it has no evaluation.
    assert history.epoch == {"epoch": [1, 2]}
    assert history.history == {"net_output": [0.1] * 2, "accuracy": [0.75]}
    resume = tmp_path / "net-2_1.ckpt"
    model().fit(3, Batches(3), Batches(1), callbacks=callbacks, resume=resume)
    assert history.epoch == {"epoch": [1, 2, 3]}
    assert history.history == {"net_output": [0.1] * 3, "accuracy": [0.75] * 3}


OUTPUTS: st.SearchStrategy[tuple[object, object]] = st.one_of(
    st.sampled_from([0.1, 3, math.inf]).map(lambda x: (x, x)),
    st.sampled_from(["as it is", ()]).map(lambda x: (x, x)),
    # The digits of float32; a Python float would have more.
    st.sampled_from([0.1, 0.3]).map(lambda x: (Tensor(np.float32(x)), x)),
    st.just((np.array([0.1, 0.3], np.float32), 0.2)),
    st.just((np.array([1, 2]), 1.5)),
    st.just(((Tensor([0.25, 0.5]), 7), 0.375)),
)
EPOCHS = st.lists(st.tuples(OUTPUTS, st.none() | st.floats(0, 1)), max_size=4)


@given(runs=st.lists(EPOCHS, max_size=3), first=st.integers(1, 9))
def test_history_extends_over_runs(
    runs: list[list[tuple[tuple[object, object], float | None]]], first: int
) -> None:
    """The state is a copy, and restores an equal history."""
    history = train.History()
    assert train.History().epoch is None
    assert history.state_dict() == {"epoch": [], "history": {}, "learning_rate": {}, "rates": {}}
    rates: list[float] = []
    outputs: list[object] = []
    results: list[object] = []
    number = first - 1
    for run in runs:
        history.on_train_begin(train.RunContext({}))
        epochs: list[int] = []
        for (output, recorded), result in run:
            number += 1
            epochs.append(number)
            params: dict[str, object] = {"cur_epoch_num": number, "net_outputs": output}
            outputs.append(recorded)
            if result is not None:
                params["metrics"] = {"accuracy": result}
                results.append(result)
            rates.append(1 / number)
            params["optimizer"] = nn.SGD(nn.Dense(1, 1).trainable_params(), 1 / number)
            history.on_train_step_begin(train.RunContext(params))
            history.on_train_epoch_end(train.RunContext(params))
        learning_rates = {"learning_rate": pytest.approx(rates)} if rates else {}
        expected: dict[str, list[object]] = {"net_output": outputs} if outputs else {}
        expected |= {"accuracy": results} if results else {}
        assert (history.epoch, history.history) == ({"epoch": epochs}, expected)
        assert history.learning_rate == learning_rates
        state, restored = history.state_dict(), train.History()
        last = {"learning_rate": pytest.approx(rates[-1])} if run else {}
        logged = {"learning_rate": learning_rates, "rates": last}
        assert state == {"epoch": epochs, "history": expected, **logged}
        before = copy.deepcopy(state)
        for stored in (history.history, history.learning_rate):
            for numbers in stored.values():
                numbers.append(2.0)
        assert state == before
        for changed in (history, restored):
            changed.load_state_dict(state)
            changed.on_train_epoch_end(train.RunContext({"cur_epoch_num": 99, "net_outputs": 1.0}))
            for values in (changed.history, changed.learning_rate):
                values.setdefault("accuracy", []).append(2.0)
            assert state == before
            changed.load_state_dict(state)
            assert (changed.epoch, changed.history) == ({"epoch": epochs}, expected)
            assert changed.learning_rate == learning_rates


@given(OUTPUTS)
def test_evaluation_and_custom_loop_count_one_epoch(output: tuple[object, object]) -> None:
    for hook in (train.History.on_train_epoch_end, train.History.on_eval_epoch_end):
        history = train.History()
        hook(history, train.RunContext({"net_outputs": output[0]}))
        assert history.epoch == {"epoch": [1]}
        assert history.history == {"net_output": [output[1]]}
        history.on_eval_begin(train.RunContext({}))
        assert history.epoch == {"epoch": []}


OURS = [
    "epoch", "step", "net_output", "loss", "eval_loss", "learning_rate", "epoch_num", "global_step",
    "eval_epoch", "eval_net_output", "eval_eval_loss", "mode", "metrics",
]  # fmt: skip


class Number(Metric):
    """A metric whose result is given."""

    def __init__(self, number: float) -> None:
        super().__init__()
        self.number = number

    def clear(self) -> None:
        pass

    def update(self, *inputs: object) -> None:
        pass

    def eval(self) -> float:
        return self.number


@given(st.lists(st.sampled_from(OURS), min_size=1, max_size=5, unique=True))
@example(["epoch", "eval_epoch"])
@example(["net_output"])
@example(["loss", "eval_loss", "eval_eval_loss"])
def test_metrics_whose_names_are_ours_replace_nothing(names: list[str]) -> None:
    """Each is there once; where its name is taken, with `eval_` before it."""
    metrics: dict[str, Metric | str] = {name: Number(10.0 + i) for i, name in enumerate(names)}
    net = nn.Dense(4, 3)
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    model = train.Model(net, nn.CrossEntropyLoss(), optimizer, metrics=metrics)
    history, losses, scalars = train.History(), list[float](), ScalarHistory()
    note = train.LambdaCallback(
        on_train_step_end=lambda run: losses.append(run.original_args().net_outputs.item())
    )
    with TemporaryDirectory() as folder, redirect_stdout(StringIO()) as screen:
        table, writer = train.CSVLogger(Path(folder, "run.csv"), 1), JSONLWriter(folder)
        callbacks = [history, note, table, train.ProgressBar(), scalars, writer]
        model.fit(2, Rows(8), Rows(8), callbacks=callbacks)
        text = Path(folder, "run.csv").read_text("utf-8")
        lines = Path(folder, "stats.jsonl").read_text("utf-8").splitlines()

    def name_of(name: str, ours: list[str]) -> str:
        while name in ours:
            name = f"eval_{name}"
            ours = [*ours, *names]
        return name

    rows = list(csv.DictReader(StringIO(text)))
    columns = ["epoch", "step", "net_output", "learning_rate"]
    assert [(row["epoch"], row["step"]) for row in rows] == [
        ("1", "1"), ("1", "2"), ("2", "3"), ("2", "4"),
    ]  # fmt: skip
    assert [float(row["net_output"]) for row in rows] == pytest.approx(losses, rel=1e-5)
    numbers = {name: 10.0 + i for i, name in enumerate(names)}
    in_table = {name_of(name, columns): str(number) for name, number in numbers.items()}
    assert list(rows[1]) == [*columns, *in_table]
    assert {name: rows[1][name] for name in in_table} == in_table
    assert history.epoch == {"epoch": [1, 2]}
    assert history.history["net_output"] == pytest.approx(losses[1::2], rel=1e-5)
    in_history = {name_of(name, ["net_output"]): [n, n] for name, n in numbers.items()}
    assert {name: history.history[name] for name in in_history} == in_history
    assert len(history.history) == 1 + len(names)
    assert [row["learning_rate"] for row in rows] == ["0.1"] * 4
    assert history.learning_rate == {"learning_rate": [0.1, 0.1]}
    printed = [line for line in screen.getvalue().splitlines() if line.startswith("epoch 1/2:")]
    shown = re.findall(r"(?:: |, )(\w+) [\d.]+", printed[-1])
    assert sorted(shown) == sorted(["loss", *(name_of(name, ["loss"]) for name in names)])
    # tensorpack's monitors: the loop's numbers, once in each epoch.
    assert [v for _, v in scalars.get_history("loss")] == pytest.approx(losses[1::2], rel=1e-5)
    assert [v for _, v in scalars.get_history("learning_rate")] == pytest.approx([0.1, 0.1])
    for epoch, line in enumerate(lines, start=1):
        row = json.loads(line)
        assert (row["epoch_num"], row["global_step"]) == (epoch, 2 * epoch)
        assert {*numbers.values()} <= {*row.values()}
