"""Training steps on a device: bitwise those of the CPU, and only the batch is copied."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from minispore import Tensor, nn, set_context, set_seed
from minispore.common import Parameter
from minispore.engine.array import Array, is_host
from tests.strict_device.steps import (
    CLASSES,
    LAYERS,
    LOSSES,
    NETWORKS,
    OPTIMIZERS,
    Losses,
    Optimizers,
    network,
    steps,
)
from tests.strict_device.strict_backend import TransferCounter

# A network, an optimizer, and a loss with whether its labels are classes.
Case = tuple[Callable[[], nn.Cell], Optimizers, tuple[Losses, bool]]
ADAM, MOMENTUM = OPTIMIZERS["Adam"], OPTIMIZERS["SGD, momentum"]
ENTROPY = LOSSES["CrossEntropyLoss"]
CASES: dict[str, Case] = {
    **{name: (network, optimizer, ENTROPY) for name, optimizer in OPTIMIZERS.items()},
    **{name: (network, MOMENTUM, loss) for name, loss in LOSSES.items()},
    **{name: (partial(network, layer), ADAM, ENTROPY) for name, layer in LAYERS.items()},
    **{name: (make, ADAM, ENTROPY) for name, make in NETWORKS.items()},
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_steps_are_bitwise_those_of_the_cpu(gpu: TransferCounter, case: Case) -> None:
    def still() -> None:
        assert gpu.counts() == (0, 0)

    make, optimizer, (loss, classes) = case
    here = steps("CPU", make, optimizer, loss, classes)
    there = steps("GPU", make, optimizer, loss, classes, gpu.clear, still)
    assert [x.tobytes() for x in there] == [x.tobytes() for x in here]


def test_dropout_copies_its_mask_once(gpu: TransferCounter) -> None:
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


def test_values_read_at_each_step_are_on_the_host(gpu: TransferCounter) -> None:
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
def test_invalid_label_gives_a_nan_loss(
    gpu: TransferCounter, loss: nn.Cell, classes: list[int]
) -> None:
    logits = Tensor(np.zeros((len(classes), CLASSES), np.float32))
    labels = Tensor(np.array(classes, np.int32))
    gpu.clear()
    value = loss(logits, labels)
    assert gpu.counts() == (0, 0)
    assert np.isnan(value.asnumpy())
    with pytest.raises(ValueError, match="labels"):
        loss(logits.to("CPU"), labels.to("CPU"))


def test_invalid_probability_gives_a_nan_loss(gpu: TransferCounter) -> None:
    given, wanted = Tensor([0.5, 1.5]), Tensor([1.0, 1.0])
    gpu.clear()
    value = nn.BCELoss()(given, wanted)
    assert gpu.counts() == (0, 0)
    assert np.isnan(value.asnumpy())
    with pytest.raises(RuntimeError, match=r"must be in \[0, 1\]"):
        nn.BCELoss()(given.to("CPU"), wanted.to("CPU"))


def test_large_parameter_is_updated_in_one_tile(
    gpu: TransferCounter, monkeypatch: pytest.MonkeyPatch
) -> None:
    from minispore.nn.optim import optimizer as optimizer_module

    monkeypatch.setattr(optimizer_module, "TILE", 4)
    plan = optimizer_module.Tiles().tiles_for
    there, here = Tensor(np.zeros((8, 2))), np.zeros((8, 2))
    assert len(plan(there._data)) == 1
    host: Array = here  # type: ignore[assignment]
    assert len(optimizer_module.Tiles().tiles_for(host)) == 4
