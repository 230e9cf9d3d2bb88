"""Small trainings whose logged numbers are known."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import count
from types import ModuleType

import numpy as np
import pytest

from minispore import Tensor, nn, ops
from minispore.tensorpack import Callback, ScalarHistory
from minispore.train import Callback as TrainCallback
from minispore.train import Model
from tests.helpers.stub_models import Batches, ConstantLoss


class Counting(nn.Cell):
    """The loss is the number of the call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = count(1)
        self.scalar = ops.ScalarSummary()
        self.image = ops.ImageSummary()
        self.histogram = ops.HistogramSummary()

    def construct(self, *inputs: Tensor) -> Tensor:
        number = Tensor(float(next(self.calls)))
        self.scalar("half", number / 2)
        self.image("picture", Tensor(np.ones((1, 1, 2, 3), np.float32)))
        self.histogram("all", Tensor([1.0, 2.0]))
        return number


class Clock:
    """A clock that shows the time `now`."""

    def __init__(self) -> None:
        self.now = 0.0

    @contextmanager
    def replaces_perf_counter(self, *modules: ModuleType) -> Generator[None, None, None]:
        """Replace `perf_counter` in these modules."""
        with pytest.MonkeyPatch.context() as patch:
            for module in modules:
                patch.setattr(module, "perf_counter", lambda: self.now)
            yield


class Passing(Callback):
    """Let time pass in each step, and after the steps of each epoch.

    Args:
        clock: The clock.
        steps: The seconds of each step, from the first; later ones take none.
        epochs: The seconds after the steps of each epoch.
    """

    def __init__(self, clock: Clock, steps: Sequence[float], epochs: Sequence[float] = ()) -> None:
        self.clock = clock
        self.steps, self.epochs = dict(enumerate(steps)), dict(enumerate(epochs))

    def _before_run(self, run_context: object) -> None:
        self.clock.now += self.steps.get(self.global_step, 0.0)

    def _trigger_epoch(self) -> None:
        self.clock.now += self.epochs.get(self.epoch_num - 1, 0.0)


def train_counting(*callbacks: TrainCallback, epochs: int = 2, steps: int = 3) -> ScalarHistory:
    history = ScalarHistory()
    Model(Counting()).train(epochs, Batches(steps), [*callbacks, history])
    return history


class Logs(Callback):
    """Log numbers, after some steps and after each epoch."""

    def __init__(self, values: dict[int, float], each_epoch: float | None = None) -> None:
        self.values = values
        self.each_epoch = each_epoch

    def produces(self) -> list[str]:
        return ["step", "epoch"]

    def _trigger_step(self) -> None:
        if self.global_step in self.values:
            self.trainer.monitors.put_scalar("step", self.values[self.global_step])

    def _trigger(self) -> None:
        if self.each_epoch is not None:
            self.trainer.monitors.put_scalar("epoch", self.each_epoch)


def train_constant(
    *callbacks: TrainCallback, epochs: int = 2, steps: int = 3, initial: int = 0
) -> None:
    model = Model(ConstantLoss())
    model.train(initial + epochs, Batches(steps), list(callbacks), initial_epoch=initial)
