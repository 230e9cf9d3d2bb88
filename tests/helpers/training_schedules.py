"""Training schedules: steps with changes between them, which run in both modes."""

from collections.abc import Callable, Iterable

import numpy as np

import minispore as ms
from minispore import Parameter, Tensor, nn, ops
from minispore.common.seed import get_rng_state, set_rng_state
from minispore.graph.cache import GraphInfo
from minispore.nn._hooks import HookHandle
from tests.helpers.optimizer_cases import Parameters

CLASSES = 3
FACTOR = 0.5


class Net(nn.Cell):
    """A network as users write them: with layers, a list, numbers and a global variable."""

    WIDTH = 6

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Dense(4, self.WIDTH)
        self.norm = nn.LayerNorm((self.WIDTH,))
        self.head = nn.Dense(self.WIDTH, CLASSES)
        self.scale = 1.5
        self.layers = [nn.ReLU(), nn.Tanh()]
        self.shift = Parameter(Tensor([0.25]), name="shift")

    def activate(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x

    def construct(self, x: Tensor) -> Tensor:
        y = self.activate(self.norm(self.hidden(x)))
        return self.head(y) * self.scale + self.shift * FACTOR + float(self.WIDTH)


class Recurrent(nn.Cell):
    """Sequences of two steps, of which some have one."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(2, 3, 2, batch_first=True, dropout=0.25, bidirectional=True)
        self.head = nn.Dense(6, CLASSES)

    def construct(self, x: Tensor) -> Tensor:
        lengths = (x[:, 0] > 0.0).astype(ms.int32) + 1
        _, (h, _) = self.lstm(x.reshape((-1, 2, 2)), seq_length=lengths)
        return self.head(ops.cat((h[-2], h[-1]), axis=1))


NETWORKS: dict[str, Callable[[], nn.Cell]] = {
    "user": Net,
    "batch norm and dropout": lambda: nn.SequentialCell(
        nn.Dense(4, 6), nn.BatchNorm1d(6), nn.Dropout(p=0.25), nn.Dense(6, CLASSES)
    ),
    "convolution": lambda: nn.SequentialCell(
        nn.Unflatten(1, (1, 2, 2)),
        nn.Conv2d(1, 3, 3, has_bias=True),
        nn.BatchNorm2d(3),
        nn.MaxPool2d(2, 1),
        nn.Flatten(),
        nn.Dense(3, CLASSES),
    ),
    "recurrent": Recurrent,
}


def squared(logits: Tensor, labels: Tensor) -> Tensor:
    return ops.mean((logits - ops.one_hot(labels, CLASSES, 1.0, 0.0)) ** 2)


LOSSES: dict[str, Callable[[], Callable[..., ms.Tensor]]] = {
    "cross entropy": lambda: nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"),
    "smoothed": lambda: nn.CrossEntropyLoss(label_smoothing=0.1),
    "function": lambda: squared,
}
OPTIMIZERS: dict[str, Callable[[Parameters], nn.Optimizer]] = {
    "SGD": lambda params: nn.SGD(params, 0.1),
    "Nesterov": lambda params: nn.SGD(params, 0.1, 0.9, nesterov=True, weight_decay=0.1),
    "Adam": lambda params: nn.Adam(params, nn.cosine_decay_lr(0.01, 0.1, 100, 100, 1)),
    "AdamW": lambda params: nn.AdamWeightDecay(params, 0.1, weight_decay=0.1),
    "schedule": lambda params: nn.Momentum(
        params, nn.ExponentialDecayLR(0.1, 0.5, 3), 0.9, loss_scale=2.0
    ),
}


class Training:
    """A network in training, in one of both modes."""

    def __init__(self, network: str, loss: str, optimizer: str) -> None:
        ms.set_seed(1)
        self.network = NETWORKS[network]().set_train()
        self.optimizer = OPTIMIZERS[optimizer](self.network.trainable_params())
        self.step = nn.TrainOneStepCell(
            nn.WithLossCell(self.network, LOSSES[loss]()), self.optimizer
        )
        self.rng = np.random.default_rng(0)
        self.trace: list[object] = []
        self.handle: HookHandle | None = None

    def batch(self, rows: int = 4) -> tuple[Tensor, Tensor]:
        x = self.rng.standard_normal((rows, 4)).astype(np.float32)
        return Tensor(x), Tensor(self.rng.integers(0, CLASSES, rows).astype(np.int32))

    def train(self, x: Tensor, labels: Tensor) -> None:
        try:
            self.trace.append(self.step(x, labels).asnumpy().tobytes())
        except ValueError as error:
            self.trace.append((type(error), str(error)))
        self.trace.extend(p.asnumpy().tobytes() for p in self.step.get_parameters())
        self.trace.append(str(get_rng_state()["program"]))

    def run(self, actions: Iterable[str], mode: int) -> GraphInfo:
        before = get_rng_state()
        ms.set_context(mode=mode)
        try:
            for action in actions:
                ACTIONS[action](self)
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)
            set_rng_state(before)
        return ms.graph_info(self.step)


def _five_steps(run: Training) -> None:
    for _ in range(5):
        run.train(*run.batch())


def _transposed(run: Training) -> None:
    x, labels = run.batch()
    run.train(Tensor.from_numpy(np.asfortranarray(x.asnumpy())), labels)


def _raising(run: Training) -> None:
    x, _ = run.batch()
    run.train(x, Tensor(np.full(4, CLASSES, np.int32)))


def _rate(run: Training) -> None:
    rate = run.optimizer.learning_rate
    if isinstance(rate, Parameter):
        rate.set_data(rate * 0.5)


def _load(run: Training) -> None:
    weight = run.network.trainable_params()[0]
    weight.set_data(weight * 0.5)


def _write(run: Training) -> None:
    weight = run.network.trainable_params()[0]
    weight[0] = 0.25


def _freeze(run: Training) -> None:
    weight = next(iter(run.network.get_parameters()))
    weight.requires_grad = not weight.requires_grad


def _attribute(run: Training) -> None:
    if isinstance(run.network, Net):
        run.network.scale += 0.5
    else:
        run.network.set_train(not run.network.training)


def _item(run: Training) -> None:
    if isinstance(run.network, Net):
        run.network.layers.reverse()


def _method(run: Training) -> None:
    if isinstance(run.network, Net):
        vars(run.network)["activate"] = ops.tanh


def _clip(run: Training) -> None:
    if run.handle is None:
        run.handle = run.step.register_gradient_hook(lambda g: ops.clip_by_global_norm(g, 0.01))
    else:
        run.handle.remove()
        run.handle = None


def _evaluate(run: Training) -> None:
    x, _ = run.batch()
    run.network.set_train(False)
    run.trace.append(run.network(x).asnumpy().tobytes())
    run.network.set_train()


def _alias(run: Training) -> None:
    """Train on a batch that is the memory of a weight."""
    weight = next(iter(run.network.get_parameters()))
    if weight.shape[1:] == (4,):
        rows = weight.shape[0]
        run.train(Tensor.from_numpy(weight.asnumpy()[:rows]), run.batch(rows)[1])


def _eagerly(run: Training) -> None:
    mode = ms.get_context("mode")
    ms.set_context(mode=ms.PYNATIVE_MODE)
    run.train(*run.batch())
    ms.set_context(mode=mode)


ACTIONS: dict[str, Callable[[Training], None]] = {
    "step": lambda run: run.train(*run.batch()),
    "five steps": _five_steps,
    "other rows": lambda run: run.train(*run.batch(3)),
    "transposed": _transposed,
    "raising": _raising,
    "rate": _rate,
    "load": _load,
    "write": _write,
    "freeze": _freeze,
    "attribute": _attribute,
    "item": _item,
    "method": _method,
    "seed": lambda run: ms.set_seed(5),
    "evaluate": _evaluate,
    "clip": _clip,
    "alias": _alias,
    "eagerly": _eagerly,
}
