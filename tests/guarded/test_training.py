"""A step of training on a device: to the bit that on the CPU, and nothing copied but the batch."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
import pytest

from minispore import Tensor, nn, set_context, set_seed
from minispore._array import Array, is_host
from minispore.common import Parameter

from .library import Traffic

STEPS = 3
CLASSES = 3

Optimizers: TypeAlias = Callable[[list[Parameter]], nn.Optimizer]
Losses: TypeAlias = Callable[[], nn.Cell]


class Halved(nn.LearningRateSchedule):
    def construct(self, global_step: Tensor) -> Tensor:
        return 0.5 ** (global_step + 1.0)


OPTIMIZERS: dict[str, Optimizers] = {
    "SGD": lambda p: nn.SGD(p, 0.1),
    "SGD, momentum": lambda p: nn.SGD(p, 0.1, 0.9, 0.1, 1e-3),
    "SGD, Nesterov": lambda p: nn.SGD(p, 0.1, 0.9, nesterov=True),
    "Momentum": lambda p: nn.Momentum(p, 0.1, 0.9, 1e-3, 2.0, use_nesterov=True),
    "Adam": lambda p: nn.Adam(p, 0.1, weight_decay=0.1),
    "Adam, AMSGrad": lambda p: nn.Adam(p, use_amsgrad=True, use_nesterov=True),
    "rates in a list": lambda p: nn.SGD(p, [0.1, 0.2, 0.3]),
    "rates by formula": lambda p: nn.Adam(p, nn.ExponentialDecayLR(0.1, 0.5, 2)),
    "rates of one's own": lambda p: nn.SGD(p, Halved()),
    "groups": lambda p: nn.Adam([{"params": p[:1], "lr": 0.2}, {"params": p[1:]}], 0.1),
}
# Each with whether its labels are classes.
LOSSES: dict[str, tuple[Losses, bool]] = {
    "CrossEntropyLoss": (nn.CrossEntropyLoss, True),
    "CrossEntropyLoss, smoothed": (lambda: nn.CrossEntropyLoss(None, 1, "mean", 0.1), True),
    "CrossEntropyLoss, of probabilities": (nn.CrossEntropyLoss, False),
    "CrossEntropyLoss, weighted": (
        lambda: nn.CrossEntropyLoss(Tensor([1.0, 2.0, 3.0]), reduction="sum"),
        True,
    ),
    "SoftmaxCrossEntropyWithLogits": (
        lambda: nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"),
        True,
    ),
    "MSELoss": (nn.MSELoss, False),
    "L1Loss": (nn.L1Loss, False),
    "BCEWithLogitsLoss": (nn.BCEWithLogitsLoss, False),
}
LAYERS: dict[str, Callable[[], nn.Cell]] = {
    "Tanh": nn.Tanh,
    "Sigmoid": nn.Sigmoid,
    "Softmax": nn.Softmax,
    "LogSoftmax": nn.LogSoftmax,
    "Identity": nn.Identity,
}


def network(activation: Callable[[], nn.Cell] = nn.ReLU) -> nn.Cell:
    return nn.SequentialCell(nn.Flatten(), nn.Dense(4, 8), activation(), nn.Dense(8, CLASSES))


def batches(classes: bool) -> Iterator[tuple[Tensor, Tensor]]:
    rng = np.random.default_rng(3)
    for _ in range(STEPS):
        x = rng.normal(size=(5, 2, 2)).astype(np.float32)
        y = rng.integers(0, CLASSES, 5).astype(np.int32)
        yield Tensor(x), Tensor(y if classes else np.eye(CLASSES, dtype=np.float32)[y])


def trained(
    optimizer: Optimizers, loss: Losses, classes: bool, net: nn.Cell, traffic: Traffic | None
) -> list[bytes]:
    """The bytes of all parameters and the last loss; on a device no step may copy anything."""
    cell = nn.TrainOneStepCell(
        nn.WithLossCell(net, loss()), optimizer(net.trainable_params())
    ).set_train()
    value = Tensor(0.0)
    for batch in batches(classes):
        if traffic is not None:
            traffic.clear()
        value = cell(*batch)
        if traffic is not None:
            assert traffic.counts() == (0, 0)
            assert not is_host(value._data)
    return [value.asnumpy().tobytes(), *(p.asnumpy().tobytes() for p in cell.get_parameters())]


def on_both(
    gpu: Traffic,
    optimizer: Optimizers = OPTIMIZERS["Adam"],
    loss: Losses = nn.CrossEntropyLoss,
    classes: bool = True,
    make: Callable[[], nn.Cell] = network,
) -> None:
    found: list[list[bytes]] = []
    for target in ("CPU", "GPU"):
        set_context(device_target=target)
        set_seed(1)
        found.append(trained(optimizer, loss, classes, make(), gpu if target == "GPU" else None))
    assert found[0] == found[1]


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_each_optimizer(gpu: Traffic, optimizer: Optimizers) -> None:
    on_both(gpu, optimizer)


@pytest.mark.parametrize(("loss", "classes"), LOSSES.values(), ids=LOSSES)
def test_each_loss(gpu: Traffic, loss: Losses, classes: bool) -> None:
    on_both(gpu, OPTIMIZERS["SGD, momentum"], loss, classes)


@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)
def test_each_activation(gpu: Traffic, layer: Callable[[], nn.Cell]) -> None:
    on_both(gpu, make=lambda: network(layer))


NETWORKS: dict[str, Callable[[], nn.Cell]] = {
    "convolutions": lambda: nn.SequentialCell(
        nn.Conv2d(1, 4, 3, has_bias=True),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2, 2),
        nn.Conv2d(4, 2, 3, stride=2, pad_mode="pad", padding=1, group=2),
        nn.AvgPool2d(2, 1),
        nn.Flatten(),
        nn.LayerNorm((2,)),
        nn.Dense(2, CLASSES),
    ),
    "embeddings": lambda: nn.SequentialCell(
        nn.Embedding(7, 4), nn.Flatten(), nn.Dense(4 * 36, CLASSES)
    ),
}


@pytest.mark.parametrize("make", NETWORKS.values(), ids=NETWORKS)
def test_each_network(gpu: Traffic, make: Callable[[], nn.Cell]) -> None:
    found: list[list[bytes]] = []
    for target in ("CPU", "GPU"):
        set_context(device_target=target)
        set_seed(1)
        rng = np.random.default_rng(3)
        net = make()
        cell = nn.TrainOneStepCell(
            nn.WithLossCell(net, nn.CrossEntropyLoss()), nn.Adam(net.trainable_params())
        ).set_train()
        value = Tensor(0.0)
        for _ in range(STEPS):
            x = rng.integers(0, 7, (5, 1, 6, 6)).astype(
                np.int32 if make is NETWORKS["embeddings"] else np.float32
            )
            batch = Tensor(x), Tensor(rng.integers(0, CLASSES, 5).astype(np.int32))
            gpu.clear()
            value = cell(*batch)
            assert gpu.counts() == (0, 0)
        found.append([value.asnumpy().tobytes()])
        found[-1] += [p.asnumpy().tobytes() for p in cell.get_parameters()]
    assert found[0] == found[1]


def test_dropout_draws_on_the_host_and_copies_its_mask_once(gpu: Traffic) -> None:
    found: list[bytes] = []
    for target in ("CPU", "GPU"):
        set_context(device_target=target)
        set_seed(1)
        layer, x = nn.Dropout(p=0.5).set_train(), Tensor(np.ones((4, 5), np.float32))
        gpu.clear()
        y = layer(x)
        assert gpu.counts() == ((1, 0) if target == "GPU" else (0, 0))
        found.append(y.asnumpy().tobytes())
    assert found[0] == found[1]


def test_what_the_host_reads_at_each_step_lives_there(gpu: Traffic) -> None:
    weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    adam, sgd = nn.Adam([weight], 0.1), nn.SGD([weight], 0.1, 0.9)

    def on_host(optimizer: nn.Optimizer) -> set[str]:
        return {p.name for p in optimizer.get_parameters() if is_host(p._data)}

    assert on_host(adam) == {"global_step", "learning_rate", "beta1_power", "beta2_power"}
    assert on_host(sgd) == {"global_step", "learning_rate", "momentum", "stat.weight"}
    gpu.clear()
    rate = adam.get_lr()
    assert isinstance(rate, Tensor)
    assert rate.asnumpy() == np.float32(0.1)
    adam.learning_rate = Tensor(0.5).to("CPU")  # type: ignore[assignment]
    gpu.clear()
    adam((Tensor(weight),))
    assert gpu.counts() == (0, 0)
    assert not is_host(weight._data)


@pytest.mark.parametrize("classes", [[3], [-1], [0, 3]], ids=str)
@pytest.mark.parametrize(
    "loss", [nn.CrossEntropyLoss(), nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")]
)
def test_a_label_that_is_no_class_makes_the_loss_nan(
    gpu: Traffic, loss: nn.Cell, classes: list[int]
) -> None:
    logits = Tensor(np.zeros((len(classes), CLASSES), np.float32))
    labels = Tensor(np.array(classes, np.int32))
    gpu.clear()
    value = loss(logits, labels)
    assert gpu.counts() == (0, 0)
    assert np.isnan(value.asnumpy())
    with pytest.raises(ValueError, match="labels"):
        loss(logits.to("CPU"), labels.to("CPU"))


def test_an_improbable_probability_makes_the_loss_nan(gpu: Traffic) -> None:
    given, wanted = Tensor([0.5, 1.5]), Tensor([1.0, 1.0])
    gpu.clear()
    value = nn.BCELoss()(given, wanted)
    assert gpu.counts() == (0, 0)
    assert np.isnan(value.asnumpy())
    with pytest.raises(RuntimeError, match=r"must be in \[0, 1\]"):
        nn.BCELoss()(given.to("CPU"), wanted.to("CPU"))


def test_a_large_parameter_is_updated_at_once(
    gpu: Traffic, monkeypatch: pytest.MonkeyPatch
) -> None:
    from minispore.nn.optim import _blocks

    monkeypatch.setattr(_blocks, "BLOCK", 4)
    plan = _blocks.Blocks().of
    there, here = Tensor(np.zeros((8, 2))), np.zeros((8, 2))
    assert len(plan(there._data)) == 1
    host: Array = here  # type: ignore[assignment]
    assert len(_blocks.Blocks().of(host)) == 4
