"""The reducer of gradients, with a simulated communicator."""

from typing import cast

import numpy as np
import pytest

import minispore as ms
from minispore import nn
from minispore.train import Model
from tests.communication.echo_communicator import join_echo


@pytest.fixture(autouse=True)
def _reset() -> object:
    yield
    ms.reset_auto_parallel_context()


def test_gradients_and_loss_are_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    echo = join_echo(monkeypatch)
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
    net = nn.SequentialCell(nn.Dense(3, 4), nn.Dense(4, 2))
    model = Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params()))
    step = model.train_network
    assert isinstance(step, nn.TrainOneStepCell)
    assert step.reducer_flag
    step(ms.Tensor(np.ones((2, 3), np.float32)), ms.Tensor([0, 1]).astype(ms.int32))
    assert echo.messages == [4 * (2 + 3 * 4 + 4 + 4 * 2 + 2)]


def test_reducer_accepts_networks_with_several_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    echo = join_echo(monkeypatch)

    class Both(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Dense(3, 1)

        def construct(self, x: ms.Tensor) -> tuple[ms.Tensor, ms.Tensor]:
            y = self.net(x)
            return y.sum(), y

    ms.set_auto_parallel_context(parallel_mode="data_parallel")
    both = Both()
    step = nn.TrainOneStepCell(both, nn.SGD(both.trainable_params()))
    loss, outputs = cast("tuple[ms.Tensor, ms.Tensor]", step(ms.Tensor([[1.0, 2.0, 3.0]])))
    assert loss.item() == pytest.approx(outputs.item())
    assert echo.messages == [4 * (2 + 3 + 1)]


def test_integer_gradients_keep_their_type(monkeypatch: pytest.MonkeyPatch) -> None:
    join_echo(monkeypatch)
    net = nn.Dense(2, 1)
    gradients = ms.Tensor([[7, -2]]), ms.Tensor([5])
    reduced = nn.DistributedGradReducer(net.trainable_params(), mean=True, degree=2)(gradients)
    assert [g.tolist() for g in reduced] == [[[10, -3]], [7]]
    assert [g.dtype for g in reduced] == [g.dtype for g in gradients]
