"""Trainings in concurrent threads: each computes the same bits as alone."""

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minispore import Tensor, nn, ops, set_seed, train
from minispore.dataset import NumpySlicesDataset
from minispore.tensorpack import InferenceRunner, JSONWriter, ModelSaver, ScalarStats
from minispore.testing._leaks import ProcessResources
from tests.faults.kill_harness import check_files, output_files

THREADS = 3
Result = dict[str, bytes]


class Network(nn.Cell):
    """A network that records a summary of its hidden values."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.hidden = nn.Dense(4, width)
        self.out = nn.Dense(width, 3)
        self.summary = ops.ScalarSummary()

    def construct(self, x: Tensor) -> Tensor:
        hidden = ops.tanh(self.hidden(x))
        self.summary("hidden", hidden.mean())
        return self.out(hidden)


class Training:
    """The model, data and callbacks of a training, created in one thread and run in another."""

    def __init__(self, number: int, folder: Path) -> None:
        set_seed(number)
        rng = np.random.default_rng(number)
        x = rng.standard_normal((40, 4)).astype(np.float32)
        y = (np.arange(40) % 3).astype(np.int32)
        self.folder = folder
        # Nothing here is random: all threads share the random streams of the process.
        self.data = NumpySlicesDataset({"x": x, "y": y}, shuffle=False).batch(5)
        self.net = Network(20 + number)
        self.model = train.Model(
            self.net,
            nn.CrossEntropyLoss(),
            nn.Adam(self.net.trainable_params(), 0.01),
            metrics={"accuracy"},
        )

    def callbacks(self) -> list[train.Callback]:
        config = train.CheckpointConfig(4, keep_checkpoint_max=2, async_save=True)
        return [
            train.ModelCheckpoint("weights", self.folder, config),
            train.BestCheckpoint("accuracy", directory=self.folder),
            train.EarlyStopping("accuracy", patience=50),
            train.BackupAndRestore(self.folder),
            train.SummaryCollector(str(self.folder), 1),
            JSONWriter(self.folder),
            ModelSaver(2, checkpoint_dir=self.folder),
            InferenceRunner(self.data, ScalarStats("loss")),
        ]

    def run(self) -> Result:
        self.model.fit(2, self.data, self.data, callbacks=self.callbacks())
        assert check_files(self.folder) == (0, 0)
        trained = {p.name: p.asnumpy().tobytes() for p in self.model.train_network.get_parameters()}
        files = output_files(self.folder)
        assert any("hidden" in name for name in files)
        return trained | {
            name: content for name, content in files.items() if not name.startswith("tensorboard")
        }


def in_threads(tasks: list[Callable[[], Result]]) -> list[Result]:
    """Return the results of functions that run at the same time; raise the first error."""
    results: dict[int, Result] = {}
    errors: list[BaseException] = []
    ready = threading.Barrier(len(tasks))

    def do(number: int, work: Callable[[], Result]) -> None:
        try:
            ready.wait()
            results[number] = work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=do, args=item) for item in enumerate(tasks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        raise error
    return [results[number] for number in range(len(tasks))]


@pytest.mark.parametrize("turns", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_trainings_in_threads_equal_sequential_ones(
    tmp_path: Path, turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = ProcessResources.capture()
    for turn in range(turns):
        alone = [Training(n, tmp_path / f"alone {turn} {n}").run() for n in range(THREADS)]
        trainings = [Training(n, tmp_path / f"concurrent {turn} {n}") for n in range(THREADS)]
        concurrent = in_threads([training.run for training in trainings])
        for one, other in zip(alone, concurrent, strict=True):
            assert other == one
    assert not list(before.leaks())


def test_recording_is_local_to_a_thread() -> None:
    """One thread computes gradients while others compute without recording."""

    def cubes(x: Tensor) -> Tensor:
        return (x * x * x).sum()

    def work(record: bool) -> Result:
        x = Tensor(np.linspace(-1, 1, 7, dtype=np.float32))
        rows: list[bytes] = []
        for _ in range(200):
            if record:
                rows.append(ops.grad(cubes)(x).asnumpy().tobytes())
            else:
                assert (x * x)._node is None
                rows.append((3.0 * x * x).asnumpy().tobytes())
        assert len(set(rows)) == 1
        return {"gradient": rows[0]}

    results = in_threads([lambda: work(True), lambda: work(False)] * 2)
    assert results[0] == results[2]
    assert results[1] == results[3]
