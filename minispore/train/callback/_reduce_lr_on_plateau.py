"""ReduceLROnPlateau: reduce the learning rate when a monitored metric no longer improves."""

import numpy as np

from minispore.train.protocol.callback import Callback, RunContext
from minispore.train.protocol.learning_rate import as_float32, learning_rate_of
from minispore.train.protocol.monitor import MonitoredMetric
from minispore.train.protocol.state_fields import StateField, StatefulMixin
from minispore.utils.checks import (
    caller,
    check_bool,
    check_int,
    check_number,
    check_type,
    value_error,
)

__all__ = ["ReduceLROnPlateau"]


class ReduceLROnPlateau(Callback, StatefulMixin):
    """Multiply the learning rate by a factor when a monitored metric has stopped improving.

    Epochs without an evaluation are not counted. The best value is reset when a run begins.

    Args:
        monitor: "loss" for the training loss; in `Model.fit` also "eval_loss" and the names of the
            metrics.
        factor: The factor by which the learning rate is multiplied, above 0 and below 1.
        patience: The number of consecutive epochs without improvement after which the learning
            rate is reduced; 0 has the same effect as 1.
        verbose: Whether to print a line for each reduction.
        mode: Whether "min" or "max" is better; "auto" decides by the name, and
            warns of one that it does not know.
        min_delta: The minimum change of the value that counts as an improvement.
        cooldown: The number of epochs after a reduction until waiting starts again; 0 and 1 both
            mean that it starts with the next epoch.
        min_lr: The lower bound of the learning rate.

    Attributes:
        best: The best value so far.
        wait: The number of epochs since the last improvement.
        cooldown_counter: The number of epochs that remain of the cooldown.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: A number is out of range or `mode` is unknown; in training, if the run does not
            measure `monitor`, its value is not a single number, or the optimizer does not have
            a single constant learning rate.

    Examples:
        >>> from minispore import nn
        >>> optimizer = nn.SGD(nn.Dense(2, 2).trainable_params(), 0.5)
        >>> plateau = ReduceLROnPlateau("loss", factor=0.5, patience=2, verbose=True)
        >>> run = RunContext({"optimizer": optimizer})
        >>> plateau.on_train_begin(run)
        >>> for epoch, loss in enumerate([1.0, 1.0, 1.0], start=1):
        ...     run.original_args().update(cur_epoch_num=epoch, net_outputs=loss)
        ...     plateau.on_train_epoch_end(run)
        Epoch 00003: ReduceLROnPlateau reducing learning rate to 0.25.
        >>> float(optimizer.learning_rate)
        0.25

    Source: MindSpore's `mindspore.train.ReduceLROnPlateau`.
    """

    best: StateField[float] = StateField(float)
    wait: StateField[int] = StateField(int)
    cooldown_counter: StateField[int] = StateField(int)

    def __init__(
        self,
        monitor: str = "eval_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: bool = False,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
    ) -> None:
        super().__init__()
        self._monitored = MonitoredMetric(monitor, mode, min_delta)
        check_type(factor, float, "factor")
        if not 0 < factor < 1:
            raise value_error(factor, "factor", "be above 0 and below 1")
        check_bool(verbose, "verbose")
        self.monitor = monitor
        self.factor = factor
        self.patience: int = check_int(patience, "patience", low=0)
        self.verbose = verbose
        self.mode = mode
        self.min_delta: float = self._monitored.min_delta
        self.cooldown: int = check_int(cooldown, "cooldown", low=0)
        self.min_lr: float = check_number(min_lr, "min_lr")
        self.reset_state()

    def reset_state(self) -> None:
        """Set the state to that at the beginning of a run."""
        super().reset_state()
        self.best = self._monitored.worst

    def on_train_begin(self, run_context: RunContext) -> None:
        """Check the metric and the learning rate of the run, and reset the best value."""
        self._monitored.check_available(run_context)
        learning_rate_of(run_context)
        self.reset_state()

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Compare the value with the best one; reduce the rate when patience is exhausted."""
        value = self._monitored.value(run_context)
        if value is None:
            return
        if self.cooldown_counter:
            self.cooldown_counter -= 1
        if self._monitored.is_improvement(value, self.best):
            self.best = value
            self.wait = 0
        elif not self.cooldown_counter:
            self.wait += 1
            if self.wait >= self.patience:
                self._reduce(run_context)
                self.cooldown_counter = self.cooldown
                self.wait = 0

    def _reduce(self, run_context: RunContext) -> None:
        rate = learning_rate_of(run_context)
        old = as_float32(rate)
        if old <= np.float32(self.min_lr):
            return
        # In float32, as the optimizer stores it, so that the printed rate is the one in use.
        new = max(old * np.float32(self.factor), np.float32(self.min_lr))
        rate.set_data(float(new))
        if self.verbose and run_context.is_chief:
            epoch = run_context.original_args().cur_epoch_num
            print(f"Epoch {epoch:05d}: {caller()} reducing learning rate to {new!s}.", flush=True)
