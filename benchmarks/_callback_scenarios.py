"""Small trainings with callbacks, with one of two libraries: `python … mindspore` or `… minispore`.

Both libraries have the same names, so the program is the same. It prints one line of JSON for each
scenario: the events, the printed lines, numbers and files.
"""

import contextlib
import io
import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks._callback_fixture import (
    EVENTS,
    Numbers,
    Run,
    Stage,
    fail,
    files_in,
    in_step,
    scalars,
    stop,
)


def loss_monitor(stage: Stage) -> Numbers:
    """LossMonitor, each step, `train`."""
    stage.train([stage.ms.train.LossMonitor()])
    return stage.weights()


def loss_monitor_in_fit(stage: Stage) -> Numbers:
    """LossMonitor(2), `fit`."""
    stage.fit([stage.ms.train.LossMonitor(2)])
    return stage.weights()


def time_monitor(stage: Stage) -> Numbers:
    """TimeMonitor, `train`."""
    stage.train([stage.ms.train.TimeMonitor()])
    return {}


def time_monitor_in_fit(stage: Stage) -> Numbers:
    """TimeMonitor(data_time=True), `fit`."""
    stage.fit([stage.ms.train.TimeMonitor(data_time=True)])
    return {}


def both_monitors_in_eval(stage: Stage) -> Numbers:
    """LossMonitor and TimeMonitor, `eval`."""
    monitors = [stage.ms.train.LossMonitor(), stage.ms.train.TimeMonitor()]
    callbacks = [*monitors, stage.recorder()]
    results: Mapping[str, float] = stage.model.eval(stage.data(), callbacks, False)
    return dict(results)


def checkpoint(stage: Stage) -> Numbers:
    """ModelCheckpoint: each 2 steps, 2 kept."""
    config = stage.ms.train.CheckpointConfig(save_checkpoint_steps=2, keep_checkpoint_max=2)
    stage.train([stage.ms.train.ModelCheckpoint("net", "out", config)])
    return stage.weights()


def checkpoint_appended(stage: Stage) -> Numbers:
    """ModelCheckpoint: numbers appended, checksum."""
    config = stage.ms.train.CheckpointConfig(
        3, append_info=["epoch_num", "step_num", {"note": 5}], crc_check=True
    )
    stage.train([stage.ms.train.ModelCheckpoint("net", "out", config)])
    loaded: Mapping[str, Any] = stage.ms.load_checkpoint("out/net-2_3.ckpt")
    return {name: loaded[name].asnumpy().tolist() for name in ("epoch_num", "step_num", "note")}


def checkpoint_on_exception(stage: Stage) -> Numbers:
    """ModelCheckpoint(exception_save=True), an exception in step 4."""
    config = stage.ms.train.CheckpointConfig(100, exception_save=True)
    saver = stage.ms.train.ModelCheckpoint("net", "out", config)
    stage.train([saver, stage.callback(on_train_step_end=in_step(4, fail))])
    return {}


def history(stage: Stage) -> Numbers:
    """History, `fit`."""
    callback = stage.ms.train.History()
    stage.fit([callback])
    return {"epoch": callback.epoch["epoch"], **as_numbers(callback.history)}


def early_stopping(stage: Stage) -> Numbers:
    """EarlyStopping, verbose."""
    stopping = stage.ms.train.EarlyStopping("mae", min_delta=0.5, patience=2, verbose=True)
    stage.fit([stopping], epochs=12)
    return {"epochs": stage.events[-1].split()[1], **stage.weights()}


def early_stopping_restores(stage: Stage) -> Numbers:
    """EarlyStopping that restores the best weights."""
    stopping = stage.ms.train.EarlyStopping(
        "mae", min_delta=0.4, patience=1, verbose=True, restore_best_weights=True
    )
    stage.fit([stopping], epochs=12)
    return stage.weights()


def plateau(stage: Stage) -> Numbers:
    """ReduceLROnPlateau, verbose."""
    plateau = stage.ms.train.ReduceLROnPlateau(
        "mae", factor=0.5, patience=1, verbose=True, min_delta=0.5, cooldown=1
    )
    rates: list[float] = []
    recorder = stage.callback(on_train_epoch_end=lambda run: rates.append(rate_of(stage)))
    stage.fit([plateau, recorder], epochs=8)
    return {"rates": rates, **stage.weights()}


def scheduler(stage: Stage) -> Numbers:
    """LearningRateScheduler."""

    def rate(current: float, step: int) -> float:
        return current * 0.5 if step % 2 == 0 else current

    rates: list[float] = []
    recorder = stage.callback(on_train_step_end=lambda run: rates.append(rate_of(stage)))
    stage.train([stage.ms.train.LearningRateScheduler(rate), recorder])
    return {"rates": rates, **stage.weights()}


def lambda_callback(stage: Stage) -> Numbers:
    """LambdaCallback with a function for each event."""
    events: list[str] = []

    def record(event: str, _: Run) -> None:
        events.append(event)

    functions = {event: partial(record, event) for event in EVENTS}
    stage.fit([stage.ms.train.LambdaCallback(**functions)], epochs=1)
    return {"seen": events}


def stop_in_step(stage: Stage) -> Numbers:
    """request_stop() in step 2, `train`."""
    stage.train([stage.callback(on_train_step_end=in_step(2, stop))])
    return stage.weights()


def stop_in_epoch(stage: Stage) -> Numbers:
    """request_stop() at an epoch's end, `train`."""
    stage.train([stage.callback(on_train_epoch_end=in_step(3, stop))])
    return stage.weights()


def stop_in_step_of_fit(stage: Stage) -> Numbers:
    """request_stop() in step 2, `fit`."""
    stage.fit([stage.callback(on_train_step_end=in_step(2, stop))])
    return stage.weights()


def stop_in_evaluation(stage: Stage) -> Numbers:
    """request_stop() in the validation of `fit`."""
    stage.fit([stage.callback(on_eval_begin=stop)])
    return stage.weights()


def exception(stage: Stage) -> Numbers:
    """An exception of a callback in step 2."""
    stage.train([stage.callback(on_train_step_end=in_step(2, fail))])
    return {}


def valid_frequency(stage: Stage) -> Numbers:
    """`fit` with valid_frequency=2 and initial_epoch=1."""
    stage.fit([], epochs=5, valid_frequency=2, initial_epoch=1)
    return stage.weights()


def exit_request(stage: Stage) -> Numbers:
    """OnRequestExit, SIGTERM in step 2."""

    def terminate(_: Run) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    on_exit = stage.ms.train.OnRequestExit(save_ckpt=True, directory="out", file_name="Net")
    stage.train([on_exit, stage.callback(on_train_step_end=in_step(2, terminate))], epochs=4)
    return stage.weights()


def backup(stage: Stage) -> Numbers:
    """BackupAndRestore, twice in a row."""
    restore = stage.ms.train.BackupAndRestore("out", save_freq=2)
    stage.train([restore])
    again = stage.ms.train.BackupAndRestore("out", save_freq=2, delete_checkpoint=False)
    stage.train([again])
    return stage.weights()


def summary_collector(stage: Stage) -> Numbers:
    """SummaryCollector: the scalars in its file."""
    collector = stage.ms.train.SummaryCollector("out", collect_freq=2)
    stage.train([collector])
    (file,) = (name for name in os.listdir("out") if ".summary." in name and "lineage" not in name)
    return scalars(os.path.join("out", file))


def metrics(stage: Stage) -> Numbers:
    """Metrics by name, `eval` of a classifier."""
    ms = stage.ms
    random = np.random.default_rng(3)
    logits = random.normal(size=(12, 3)).astype(np.float32)
    labels = random.integers(0, 3, 12).astype(np.int32)
    source = ms.dataset.NumpySlicesDataset((logits, labels), ["x", "y"], shuffle=False)
    names = {"accuracy", "precision", "recall", "F1", "top_1_accuracy", "loss"}
    net = ms.nn.SequentialCell([ms.nn.Softmax()])
    results: Mapping[str, Any] = ms.train.Model(net, ms.nn.CrossEntropyLoss(), metrics=names).eval(
        source.batch(4), dataset_sink_mode=False
    )
    return {name: np.asarray(value).tolist() for name, value in sorted(results.items())}


def rate_of(stage: Stage) -> float:
    """Return the current learning rate."""
    return float(stage.optimizer.learning_rate.asnumpy())


def as_numbers(history: Mapping[str, list[Any]]) -> Numbers:
    """Return the lists of a history as numbers."""
    return {name: np.asarray(values, float).tolist() for name, values in history.items()}


Train = Callable[[Stage], Numbers]
SCENARIOS: tuple[Train, ...] = (
    loss_monitor, loss_monitor_in_fit, time_monitor, time_monitor_in_fit, both_monitors_in_eval,
    checkpoint, checkpoint_appended, checkpoint_on_exception, history, early_stopping,
    early_stopping_restores, plateau, scheduler, lambda_callback, stop_in_step, stop_in_epoch,
    stop_in_step_of_fit, stop_in_evaluation, exception, valid_frequency, exit_request, backup,
    summary_collector, metrics,
)  # fmt: skip


def run(ms: ModuleType, scenario: Train) -> dict[str, object]:
    """Run a scenario in a temporary folder, and return what is compared."""
    home = os.getcwd()
    printed = io.StringIO()
    numbers: Numbers = {}
    raised = ""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        stage = Stage(ms)
        try:
            with contextlib.redirect_stdout(printed):
                numbers = scenario(stage)
        except Exception as error:
            raised = type(error).__name__
        finally:
            os.chdir(home)
        files = files_in(folder)
    lines = [re.sub(r"\d+\.\d+ ms", "# ms", line) for line in printed.getvalue().splitlines()]
    return {
        "scenario": scenario.__name__,
        "events": stage.events,
        "printed": [line for line in lines if line.strip()],
        "numbers": numbers,
        "files": files,
        "raised": raised,
    }


def main() -> None:
    """Run the given scenarios; all by default."""
    ms = import_module(sys.argv[1])
    import_module(f"{sys.argv[1]}.dataset")
    selected = sys.argv[2:]
    for scenario in SCENARIOS:
        if not selected or scenario.__name__ in selected:
            print(json.dumps(run(ms, scenario)), flush=True)


if __name__ == "__main__":
    main()
