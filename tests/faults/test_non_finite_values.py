"""NaN and infinity in data and monitored values: detected, and never the best value."""

import math
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, nn
from minispore.dataset import NumpySlicesDataset
from minispore.tensorpack import CheckNumerics, MaxSaver, MinSaver
from minispore.train import (
    BestCheckpoint,
    Callback,
    EarlyStopping,
    LossMonitor,
    Model,
    ReduceLROnPlateau,
    RunContext,
    load_checkpoint,
)

VALUES = st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 0.25, 1.0])


class Losses(nn.Cell):
    """A training network with predefined losses, whose weight counts the steps."""

    def __init__(self, losses: list[float]) -> None:
        super().__init__()
        self.losses = iter(losses)
        self.weight = nn.Dense(1, 1, weight_init="zeros", has_bias=False).weight

    def construct(self, x: Tensor) -> Tensor:
        self.weight.set_data(self.weight + 1)
        return Tensor(np.float32(next(self.losses)))


def run(losses: list[float], callbacks: list[Callback]) -> Losses:
    """Train with an epoch of one step for each loss."""
    network = Losses(losses)
    model = Model(network)
    data = NumpySlicesDataset({"x": np.ones((1, 1), np.float32)}).batch(1)
    model.train(len(losses), data, callbacks=callbacks)
    return network


def saved_epoch(path: Path) -> int:
    """Return the epoch in which a network was saved."""
    (weight,) = load_checkpoint(path).values()
    assert not isinstance(weight, str)
    return int(weight.item())


@given(st.lists(VALUES, min_size=1, max_size=9), st.sampled_from(["min", "max"]))
def test_best_checkpoint_ignores_nan(losses: list[float], mode: str) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        best = BestCheckpoint("loss", mode, directory=folder)
        keep = (MinSaver if mode == "min" else MaxSaver)("loss", checkpoint_dir=folder)
        run(losses, [best, keep])
        numbers = [value for value in losses if not math.isnan(value)]
        if not numbers:
            assert not list(folder.iterdir())
            return
        expected = min(numbers) if mode == "min" else max(numbers)
        assert list(best.files.values()) == [expected]
        epoch = losses.index(expected) + 1
        assert saved_epoch(Path(best.best_ckpt_file_name)) == epoch
        assert saved_epoch(folder / f"{mode}-loss.ckpt") == epoch


@given(st.lists(VALUES, min_size=1, max_size=9), st.integers(1, 3))
def test_nan_is_not_an_improvement(losses: list[float], patience: int) -> None:
    stopping = EarlyStopping("loss", patience=patience, restore_best_weights=True)
    network = run(losses, [stopping])
    best, wait, at = math.inf, 0, 0
    for epoch, value in enumerate(losses, start=1):
        wait = 0 if value < best else wait + 1
        if value < best:
            best, at = value, epoch
        if wait >= patience:
            assert stopping.stopped_epoch == epoch
            # If no value was an improvement, the weights are unchanged.
            assert network.weight.item() in {at, epoch if at == 0 else at}
            return
    assert stopping.stopped_epoch == 0
    assert network.weight.item() in {at, len(losses)}


def test_nan_lowers_learning_rate_to_minimum_only() -> None:
    network = nn.Dense(1, 1)
    optimizer = nn.SGD(network.trainable_params(), 1.0)
    plateau = ReduceLROnPlateau("loss", factor=0.5, patience=1, min_lr=0.25)
    context = RunContext({"optimizer": optimizer, "net_outputs": math.nan})
    plateau.on_train_begin(context)
    rates: list[float] = []
    for epoch in range(1, 6):
        context.original_args().cur_epoch_num = epoch
        plateau.on_train_epoch_end(context)
        rate = optimizer.learning_rate
        assert isinstance(rate, Tensor)
        rates.append(float(rate.item()))
    assert rates == [0.5, 0.25, 0.25, 0.25, 0.25]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_non_finite_data_is_detected_at_its_step(bad: float) -> None:
    x = np.ones((6, 2), np.float32)
    x[3, 1] = bad  # in the second batch

    def train(callback: Callback) -> list[int]:
        data = NumpySlicesDataset({"x": x, "y": np.ones((6, 1), np.float32)}, shuffle=False)
        net = nn.Dense(2, 1)
        model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.01))
        with np.errstate(all="ignore"):
            model.train(1, data.batch(2), callbacks=[callback])
        return []

    with pytest.raises(ValueError, match="In epoch: 1 step: 2, loss is NAN or INF"):
        train(LossMonitor(0))
    with pytest.raises(FloatingPointError, match=r"After 2 steps, the parameter 'weight'"):
        train(CheckNumerics(run_step=True))
