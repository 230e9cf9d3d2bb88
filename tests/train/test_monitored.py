"""Monitored values: found, missed before training wastes an epoch, and compared."""

import re
from collections.abc import Callable

import numpy as np
import pytest

from minispore import Tensor
from minispore.train import (
    BestCheckpoint,
    Callback,
    EarlyStopping,
    Model,
    ReduceLROnPlateau,
    RunContext,
)
from minispore.train.callback._monitored import Monitored

from .deciding import epoch, run_context
from .standins import Batches, ConstantLoss, Rows, make

MONITORS: list[Callable[[str], Callback]] = [EarlyStopping, ReduceLROnPlateau, BestCheckpoint]


class Steps(Callback):
    """Count the steps."""

    count = 0

    def on_train_step_begin(self, run_context: RunContext) -> None:
        self.count += 1


@pytest.mark.parametrize("monitor", MONITORS)
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("acuracy", "'loss', 'accuracy', 'eval_loss', but got 'acuracy'. Did you mean 'accuracy'?"),
        ("val_loss", "but got 'val_loss'. Did you mean 'eval_loss'?"),
        ("zzz", "'loss', 'accuracy', 'eval_loss', but got 'zzz'."),
    ],
)
def test_an_unknown_name_is_told_before_the_first_step(
    monitor: Callable[[str], Callback], name: str, told: str
) -> None:
    steps = Steps()
    with pytest.raises(ValueError, match=f"'monitor' must be one of .*{re.escape(told)}"):
        make({"accuracy"}).fit(3, Rows(), Rows(), callbacks=[steps, monitor(name)])
    assert steps.count == 0


@pytest.mark.parametrize("monitor", MONITORS)
def test_train_evaluates_nothing(monitor: Callable[[str], Callback]) -> None:
    steps = Steps()
    told = r"'monitor' .*'loss', but got 'accuracy'\. Only"
    with pytest.raises(ValueError, match=told):
        make({"accuracy"}).train(1, Rows(), [steps, monitor("accuracy")])
    with pytest.raises(ValueError, match=told):
        make({"accuracy"}).fit(1, Rows(), callbacks=[steps, monitor("accuracy")])
    assert steps.count == 0


def test_without_a_loss_in_the_evaluation_there_is_no_eval_loss() -> None:
    model = Model(ConstantLoss(), eval_network=ConstantLoss(), metrics={"loss"})
    with pytest.raises(ValueError, match="but got 'eval_loss'"):
        model.fit(1, Batches(1), Batches(1), callbacks=EarlyStopping())


def test_in_a_loop_of_ones_own_it_is_told_after_the_first_evaluation() -> None:
    stopping, context = EarlyStopping("accuracy"), run_context()
    stopping.on_train_begin(context)
    epoch(stopping, context, 1, None)
    with pytest.raises(ValueError, match="'loss', 'acc', but got 'accuracy'"):
        epoch(stopping, context, 2, 0.5, "acc")


@pytest.mark.parametrize(
    "found", [0.5, np.float32(0.5), np.array([0.5]), Tensor(0.5), Tensor([0.5])]
)
def test_kinds_of_numbers(found: object) -> None:
    stopping, context = EarlyStopping("value"), run_context()
    epoch(stopping, context, 1, found)
    assert stopping.best == 0.5
    assert type(stopping.best) is float


@pytest.mark.parametrize("found", [np.zeros(2), Tensor([]), "0.5", (0.5,), {}])
def test_what_is_no_single_number_is_refused(found: object) -> None:
    with pytest.raises(ValueError, match="'monitor' names must be a single number, but 'value' is"):
        epoch(EarlyStopping("value"), run_context(), 1, found)


@pytest.mark.parametrize(
    ("outputs", "loss"),
    [
        (Tensor(2.0), 2.0),
        (Tensor([1.0, 3.0]), 2.0),
        ((Tensor([2.0]), Tensor([1.0, 3.0])), 2.0),
        (2, 2.0),
    ],
)
def test_the_training_loss_is_the_networks_first_output(outputs: object, loss: float) -> None:
    stopping, context = EarlyStopping("loss"), run_context(cur_epoch_num=1, net_outputs=outputs)
    stopping.on_train_epoch_end(context)
    assert stopping.best == loss


@pytest.mark.parametrize(
    ("name", "small"),
    [
        *[(name, True) for name in ("loss", "eval_loss", "mse", "mae", "perplexity")],
        *[(name, False) for name in ("accuracy", "F1", "precision", "auc", "top_1_accuracy", "x")],
        # MindSpore takes all of these for better large.
        *[(name, True) for name in ("my_loss", "Loss", "MSE", "val_mae", "rmse", "error")],
    ],
)
def test_what_auto_makes_of_a_name(name: str, small: bool) -> None:
    worst = float("inf") if small else -float("inf")
    assert EarlyStopping(name).best == ReduceLROnPlateau(name).best == worst


def test_who_evaluates_is_told_to_whom_does_not() -> None:
    hint = "Only 'Model.fit' with a 'valid_dataset' evaluates."
    cases: list[tuple[list[str], bool]] = [([], True), (["eval_loss"], False)]
    for names, wanted in cases:
        context = RunContext({"metric_names": names})
        with pytest.raises(ValueError, match="'monitor' must be one of") as raised:
            Monitored("Me", "nonsense", "min").require(context)
        assert (hint in str(raised.value)) == wanted
