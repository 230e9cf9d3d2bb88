# ruff: noqa: NPY002 (the tests cover users' draws from numpy's global state)
"""A configurable training that can be interrupted anywhere and resumed."""

import contextlib
import io
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from minispore import Tensor, nn, set_seed
from minispore.dataset import (
    Dataset,
    GeneratorDataset,
    NumpySlicesDataset,
    Sampler,
    WeightedRandomSampler,
)
from minispore.dataset.transforms import RandomChoice, RandomOrder
from minispore.dataset.vision import Rescale
from minispore.nn import exponential_decay_lr
from minispore.ops.seed import generator
from minispore.train import Callback, LossMonitor, Model, RunContext
from minispore.train.protocol.dataset import DatasetLike

ROWS, BATCH = 18, 4
X = np.linspace(-1, 1, 3 * ROWS, dtype=np.float32).reshape(ROWS, 3)
Y = (np.arange(ROWS) % 3).astype(np.int32)


class SimulatedKill(BaseException):
    """A simulated kill, which no `except Exception` catches."""


def noise(x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return x + np.float32(0.1 * np.random.standard_normal() + 0.1 * random.random())


class Jitter:
    """A transform with a random generator of its own."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(5)

    def __call__(self, x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        return x + self.rng.random(x.shape, np.float32)

    def state_dict(self) -> dict[str, object]:
        return dict(self.rng.bit_generator.state)

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        self.rng.bit_generator.state = dict(state)


class Draws(Sampler):
    def __iter__(self) -> Iterator[int]:
        return iter(np.random.permutation(self.dataset_size).tolist())


def random_rows() -> Iterator[tuple[npt.NDArray[np.float32], np.int32]]:
    for x, y in zip(X, Y, strict=True):
        yield x * np.float32(random.random()), y


class Foreign:
    """A dataset that implements only the protocol, with another order in each epoch."""

    def __init__(self, rng: np.random.Generator | None) -> None:
        self.rng = rng

    def get_dataset_size(self) -> int:
        return 5

    def create_tuple_iterator(self, *, num_epochs: int) -> "Foreign":
        return self

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        rng = self.rng
        order = np.random.permutation(ROWS) if rng is None else rng.permutation(ROWS)
        for i in range(0, ROWS, BATCH):
            rows = order[i : i + BATCH]
            yield Tensor(X[rows]), Tensor(Y[rows])


def arrays(sampler: Sampler | WeightedRandomSampler | None = None) -> Dataset:
    return NumpySlicesDataset({"x": X, "y": Y}, sampler=sampler)


RANDOM = RandomOrder([RandomChoice([Rescale(2.0, 0.0), Rescale(1.0, 0.5)]), Rescale(1.5, -0.5)])
PIPELINES: dict[str, Callable[[], DatasetLike]] = {
    "in order": lambda: NumpySlicesDataset({"x": X, "y": Y}, shuffle=False).batch(BATCH),
    "sampled": lambda: arrays().batch(BATCH),
    "shuffled": lambda: arrays().shuffle(5).batch(BATCH, drop_remainder=True),
    "mapped": lambda: arrays().map(noise, ["x"]).batch(BATCH),
    "noise in a buffer": lambda: arrays().map(noise, ["x"]).shuffle(5).batch(BATCH),
    "noise ahead": lambda: arrays().map(noise, ["x"]).take(5).map(noise, ["x"]).batch(2),
    "random transform": lambda: arrays().map(RANDOM, ["x"]).skip(1).batch(BATCH),
    "random transform of noise": lambda: arrays().map([noise, RANDOM], ["x"]).batch(BATCH),
    "batched by length": lambda: arrays().bucket_batch_by_length(["y"], [1, 2], [3, 2, 4], int),
    "repeated": lambda: arrays().shuffle(3).take(7).repeat(2).batch(BATCH),
    "split": lambda: arrays().split([10, 8])[0].batch(BATCH),
    "split in a buffer": lambda: arrays().shuffle(4).split([10, 8])[0].batch(BATCH),
    "repeated without end": lambda: arrays().shuffle(3).repeat().take(40).batch(8),
    "split of drawn rows": lambda: (
        arrays().map(RANDOM, ["x"]).filter(lambda y: y < 9, "y").split([10, 8])[0].batch(BATCH)
    ),
    "weighted": lambda: arrays(WeightedRandomSampler([1.0, 2.0] * 9)).batch(BATCH),
    "own sampler": lambda: arrays(Draws()).batch(BATCH),
    "generated": lambda: GeneratorDataset(random_rows, ["x", "y"]).batch(BATCH),
    "own generator": lambda: arrays().map(Jitter(), ["x"]).shuffle(4).batch(BATCH),
    "batched by a function": lambda: arrays().batch(lambda info: 2 + info.get_batch_num() % 3),
    "foreign": lambda: Foreign(None),
    "foreign with a generator": lambda: Foreign(np.random.default_rng(3)),
}

Optimizers = Callable[[Sequence[object]], nn.Optimizer]
OPTIMIZERS: dict[str, Callable[[nn.Cell], nn.Optimizer]] = {
    "sgd": lambda net: nn.SGD(net.trainable_params(), 0.1, momentum=0.9, nesterov=True),
    "momentum": lambda net: nn.Momentum(
        net.trainable_params(), exponential_decay_lr(0.2, 0.9, 100, 5, 2), 0.9
    ),
    "adam": lambda net: nn.Adam(
        net.trainable_params(), nn.CosineDecayLR(0.01, 0.1, 30), use_amsgrad=True
    ),
}


class Average(Callback):
    """Print the losses of each epoch; a callback with a large state."""

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.best: Tensor | None = None
        self.worst: float = float("-inf")

    def on_train_begin(self, run_context: RunContext) -> None:
        self.__init__()  # type: ignore[misc]

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        self.losses = []

    def on_train_step_end(self, run_context: RunContext) -> None:
        loss = run_context.original_args().net_outputs
        self.losses.append(float(loss.asnumpy()))
        self.worst = max(self.worst, self.losses[-1])
        if self.best is None or loss.asnumpy() < self.best.asnumpy():
            self.best = loss

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        assert self.losses[-1] == float(params.net_outputs.asnumpy())
        print(params.cur_epoch_num, params.cur_step_num, self.losses, self.best, self.worst)

    def state_dict(self) -> dict[str, object]:
        return {"losses": self.losses, "best": self.best, "worst": self.worst}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        self.losses = list(state["losses"])  # type: ignore[call-overload]
        self.best = state["best"]  # type: ignore[assignment]
        assert isinstance(state["worst"], float)
        self.worst = state["worst"]


class HalveRate(Callback):
    """Halve the learning rate at the beginning of each epoch, and draw a random number."""

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        np.random.standard_normal()
        optimizer = run_context.original_args().optimizer
        assert optimizer is not None
        rate = optimizer.learning_rate
        if isinstance(rate, Tensor):
            rate.set_data(rate / 2)


class Fault(Callback):
    """Kill or stop the run at a given event."""

    def __init__(self, event: str = "", times: int = 0, kind: str = "") -> None:
        self.event, self.times, self.kind = event, times, kind
        self.remaining = times

    def __repr__(self) -> str:
        return f"Fault({self.event!r}, {self.times}, {self.kind!r})"

    def act(self, event: str, run_context: RunContext) -> None:
        if event != self.event:
            return
        self.remaining -= 1
        if self.remaining == 0 and self.kind == "stop":
            run_context.request_stop()
        elif self.remaining == 0:
            raise SimulatedKill


def _make(event: str) -> Callable[[Fault, RunContext], None]:
    return lambda self, run_context: self.act(event, run_context)


TRAIN_EVENTS = [
    "on_train_begin",
    "on_train_epoch_begin",
    "on_train_step_begin",
    "on_train_step_end",
    "on_train_epoch_end",
    "on_train_end",
]
EVAL_EVENTS = ["on_eval_begin", "on_eval_step_begin", "on_eval_step_end", "on_eval_end"]
for _event in (*TRAIN_EVENTS, *EVAL_EVENTS):
    setattr(Fault, _event, _make(_event))


@dataclass(frozen=True)
class Training:
    pipeline: str = "sampled"
    optimizer: str = "sgd"
    epochs: int = 3
    fit: bool = True
    seed: int | None = 1
    fault_first: bool = False

    def run(
        self,
        savers: Sequence[Callback],
        fault: Fault,
        resume: str | Path | None = None,
        disturb: int = 0,
    ) -> "Outcome":
        """Run the training with new objects, as in a new program."""
        set_seed(self.seed or 0)
        random.seed(1)
        np.random.seed(2)
        data, valid = PIPELINES[self.pipeline](), arrays().batch(5)
        net = nn.SequentialCell(nn.Dense(3, 5), nn.Tanh(), nn.Dropout(p=0.3), nn.Dense(5, 3))
        optimizer = OPTIMIZERS[self.optimizer](net)
        model = Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy", "loss"})
        callbacks = [HalveRate(), LossMonitor(2), Average(), *savers]
        callbacks.insert(0 if self.fault_first else len(callbacks), fault)
        for _ in range(disturb):  # a resumed run does not depend on what came before
            np.random.standard_normal()
            random.random()
            generator("dropout").random()
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.suppress(SimulatedKill):
            if self.fit:
                model.fit(self.epochs, data, valid, min(2, self.epochs), callbacks, resume=resume)
            else:
                model.train(self.epochs, data, callbacks, resume=resume)
        parameters = {p.name: p.asnumpy().tobytes() for p in model.train_network.get_parameters()}
        return Outcome(out.getvalue().splitlines(), parameters)


@dataclass(frozen=True)
class Outcome:
    lines: list[str]
    parameters: dict[str, bytes]


def files_in(folder: Path) -> dict[str, bytes]:
    """Return the files in a folder without the temporary ones that a kill may leave."""
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.is_file() and not path.name.startswith(".")
    }
