"""A program prints the same lines with the callbacks of minispore and of MindSpore.

The lines of MindSpore 2.10 are recorded in `fixtures/callbacks.txt`. To compare them with those of
an installed MindSpore, set the path of a Python that has it:

    MINISPORE_MINDSPORE_PYTHON=path/to/python pytest tests/oracles/test_mindspore_callbacks.py
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PYTHON = os.environ.get("MINISPORE_MINDSPORE_PYTHON")
ROOT = Path(__file__).parents[2]
PRINTED = Path(__file__).parents[1] / "train" / "fixtures" / "callbacks.txt"

# Without what MindSpore does wrong, which docs/compatibility.md lists: a value of 0, a baseline, a
# patience of 0, restoring weights when nothing stopped the run, and names of values.
PROGRAM = """
import random, sys
from importlib import import_module
import numpy as np

package = sys.argv[1]
ms = import_module(package)
nn, train = import_module(package + ".nn"), import_module(package + ".train")
callback = import_module(package + ".train.callback._callback")
Tensor = ms.Tensor

def context(rate=0.1, **more):
    network = nn.Dense(2, 2)
    optimizer = nn.SGD(network.trainable_params(), rate)
    step = nn.TrainOneStepCell(nn.WithLossCell(network, nn.MSELoss()), optimizer)
    params = callback.InternalCallbackParam()
    params.update(network=network, train_network=step, optimizer=optimizer, batch_num=1, **more)
    return train.RunContext(params)

def decide(one, values, name):
    run = context()
    params = run.original_args()
    one.on_train_begin(run)
    for number, value in enumerate(values, start=1):
        params.update(cur_epoch_num=number, cur_step_num=number)
        params["net_outputs"] = Tensor(value, ms.float32)
        params["metrics"] = {} if name == "loss" else {name: value}
        params["eval_results"] = dict(params["metrics"])
        one.on_train_epoch_end(run)
        lr = float(params["optimizer"].learning_rate.asnumpy())
        print(number, float(one.best), one.wait, run.get_stop_requested(), lr, flush=True)
        if run.get_stop_requested():
            break
    one.on_train_end(run)

NAMES = ["loss", "eval_loss", "mse", "perplexity", "accuracy", "F1", "precision", "dice", "auc"]
LEVELS = [0.1, 0.25, 0.5, 0.75, 1.0, -0.5, float("nan"), float("inf"), -float("inf")]
draw = random.Random(1)
for _ in range(60):
    name = draw.choice(NAMES)
    values = [draw.choice(LEVELS) for _ in range(draw.randint(1, 9))]
    mode, delta = draw.choice(["auto", "min", "max"]), draw.choice([0, 0.25, 0.3, -0.5])
    patience = draw.randint(1, 3)
    print("EarlyStopping", name, mode, delta, patience, values)
    decide(train.EarlyStopping(name, delta, patience, True, mode), values, name)
    factor, cooldown = draw.choice([0.1, 0.5]), draw.randint(0, 3)
    least = draw.choice([0, 0.03, 1e-5, 1])
    print("ReduceLROnPlateau", name, factor, patience, mode, delta, cooldown, least, values)
    arguments = (name, factor, patience, True, mode, delta, cooldown, least)
    decide(train.ReduceLROnPlateau(*arguments), values, name)

print("restore_best_weights")
stopping = train.EarlyStopping("mse", patience=2, verbose=True, restore_best_weights=True)
decide(stopping, [3.0, 1.0, 2.0, 2.0], "mse")

for rate in (0.1, 1 / 3, 1e-5):
    run = context(rate)
    def change(lr, step):
        print("LearningRateScheduler", type(lr).__name__, lr, type(step).__name__, step)
        return lr * 0.7
    scheduler = train.LearningRateScheduler(change)
    for step in range(1, 5):
        run.original_args()["cur_step_num"] = step
        scheduler.on_train_step_end(run)
        print(float(run.original_args()["optimizer"].learning_rate.asnumpy()))

history = train.History()
third = Tensor(np.float32(1 / 3))
outputs = [third, Tensor([0.25, 0.5]), (third, 1), [third, third], 0.1, 3]
for first in (1, 8):
    run = context()
    history.on_train_begin(run)
    for number, output in enumerate(outputs, start=first):
        metrics = {"metrics": {"accuracy": 1 / number}} if number % 2 else {}
        run.original_args().update(cur_epoch_num=number, net_outputs=output, **metrics)
        history.on_train_epoch_end(run)
        run.original_args().pop("metrics", None)
    print("History", history.epoch, history.history)

def recording(name):
    return lambda run: print("LambdaCallback", name, type(run).__name__)
NAMES = "begin epoch_begin step_begin step_end epoch_end end".split()
EVENTS = [f"{kind}_{name}" for kind in ("train", "eval") for name in NAMES]
hooks = {f"on_{event}": recording(event) for event in EVENTS}
one = train.LambdaCallback(**hooks)
for name in hooks:
    getattr(one, name)(run)

def refused(call, *arguments, **options):
    try:
        getattr(train, call)(*arguments, **options)
        print(call, arguments, options, "taken")
    except (TypeError, ValueError) as error:
        print(call, arguments, options, type(error).__name__)

for call in ("EarlyStopping", "ReduceLROnPlateau"):
    for options in (
        {"monitor": 3}, {"mode": "foo"}, {"min_delta": "a"}, {"min_delta": -1}, {"patience": -1},
        {"patience": 1.5}, {"patience": True}, {"verbose": 1},
    ):
        refused(call, **options)
refused("EarlyStopping", restore_best_weights=1)
for options in (
    {"factor": 1.0}, {"factor": 1}, {"factor": 0.0}, {"factor": -0.5}, {"cooldown": -1},
    {"cooldown": 1.5}, {"min_lr": "a"}, {"min_lr": -1}, {"min_lr": 1},
):
    refused("ReduceLROnPlateau", **options)
for options in (
    {"data_size": 0}, {"data_size": 1.5}, {"data_size": None}, {"data_size": 1, "full_flops": 1},
    {"data_size": 1, "enable_ma_collector": 1}, {"data_size": 2, "computility": 1e9},
):
    refused("FlopsUtilizationCollector", **options)
"""


def printed_by(python: str, package: str, folder: Path) -> str:
    done = subprocess.run(
        [python, "-c", PROGRAM, package],
        capture_output=True,
        encoding="utf-8",
        check=False,
        cwd=folder,  # MindSpore writes files into the working directory
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_output_matches_recorded_mindspore_output(tmp_path: Path) -> None:
    assert printed_by(sys.executable, "minispore", tmp_path) == PRINTED.read_text("utf-8")


@pytest.mark.skipif(not PYTHON, reason="MINISPORE_MINDSPORE_PYTHON is not set")
def test_mindspore_output_matches_recording(tmp_path: Path) -> None:
    assert printed_by(str(PYTHON), "mindspore", tmp_path) == PRINTED.read_text("utf-8")
