"""`learning_rate_of`: the optimizer of the run, or of its training network."""

import math

import pytest

from minispore import nn
from minispore.train import Callback, LearningRateScheduler, ReduceLROnPlateau, RunContext
from minispore.train.protocol.learning_rate import learning_rate_of


def trained(rate: float) -> nn.TrainOneStepCell:
    net = nn.Dense(1, 1)
    return nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), rate))


def test_optimizer_of_run_takes_precedence() -> None:
    one, other = trained(0.5), trained(0.25)
    both = RunContext({"optimizer": one.optimizer, "train_network": other})
    assert learning_rate_of(both) is one.optimizer.learning_rate
    single = RunContext({"optimizer": None, "train_network": other})
    assert learning_rate_of(single) is other.optimizer.learning_rate
    assert learning_rate_of(RunContext({"train_network": other})).asnumpy() == 0.25


@pytest.mark.parametrize(
    ("callback", "event"),
    [
        (LearningRateScheduler(lambda rate, step: rate), "on_train_step_end"),
        (ReduceLROnPlateau("loss"), "on_train_begin"),
        (ReduceLROnPlateau("loss", mode="max", patience=0), "on_train_epoch_end"),
    ],
    ids=["scheduler", "plateau begins", "plateau reduces"],
)
def test_missing_optimizer_error_names_callback(callback: Callback, event: str) -> None:
    run = {"train_network": nn.Dense(1, 1), "cur_step_num": 1, "cur_epoch_num": 1}
    context = RunContext({**run, "net_outputs": -math.inf, "batch_num": 1})
    message = f"^For '{type(callback).__name__}', there must be an optimizer"
    with pytest.raises(ValueError, match=message):
        getattr(callback, event)(context)
