"""ReduceLROnPlateau: in trainings, and learning rates that it and LearningRateScheduler reject."""

from collections.abc import Callable, Mapping

import pytest

from minispore import nn
from minispore.train import Callback, LearningRateScheduler, Model, ReduceLROnPlateau
from tests.helpers.stub_models import Batches, ConstantLoss, Rows


def halve(rate: float, step: int) -> float:
    return rate / 2


CALLBACKS: list[Callable[[], Callback]] = [
    lambda: ReduceLROnPlateau("loss", patience=1),
    lambda: LearningRateScheduler(halve),
]


@pytest.mark.parametrize("callback", CALLBACKS)
def test_dynamic_learning_rate_raises_at_begin(
    callback: Callable[[], Callback],
) -> None:
    caller = f"For '{type(callback()).__name__}', "
    net = nn.Dense(4, 3)
    groups: list[Mapping[str, object]] = [
        {"params": [net.weight], "lr": 0.5},
        {"params": [net.bias]},
    ]
    optimizers = [
        nn.SGD(net.trainable_params(), [0.1, 0.2, 0.3]),
        nn.SGD(net.trainable_params(), nn.ExponentialDecayLR(0.1, 0.9, 4)),
        nn.SGD(groups, 0.1),
    ]
    for optimizer in optimizers:
        model = Model(net, nn.CrossEntropyLoss(), optimizer)
        with pytest.raises(
            ValueError, match=f"^{caller}.*dynamic learning rate and group learning"
        ):
            model.train(1, Rows(), callback())
    with pytest.raises(ValueError, match=f"^{caller}there must be an optimizer"):
        Model(ConstantLoss()).train(1, Batches(1), callback())


@pytest.mark.parametrize("callback", CALLBACKS)
def test_optimizer_of_train_one_step_network_is_found(
    callback: Callable[[], Callback],
) -> None:
    net = nn.Dense(4, 3)
    optimizer = nn.SGD(net.trainable_params(), 1e-30)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer)
    Model(step).train(2, Rows(4), callback())
    assert float(optimizer.get_lr().asnumpy()) < 1e-30  # type: ignore[union-attr]
