"""WithLossCell, WithEvalCell, TrainOneStepCell."""

import copy
import pickle
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import minispore as ms
from minispore import Parameter, Tensor, nn, ops

X = ops.ones((4, 2))
Y = ops.ones((4, 1))


def net() -> nn.Dense:
    return nn.Dense(2, 1, "ones", "zeros")


def sgd(network: nn.Cell) -> nn.SGD:
    return nn.SGD(network.trainable_params(), 0.1)


def step(sens: float | Tensor | None = None, return_grad: bool = False) -> nn.TrainOneStepCell:
    network = net()
    return nn.TrainOneStepCell(
        nn.WithLossCell(network, nn.MSELoss()),
        sgd(network),
        sens,
        return_grad,
    )


# The values of MindSpore 2.10.
@pytest.mark.parametrize(
    ("sens", "weight"), [(None, 0.8), (1.0, 0.8), (2.0, 0.6), (2, 0.6), (Tensor(2.0), 0.6)]
)
def test_train_one_step_updates_parameters(sens: float | Tensor | None, weight: float) -> None:
    train = step(sens)
    loss = train(X, Y)
    assert isinstance(loss, Tensor)
    assert loss.item() == 1
    assert train.weights[0].asnumpy() == pytest.approx(np.full((1, 2), weight))


def test_return_grad_returns_gradients_by_name() -> None:
    loss, gradients = cast("Any", step(return_grad=True)(X, Y))
    assert loss.item() == 1
    assert list(gradients) == ["weight", "bias"]
    assert gradients["weight"].tolist() == [[2, 2]]


def test_parameter_names_and_repr() -> None:
    train = step()
    assert [p.name for p in train.get_parameters()] == [
        "weight", "bias", "global_step", "learning_rate", "momentum",
        "accum.weight", "accum.bias", "stat.weight", "stat.bias",
    ]  # fmt: skip
    assert repr(train) == (
        "TrainOneStepCell(\n"
        "  (network): WithLossCell(\n"
        "    (_backbone): Dense(input_channels=2, output_channels=1, has_bias=True)\n"
        "    (_loss_fn): MSELoss()\n"
        "  )\n"
        "  (optimizer): SGD()\n"
        ")"
    )


def test_with_loss_cell_and_with_eval_cell() -> None:
    network = net()
    with_loss = nn.WithLossCell(network, nn.MSELoss())
    assert with_loss(X, Y).item() == 1
    assert with_loss.backbone_network is network

    def difference(x: Tensor, y: Tensor) -> Tensor:
        return (x - y).sum()

    assert nn.WithLossCell(network, difference)(X, Y).item() == 4
    loss, outputs, label = nn.WithEvalCell(network, nn.MSELoss())(X, Y)
    assert (loss.item(), outputs.tolist(), label is Y) == (1, [[2.0]] * 4, True)
    half = nn.Dense(2, 1, dtype=ms.float16)
    _, outputs, _ = nn.WithEvalCell(half, nn.MSELoss(), add_cast_fp32=True)(X.astype(ms.float16), Y)
    assert outputs.dtype is ms.float32


def test_several_outputs_are_summed_as_in_mindspore() -> None:
    class Both(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.d = net()

        def construct(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            o = self.d(x)
            return ops.square(o - y).mean(), o

    network = Both()
    loss, outputs = cast("Any", nn.TrainOneStepCell(network, sgd(network))(X, Y))
    assert loss.item() == 1
    assert outputs.shape == (4, 1)
    assert network.d.weight.asnumpy() == pytest.approx(np.full((1, 2), 0.4))


def test_non_scalar_loss_raises_before_the_update() -> None:
    network = net()
    train = nn.TrainOneStepCell(nn.WithLossCell(network, nn.MSELoss("none")), sgd(network))
    with pytest.raises(ValueError, match=r"single number.*\(4, 1\)"):
        train(X, Y)
    assert network.weight.tolist() == [[1, 1]]


def test_training_reduces_the_loss() -> None:
    ms.set_seed(1)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((256, 2)).astype(np.float32)
    y = (x[:, 0] * x[:, 1] > 0).astype(np.int32)
    losses: dict[str, float] = {}
    makes: list[Callable[[list[Parameter]], nn.Optimizer]] = [
        lambda p: nn.SGD(p, 0.5, 0.9),
        lambda p: nn.Momentum(p, 0.1, 0.9),
        lambda p: nn.Adam(p, 0.03),
    ]
    for make in makes:
        network = nn.SequentialCell(nn.Dense(2, 16, activation="relu"), nn.Dense(16, 2))
        optimizer = make(network.trainable_params())
        train = nn.TrainOneStepCell(nn.WithLossCell(network, nn.CrossEntropyLoss()), optimizer)
        last = [float(train(Tensor(x), Tensor(y))) for _ in range(150)][-1]
        losses[optimizer.cls_name] = last
    assert max(losses.values()) < 0.25, losses


def test_deep_copy_trains_its_own_network() -> None:
    train = step()
    twin = copy.deepcopy(train)
    again = pickle.loads(pickle.dumps(train))
    twin(X, Y)
    again(X, Y)
    assert train.weights[0].tolist() == [[1, 1]]
    assert twin.weights[0].asnumpy() == pytest.approx(np.full((1, 2), 0.8))
    assert twin.network.trainable_params()[0] is twin.weights[0]
    assert again.weights[0].tolist() == twin.weights[0].tolist()
