"""EarlyStopping: stop training when a monitored metric no longer improves."""

from math import isfinite

from minispore.common import Parameter, Tensor
from minispore.train.protocol.callback import Callback, RunContext
from minispore.train.protocol.monitor import MonitoredMetric
from minispore.train.protocol.state_fields import StateField, StatefulMixin
from minispore.utils.checks import check_arguments, check_int, check_number

__all__ = ["EarlyStopping"]


@check_arguments
class EarlyStopping(Callback, StatefulMixin):
    """Stop training when a monitored metric has not improved for some epochs.

    Epochs without an evaluation are not counted. The best value is reset when a run begins.

    Args:
        monitor: "loss" for the training loss; in `Model.fit` also "eval_loss" and the names of the
            metrics.
        min_delta: The minimum change of the value that counts as an improvement.
        patience: The number of consecutive epochs without improvement after which training stops;
            0 has the same effect as 1.
        verbose: Whether to print a line when training stops, when the value is not finite, and
            when weights are restored.
        mode: Whether "min" or "max" is better; "auto" decides by the name, and
            warns of one that it does not know.
        baseline: If given, only improvements that are also better than this reset the waiting.
        restore_best_weights: Whether to restore the parameters of the best epoch when training
            ends, for whatever reason. There must be no other callback that sets the weights then,
            such as WeightAveraging. The state of the optimizer is not restored. The weights are
            part of the callback's state, and so of each file to resume from.
        start_from_epoch: The number of epochs that are not counted, nor compared with later ones.
        check_finite: Whether to stop at once if the value is NaN or infinite. Otherwise NaN is a
            value without improvement.

    Attributes:
        best: The best value so far.
        wait: The number of epochs since the last improvement.
        stopped_epoch: The epoch after which training was stopped, 0 if it was not.
        stopping_reason: Why it was stopped, "" if it was not.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: `mode` is unknown, or `patience` or `start_from_epoch` negative; in training, if
            the run does not measure `monitor` or its value is not a single number.

    Examples:
        >>> stopping = EarlyStopping("accuracy", patience=2, verbose=True)
        >>> run = RunContext({})
        >>> stopping.on_train_begin(run)
        >>> for epoch, accuracy in enumerate([0.5, 0.75, 0.625, 0.75], start=1):
        ...     run.original_args().update(cur_epoch_num=epoch, metrics={"accuracy": accuracy})
        ...     stopping.on_train_epoch_end(run)
        >>> stopping.on_train_end(run)
        Epoch 00004: early stopping
        >>> run.get_stop_requested(), stopping.stopping_reason
        (True, "'accuracy' was not better than 0.75 for 2 epochs")

    Source: MindSpore's `mindspore.train.EarlyStopping`.
    """

    best: StateField[float] = StateField(float)
    wait: StateField[int] = StateField(int)
    stopped_epoch: StateField[int] = StateField(int)
    stopping_reason: StateField[str] = StateField(str)
    _best_weights = StateField(dict[str, Tensor])

    def __init__(
        self,
        monitor: str = "eval_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: bool = False,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
        start_from_epoch: int = 0,
        check_finite: bool = False,
    ) -> None:
        super().__init__()
        self._monitored = MonitoredMetric(monitor, mode, min_delta)
        self.monitor = monitor
        self.min_delta: float = self._monitored.min_delta
        self.patience: int = check_int(patience, "patience", low=0)
        self.verbose = verbose
        self.mode = mode
        self.baseline: float | None = (
            None if baseline is None else check_number(baseline, "baseline")
        )
        self.restore_best_weights = restore_best_weights
        self.sets_final_weights: bool = restore_best_weights
        self.start_from_epoch: int = check_int(start_from_epoch, "start_from_epoch", low=0)
        self.check_finite = check_finite
        self.reset_state()

    def reset_state(self) -> None:
        """Set the state to that at the beginning of a run."""
        super().reset_state()
        self.best = self._monitored.worst

    def on_train_begin(self, run_context: RunContext) -> None:
        """Check that the run measures the monitored metric, and reset the best value."""
        self._monitored.check_available(run_context)
        self.reset_state()

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Compare the value of the epoch with the best one; stop when patience is exhausted."""
        value = self._monitored.value(run_context)
        epoch = run_context.original_args().cur_epoch_num
        if value is None or epoch <= self.start_from_epoch:
            return
        if self.check_finite and not isfinite(value):
            if self.verbose and run_context.is_chief:
                print(f"Epoch {epoch:05d}: {self.monitor!r} is {value}", flush=True)
            self._stop(run_context, f"{self.monitor!r} is {value}")
            return
        self.wait += 1
        if self._monitored.is_improvement(value, self.best):
            self.best = value
            if self.restore_best_weights:
                self._best_weights = {p.name: p.copy() for p in _parameters(run_context)}
            if self.baseline is None or self._monitored.is_improvement(value, self.baseline):
                self.wait = 0
        if self.wait >= max(1, self.patience):
            epochs = "1 epoch" if self.wait == 1 else f"{self.wait} epochs"
            self._stop(
                run_context, f"{self.monitor!r} was not better than {self._bound()} for {epochs}"
            )

    def on_train_end(self, run_context: RunContext) -> None:
        """Print the epoch of the stop; restore the weights if training ended otherwise."""
        if self.stopped_epoch:
            if self.verbose and run_context.is_chief:
                print(f"Epoch {self.stopped_epoch:05d}: early stopping", flush=True)
        else:
            self._restore(run_context)

    def _stop(self, run_context: RunContext, reason: str) -> None:
        self.stopped_epoch = run_context.original_args().cur_epoch_num
        self.stopping_reason = reason
        run_context.request_stop(finished=True)
        self._restore(run_context)

    def _bound(self) -> str:
        """Return the value that would have to be improved upon, as a text."""
        baseline = self.baseline
        if baseline is None or self._monitored.is_improvement(self.best, baseline):
            return f"{self.best:g}"
        return f"the baseline {baseline:g}"

    def _restore(self, run_context: RunContext) -> None:
        if not self._best_weights:
            return
        if self.verbose and run_context.is_chief:
            print("Restoring model weights from the end of the best epoch.", flush=True)
        for parameter in _parameters(run_context):
            if parameter.name in self._best_weights:
                parameter.set_data(self._best_weights[parameter.name])


def _parameters(run_context: RunContext) -> list[Parameter]:
    return list(run_context.original_args().network.get_parameters())
