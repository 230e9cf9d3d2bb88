"""Large trainings: they end, and memory does not grow during them."""

import copy
import gc
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from minispore import Tensor, nn, ops, train
from minispore import dataset as ds

# The default time limit is too short on a busy machine.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

LAYERS = 50_000
STEPS = 1_000_000
CHECKPOINTS = 100_000
CALLBACKS = 10_000
ROWS = 10_000_000
# Memory that an allocator may keep.
SPARE = 16 << 20


def memory() -> int:
    """Return the resident memory of this process in bytes."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class Measured(train.Callback):
    """Record the memory after a tenth of the steps and at the end."""

    def __init__(self, steps: int) -> None:
        self.tenth = steps // 10
        self.before = self.after = 0

    def on_train_step_end(self, run_context: train.RunContext) -> None:
        if run_context.original_args().cur_step_num == self.tenth:
            self.before = memory()

    def on_train_end(self, run_context: train.RunContext) -> None:
        self.after = memory()

    def check(self) -> None:
        assert 0 < self.after < self.before + SPARE


def rows(count: int) -> ds.Dataset:
    x = np.ones((count, 1), np.float32)
    return ds.NumpySlicesDataset({"x": x, "y": x}, shuffle=False).batch(1)


def model(network: nn.Cell) -> train.Model:
    return train.Model(network, nn.MSELoss(), nn.SGD(network.trainable_params(), 1e-9))


def quiet() -> list[train.Callback]:
    """Return callbacks that act at every step and print nothing."""
    return [
        train.LossMonitor(10**9),
        train.TimeMonitor(10**9),
        train.History(),
        train.EarlyStopping("loss", patience=10**9),
        train.LambdaCallback(
            on_train_step_end=lambda context: context.original_args().cur_step_num
        ),
    ]


def test_network_of_many_layers(tmp_path: Path) -> None:
    cells = nn.CellList([nn.Dense(2, 2, 0.5, 0.25)])
    for _ in range(LAYERS - 2):
        cells.append(nn.Dense(2, 2, 0.5, 0.25))
    network = nn.SequentialCell(list(cells))
    network.append(nn.Dense(2, 1, 1.0, 0.0))
    assert len(network.trainable_params()) == 2 * LAYERS
    assert repr(network).count("Dense") == LAYERS
    last = dict(network.parameters_and_names())[f"{LAYERS - 1}.bias"]
    assert last.name == f"{LAYERS - 1}.bias"

    another = copy.deepcopy(network)
    x = ops.ones((1, 2))
    before = network(x).item()
    model(network).train(1, ds.NumpySlicesDataset({"x": [[1.0, 1.0]], "y": [[0.5]]}).batch(1))
    assert network(x).item() != before
    assert another(x).item() == before

    train.save_checkpoint(another, tmp_path / "x.ckpt")
    assert train.load_param_into_net(network, train.load_checkpoint(tmp_path / "x.ckpt")) == (
        [],
        [],
    )
    assert network(x).item() == before


def test_many_steps() -> None:
    epochs = 10
    measured = Measured(STEPS)
    model(nn.Dense(1, 1)).train(epochs, rows(STEPS // epochs), [*quiet(), measured])
    measured.check()


def test_many_checkpoints(tmp_path: Path) -> None:
    config = train.CheckpointConfig(save_checkpoint_steps=1, keep_checkpoint_max=3)
    saving, measured = train.ModelCheckpoint("net", tmp_path, config), Measured(CHECKPOINTS)
    model(nn.Dense(1, 1)).train(1, rows(CHECKPOINTS), [saving, measured])
    measured.check()
    last = range(CHECKPOINTS - 2, CHECKPOINTS + 1)
    names = {"net-graph.meta", *(f"net-1_{step}.ckpt" for step in last)}
    assert set(os.listdir(tmp_path)) == names


def test_many_callbacks(tmp_path: Path) -> None:
    counts = [0, 0]

    class Counts(train.Callback):
        def on_train_step_end(self, run_context: train.RunContext) -> None:
            counts[0] += 1

        def state_dict(self) -> dict[str, object]:
            return {"count": counts[0]}

        def load_state_dict(self, state: object) -> None:
            counts[1] += 1

    config = train.CheckpointConfig(save_checkpoint_steps=4, append_info=["training_state"])
    latest = ""
    for epoch in (1, 2):
        saving = train.ModelCheckpoint("net", tmp_path, config)
        callbacks = [*(Counts() for _ in range(CALLBACKS)), saving]
        model(nn.Dense(1, 1)).train(epoch, rows(4), callbacks, resume=latest or None)
        latest = saving.latest_ckpt_file_name
    assert counts == [2 * 4 * CALLBACKS, CALLBACKS]


CLASSES = 4
BATCH = 10_000
SCORES = np.random.default_rng(1).random((BATCH, CLASSES), np.float32)
TRUE = np.random.default_rng(2).integers(0, CLASSES, BATCH).astype(np.int32)
X, ZEROS = Tensor(SCORES[:, 0]), ops.zeros((BATCH,))
# A metric, one batch for it, and the number of batches.
METRICS: list[tuple[Callable[[], train.Metric], tuple[Tensor, ...], int]] = [
    *(
        (make, (Tensor(SCORES), Tensor(TRUE)), ROWS // BATCH)
        for make in (
            *(train.Accuracy, train.F1, train.Perplexity, train.Precision, train.Recall),
            lambda: train.ConfusionMatrix(CLASSES),
            lambda: train.TopKCategoricalAccuracy(2),
        )
    ),
    (train.MAE, (X, ZEROS), ROWS // BATCH),
    (train.MSE, (X, ZEROS), ROWS // BATCH),
    (train.Loss, (Tensor(0.5),), STEPS),
    (train.ROC, (X, Tensor((TRUE > 1).astype(np.int32))), ROWS // BATCH),
]


def result(metric: train.Metric) -> npt.NDArray[np.float64]:
    """Return the value of a metric; of a curve the area."""
    if isinstance(metric, train.ROC):
        fpr, tpr, _ = metric.eval()
        return np.asarray(train.auc(np.asarray(fpr), np.asarray(tpr)))
    return np.asarray(metric.eval(), np.float64)


@pytest.mark.parametrize(("make", "inputs", "batches"), METRICS)
def test_metrics_of_many_rows(
    make: Callable[[], train.Metric], inputs: tuple[Tensor, ...], batches: int
) -> None:
    """Update with the same batch repeatedly; memory does not grow.

    A curve needs all rows: a score and a label of four bytes each, and half as much.
    """
    metric, alone = make(), make()
    for _ in range(batches // 10):
        metric.update(*inputs)
    before = memory()
    for _ in range(batches - batches // 10):
        metric.update(*inputs)
    assert memory() - before < (1.5 * 8 * ROWS if make is train.ROC else SPARE)
    alone.update(*inputs)
    times = batches if isinstance(metric, train.ConfusionMatrix) else 1
    np.testing.assert_allclose(
        result(metric), result(alone) * times, rtol=1e-7 if make is train.ROC else 1e-9
    )
