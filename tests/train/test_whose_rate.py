"""Whose learning rate a callback changes: that of the run's optimiser, else of its network's."""

import math

import pytest

from minispore import nn
from minispore.train import Callback, LearningRateScheduler, ReduceLROnPlateau, RunContext
from minispore.train.callback._learning_rate import learning_rate_of


def trained(rate: float) -> nn.TrainOneStepCell:
    net = nn.Dense(1, 1)
    return nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), rate))


def test_the_runs_optimiser_comes_before_the_networks() -> None:
    one, other = trained(0.5), trained(0.25)
    both = RunContext({"optimizer": one.optimizer, "train_network": other})
    assert learning_rate_of(both, "Somebody") is one.optimizer.learning_rate
    alone = RunContext({"optimizer": None, "train_network": other})
    assert learning_rate_of(alone, "Somebody") is other.optimizer.learning_rate
    assert learning_rate_of(RunContext({"train_network": other}), "Somebody").asnumpy() == 0.25


@pytest.mark.parametrize(
    ("callback", "event"),
    [
        (LearningRateScheduler(lambda rate, step: rate), "on_train_step_end"),
        (ReduceLROnPlateau("loss"), "on_train_begin"),
        (ReduceLROnPlateau("loss", mode="max", patience=0), "on_train_epoch_end"),
    ],
    ids=["scheduler", "plateau begins", "plateau reduces"],
)
def test_who_finds_none_says_who_it_is(callback: Callback, event: str) -> None:
    run = {"train_network": nn.Dense(1, 1), "cur_step_num": 1, "cur_epoch_num": 1}
    context = RunContext({**run, "net_outputs": -math.inf, "batch_num": 1})
    said = f"^For '{type(callback).__name__}', there must be an optimizer"
    with pytest.raises(ValueError, match=said):
        getattr(callback, event)(context)
