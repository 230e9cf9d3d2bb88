"""ReduceLROnPlateau: learn more slowly when nothing gets better."""

from collections.abc import Mapping

import numpy as np

from minispore._checks import check_int, check_number, check_type
from minispore.communication._exchange import is_first
from minispore.train._protocol.callback import Callback
from minispore.train._protocol.run_context import RunContext
from minispore.train._protocol.states import entry
from minispore.train.callback._learning_rate import as_float32, learning_rate_of
from minispore.train.callback._monitored import Monitored

_OWNER = "ReduceLROnPlateau"


class ReduceLROnPlateau(Callback):
    """Multiply the learning rate by a factor when a monitored value has stopped improving.

    Epochs without an evaluation do not count. The best value is that of the run: another run
    begins anew.

    Source: mindspore.train.ReduceLROnPlateau.

    Args:
        monitor: "loss" for the training's; in `Model.fit` also "eval_loss" and the metrics' names.
        factor: What the learning rate is multiplied by, above 0 and below 1.
        patience: Reduce it when so many epochs in a row brought no improvement; 0 counts as 1.
        verbose: Whether to print each reduction.
        mode: Whether "min" or "max" is better, or "auto" for what the name suggests.
        min_delta: A value is an improvement if it is better than the best by more than this.
        cooldown: After a reduction the waiting begins again with the epoch of this number after it;
            0 and 1 both mean the next one.
        min_lr: The learning rate is not reduced below this.

    Attributes:
        best: The best value so far.
        wait: How many epochs have passed without an improvement.
        cooldown_counter: How many epochs are left of the cooldown.

    Raises:
        TypeError: An argument is of a wrong type.
        ValueError: A number is out of range, or an unknown `mode`; in training, if it does not
            measure what is monitored, that is no single number, or the optimiser has other than
            one constant learning rate.

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
    """

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
        self._monitored = Monitored(_OWNER, monitor, mode, min_delta)
        check_type(factor, float, "factor", _OWNER)
        if not 0 < factor < 1:
            raise ValueError(
                f"For '{_OWNER}', the argument 'factor' must be above 0 and below 1, "
                f"but got {factor}."
            )
        check_type(verbose, bool, "verbose", _OWNER)
        self.monitor = monitor
        self.factor = factor
        self.patience: int = check_int(patience, "patience", _OWNER, low=0)
        self.verbose = verbose
        self.mode = mode
        self.min_delta: float = self._monitored.min_delta
        self.cooldown: int = check_int(cooldown, "cooldown", _OWNER, low=0)
        self.min_lr: float = check_number(min_lr, "min_lr", _OWNER)
        self._start()

    def _start(self) -> None:
        self.best: float = self._monitored.worst
        self.wait: int = 0
        self.cooldown_counter: int = 0

    def on_train_begin(self, run_context: RunContext) -> None:
        """Begin anew; check that the run has what this needs."""
        self._monitored.require(run_context)
        learning_rate_of(run_context, _OWNER)
        self._start()

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Compare the epoch's value with the best, and reduce the rate if patience has ended."""
        value = self._monitored.value(run_context)
        if value is None:
            return
        if self.cooldown_counter:
            self.cooldown_counter -= 1
        if self._monitored.better(value, self.best):
            self.best = value
            self.wait = 0
        elif not self.cooldown_counter:
            self.wait += 1
            if self.wait >= self.patience:
                self._reduce(run_context)
                self.cooldown_counter = self.cooldown
                self.wait = 0

    def state_dict(self) -> dict[str, object]:
        """Return what it remembers: the best value, and how long it has waited."""
        return {"best": self.best, "wait": self.wait, "cooldown_counter": self.cooldown_counter}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Remember what another one did.

        Raises:
            ValueError: An entry is missing or of another type; nothing is changed then.
        """
        best = entry(state, "best", float, _OWNER)
        wait = entry(state, "wait", int, _OWNER)
        self.cooldown_counter = entry(state, "cooldown_counter", int, _OWNER)
        self.best, self.wait = best, wait

    def _reduce(self, run_context: RunContext) -> None:
        rate = learning_rate_of(run_context, _OWNER)
        old = as_float32(rate)
        if old <= np.float32(self.min_lr):
            return
        # In the precision of learning rates: what is printed is what it will be.
        new = max(old * np.float32(self.factor), np.float32(self.min_lr))
        rate.set_data(float(new))
        if self.verbose and is_first():
            epoch = run_context.original_args().cur_epoch_num
            print(f"Epoch {epoch:05d}: {_OWNER} reducing learning rate to {new!s}.", flush=True)
