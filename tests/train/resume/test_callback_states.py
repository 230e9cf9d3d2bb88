"""minispore's callbacks decide after a resume as in an uninterrupted run."""

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Tensor, nn, train
from minispore.tensorpack import JSONLWriter, JSONWriter, MaxSaver, MinSaver, ModelSaver
from minispore.train.metrics import Loss
from minispore.train.protocol.outputs import is_finite
from tests.helpers.resumable_training import (
    EVAL_EVENTS,
    TRAIN_EVENTS,
    Fault,
    SimulatedKill,
    Training,
    files_in,
)
from tests.helpers.stub_models import Rows, make
from tests.properties.test_exact_resume import newest, savers


class Print(train.Callback):
    """Print what other callbacks have recorded and decided."""

    def __init__(self, history: train.History) -> None:
        self.history = history

    def on_train_epoch_end(self, run_context: train.RunContext) -> None:
        params = run_context.original_args()
        assert params.optimizer is not None
        print(self.history.epoch, self.history.history, params.optimizer.get_lr())
        print(self.history.learning_rate)

    def on_train_end(self, run_context: train.RunContext) -> None:
        print("end", run_context.original_args().cur_step_num)


def history(folder: Path) -> list[train.Callback]:
    recorded = train.History()
    return [recorded, Print(recorded)]


def plateau(folder: Path) -> list[train.Callback]:
    return [train.ReduceLROnPlateau("accuracy", 0.5, patience=0, verbose=True, cooldown=1)]


def early(folder: Path) -> list[train.Callback]:
    return [train.EarlyStopping("accuracy", patience=1, verbose=True, restore_best_weights=True)]


def early_by_loss(folder: Path) -> list[train.Callback]:
    return [train.EarlyStopping("loss", min_delta=0.5, patience=2)]


def scheduled(folder: Path) -> list[train.Callback]:
    return [train.LearningRateScheduler(lambda rate, step: rate * 0.5 if step % 4 == 0 else rate)]


def best(folder: Path) -> list[train.Callback]:
    return [
        train.BestCheckpoint(
            "accuracy", top_k=2, directory=folder, value_in_name=True, save_last=True
        )
    ]


def table(folder: Path) -> list[train.Callback]:
    return [train.CSVLogger(folder / "run.csv", 2, "\t")]


def averaging(folder: Path) -> list[train.Callback]:
    return [train.WeightAveraging(0.5)]


CALLBACKS: Mapping[str, Callable[[Path], list[train.Callback]]] = {
    make.__name__: make
    for make in (history, plateau, early_by_loss, scheduled, best, table, early, averaging)
}


@given(
    # Both would set the weights with which the training ends.
    names=st.lists(st.sampled_from(list(CALLBACKS)), min_size=1, max_size=4, unique=True).filter(
        lambda names: not {"early", "averaging"} <= {*names}
    ),
    event=st.sampled_from([*TRAIN_EVENTS, *EVAL_EVENTS]),
    times=st.integers(1, 25),
    kind=st.sampled_from(["kill", "stop"]),
    policy=st.tuples(st.integers(1, 7), st.integers(1, 3)),
    first=st.booleans(),
)
def test_resumed_training_equals_uninterrupted(
    tmp_path_factory: pytest.TempPathFactory,
    names: list[str],
    event: str,
    times: int,
    kind: str,
    policy: tuple[int, int],
    first: bool,
) -> None:
    folder = tmp_path_factory.mktemp("run")
    training = Training("shuffled", epochs=6, fault_first=first)

    def callbacks(position: str) -> list[train.Callback]:
        (folder / position).mkdir(exist_ok=True)
        others = [callback for name in names for callback in CALLBACKS[name](folder / position)]
        saving = savers(folder / position / "state", [policy])
        return [*saving, *others] if first else [*others, *saving]

    uninterrupted = training.run(callbacks("a"), Fault())
    training.run(callbacks("b"), Fault(event, times, kind))
    resume = newest(folder / "b" / "state")
    if resume is None:  # a new run leaves the files of an earlier one
        rmtree(folder / "b")
    resumed = training.run(callbacks("b"), Fault(), resume, disturb=2 if resume else 0)
    assert resumed.parameters == uninterrupted.parameters
    assert resumed.lines == uninterrupted.lines[len(uninterrupted.lines) - len(resumed.lines) :]
    for position in (".", "state"):
        assert files_in(folder / "b" / position) == files_in(folder / "a" / position)


# Each saver, given a folder and a name in it.
SAVERS: Mapping[str, Callable[[Path, str], train.Callback]] = {
    "MinSaver": lambda folder, name: MinSaver("score", filename=name, checkpoint_dir=folder),
    "MaxSaver": lambda folder, name: MaxSaver("score", name, folder),
    "ModelSaver": lambda folder, name: ModelSaver(1, checkpoint_dir=folder / name),
    "BestCheckpoint": lambda folder, name: train.BestCheckpoint("score", "min", 1, name, folder),
    "BestCheckpoint safetensors": lambda folder, name: train.BestCheckpoint(
        "score", "max", 2, name, folder, "safetensors"
    ),
    "ModelCheckpoint": lambda folder, name: train.ModelCheckpoint(
        name, folder, train.CheckpointConfig(2, keep_checkpoint_max=1)
    ),
    "ModelCheckpoint of a function": lambda folder, name: train.ModelCheckpoint(
        lambda params: name, folder, train.CheckpointConfig(2)
    ),
    "EarlyStopping": lambda folder, name: train.EarlyStopping(
        "score", patience=9, mode="min", restore_best_weights=True
    ),
    "CSVLogger": lambda folder, name: train.CSVLogger(folder / name, 1),
    "JSONWriter": lambda folder, name: JSONWriter(folder / name),
    "JSONLWriter": lambda folder, name: JSONLWriter(folder / name),
}
FILE_NAMES = ["best", "best.ckpt", "best.v2", "best-1_1.safetensors"]


@pytest.mark.parametrize("name", SAVERS)
@given(
    st.sampled_from(FILE_NAMES),
    st.permutations([1.0, 2.0, 3.0, 4.0]),
    st.sampled_from([*TRAIN_EVENTS, *EVAL_EVENTS]),
    st.integers(1, 12),
    st.sampled_from(["kill", "stop"]),
    st.booleans(),
)
@example("best", [3.0, 1.0, 2.0, 4.0], "on_train_step_begin", 7, "kill", False)
@example("best", [2.0, 4.0, 1.0, 3.0], "on_train_step_end", 7, "stop", True)
@example("best.v2", [3.0, 1.0, 2.0, 4.0], "on_train_step_end", 5, "kill", True)
def test_resumed_savers_keep_what_they_had(
    name: str, file: str, scores: list[float], event: str, times: int, kind: str, first: bool
) -> None:
    """Under each name, and wherever the run was interrupted."""

    def score(run_context: train.RunContext) -> None:
        params = run_context.original_args()
        if params.metrics:
            params.metrics["score"] = params.eval_results["score"] = scores[
                params.cur_epoch_num - 1
            ]

    def run(folder: Path, fault: Fault) -> bytes:
        net = nn.Dense(4, 3, "zeros", "zeros")
        optimizer = nn.SGD(net.trainable_params(), 0.1)
        model = train.Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"score": Loss()})
        (folder / "files").mkdir(exist_ok=True)
        if name in IN_FOLDERS:
            (folder / "files" / file).mkdir(exist_ok=True)
        callbacks = [
            train.LambdaCallback(on_eval_end=score),
            SAVERS[name](folder / "files", file),
            train.BackupAndRestore(folder / "state"),
        ]
        callbacks.insert(0 if first else 3, fault)
        with suppress(SimulatedKill):
            model.fit(4, Rows(8), Rows(4), callbacks=callbacks)
        return net.parameters_dict()["bias"].asnumpy().tobytes()

    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        straight = run(Path(one), Fault())
        run(Path(other), Fault(event, times, kind))
        if not Path(other, "state", "backup.ckpt").exists():
            return  # nothing to resume
        assert run(Path(other), Fault()) == straight
        folders = [Path(folder, "files") for folder in (one, other)]
        if name in IN_FOLDERS:
            folders = [folder / file for folder in folders]
        files = [files_in(folder) for folder in folders]
        assert [*files[1]] == [*files[0]]
        assert files[1] == files[0]


FINITE_SAVERS: Mapping[str, Callable[[Path], train.Callback]] = {
    "ModelCheckpoint": lambda folder: train.ModelCheckpoint(
        "m", folder, train.CheckpointConfig(1, keep_checkpoint_max=1)
    ),
    "ModelCheckpoint with a state": lambda folder: train.ModelCheckpoint(
        "m",
        folder,
        train.CheckpointConfig(2, keep_checkpoint_max=1, append_info=["training_state"]),
    ),
    "ModelCheckpoint by time": lambda folder: train.ModelCheckpoint(
        "m",
        folder,
        train.CheckpointConfig(1, keep_checkpoint_max=0, keep_checkpoint_per_n_minutes=9),
    ),
    "ModelCheckpoint of a name": lambda folder: train.ModelCheckpoint(lambda params: "m", folder),
    "BackupAndRestore": lambda folder: train.BackupAndRestore(folder, delete_checkpoint=False),
    "BestCheckpoint": lambda folder: train.BestCheckpoint("constant", "max", 2, "m", folder),
    "BestCheckpoint of the last epoch": lambda folder: train.BestCheckpoint(
        "loss", "max", directory=folder, save_last=True
    ),
    "ModelSaver": lambda folder: ModelSaver(1, checkpoint_dir=folder),
    "MaxSaver": lambda folder: MaxSaver("constant", checkpoint_dir=folder),
}


@pytest.mark.parametrize("name", FINITE_SAVERS)
@given(st.integers(1, 7), st.booleans(), st.booleans(), st.sampled_from([np.nan, np.inf, -np.inf]))
@example(4, False, True, np.nan)
@example(4, True, True, np.nan)
@example(3, True, False, np.inf)
def test_weights_that_are_not_finite_replace_no_file(
    name: str, bad: int, terminates: bool, first: bool, value: float
) -> None:
    """The files of the last finite weights stay."""

    def spoil(run_context: train.RunContext) -> None:
        params = run_context.original_args()
        if params.cur_step_num == bad:
            weight = params.network.parameters_dict()["weight"]
            weight.set_data(Tensor(np.full(weight.shape, value, np.float32)))

    def constant(run_context: train.RunContext) -> None:
        params = run_context.original_args()
        if params.metrics:
            params.metrics["constant"] = params.eval_results["constant"] = params.cur_epoch_num

    with TemporaryDirectory() as folder, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        model = make({"acc", "loss"})
        model._metrics["constant"] = Loss()
        callbacks = [FINITE_SAVERS[name](Path(folder)), *([train.TerminateOnNaN()] * terminates)]
        events = [
            train.LambdaCallback(on_train_step_end=spoil),
            train.LambdaCallback(on_eval_end=constant),
        ]
        model.fit(4, Rows(8), Rows(8), callbacks=[*events, *callbacks[:: 1 if first else -1]])
        files = [train.load_checkpoint(path)["weight"] for path in Path(folder).glob("*.ckpt")]
    assert all(isinstance(weight, Tensor) and is_finite(weight) for weight in files)
    assert bool(files) == (bad > (1 if name in EACH_STEP else 2))


EACH_STEP = ("ModelCheckpoint", "ModelCheckpoint by time", "ModelCheckpoint of a name")

# Their names are fixed, so the folder has the name.
IN_FOLDERS = ("ModelSaver", "JSONWriter", "JSONLWriter")


def test_early_stopped_training_stays_stopped(tmp_path: Path) -> None:
    training = Training(epochs=6)
    stopped = training.run([*early(tmp_path), *savers(tmp_path, [(1, 1)])], Fault())
    assert len([line for line in stopped.lines if "step: 2," in line]) < 6
    again = training.run([*early(tmp_path), *savers(tmp_path, [(1, 1)])], Fault(), newest(tmp_path))
    assert again.parameters == stopped.parameters
    assert not [line for line in again.lines if "loss is" in line]
