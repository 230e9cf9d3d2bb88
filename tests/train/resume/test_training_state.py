"""Checkpoints of a training equal MindSpore's in names, order, types and values."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minispore import nn
from minispore.common import Parameter, Tensor
from minispore.train.serialization import load_checkpoint, load_param_into_net, save_checkpoint

FIXTURES = Path(__file__).parents[1] / "fixtures"
OPTIMIZERS: dict[str, Callable[[list[Parameter]], nn.Optimizer]] = {
    "sgd": lambda params: nn.SGD(params, 0.1, momentum=0.9),
    "momentum": lambda params: nn.Momentum(params, [0.1, 0.2], 0.9),
    "adam": lambda params: nn.Adam(params, 0.1),
}


def training(name: str) -> nn.TrainOneStepCell:
    net = nn.SequentialCell(nn.Dense(2, 2, weight_init="ones", bias_init="zeros"), nn.ReLU())
    loss = nn.WithLossCell(net, nn.MSELoss())
    return nn.TrainOneStepCell(loss, OPTIMIZERS[name](net.trainable_params()))


def step(train: nn.TrainOneStepCell, number: int) -> None:
    train(Tensor(np.array([[1.0, number]], np.float32)), Tensor(np.array([[1.0, 0.0]], np.float32)))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_continues_from_mindspore_checkpoint(tmp_path: Path, name: str) -> None:
    fixture, path = FIXTURES / f"{name}.ckpt", tmp_path / "x.ckpt"
    train = training(name)
    step(train, 0)
    assert load_param_into_net(train, load_checkpoint(fixture), strict_load=True) == ([], [])
    save_checkpoint(train, path)
    assert path.read_bytes() == fixture.read_bytes()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_same_steps_give_same_state(tmp_path: Path, name: str) -> None:
    train = training(name)
    expected = load_checkpoint(FIXTURES / f"{name}.ckpt")
    for number in range(2):
        step(train, number)
    save_checkpoint(train, tmp_path / "x.ckpt")
    result = load_checkpoint(tmp_path / "x.ckpt")
    assert list(result) == list(expected)
    for key, value in expected.items():
        ours = result[key]
        assert isinstance(value, Parameter)
        assert isinstance(ours, Parameter)
        left, right = ours.asnumpy().astype(np.float64), value.asnumpy().astype(np.float64)
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)
