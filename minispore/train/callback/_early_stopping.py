"""EarlyStopping: end a training that gets no better."""

from collections.abc import Mapping

from minispore._checks import check_int, check_number, check_type
from minispore.common import Parameter, Tensor
from minispore.communication._exchange import is_first
from minispore.train._protocol.callback import Callback
from minispore.train._protocol.run_context import RunContext
from minispore.train._protocol.states import entries, entry
from minispore.train.callback._monitored import Monitored

_OWNER = "EarlyStopping"


class EarlyStopping(Callback):
    """Stop when a monitored value has not improved for some epochs.

    Epochs without an evaluation do not count. The best value is that of the run: another run
    begins anew.

    Source: mindspore.train.EarlyStopping.

    Args:
        monitor: "loss" for the training's; in `Model.fit` also "eval_loss" and the metrics' names.
        min_delta: A value is an improvement if it is better than the best by more than this.
        patience: Stop when so many epochs in a row brought no improvement; 0 counts as 1.
        verbose: Whether to print when it stops and when weights are restored.
        mode: Whether "min" or "max" is better, or "auto" for what the name suggests.
        baseline: Only improvements that are also better than this end the waiting.
        restore_best_weights: Whether the network gets back its parameters of the best epoch,
            whatever ended the training; not those of the optimiser. They are part of its state,
            and so of each file to resume from.

    Attributes:
        best: The best value so far.
        wait: How many epochs have passed without an improvement.
        stopped_epoch: The epoch that was the last, 0 before.

    Raises:
        TypeError: An argument is of a wrong type.
        ValueError: An unknown `mode`, or a negative `patience`; in training, if it does not
            measure what is monitored, or that is no single number.

    Examples:
        >>> stopping = EarlyStopping("accuracy", patience=2, verbose=True)
        >>> run = RunContext({})
        >>> stopping.on_train_begin(run)
        >>> for epoch, accuracy in enumerate([0.5, 0.75, 0.625, 0.75], start=1):
        ...     run.original_args().update(cur_epoch_num=epoch, metrics={"accuracy": accuracy})
        ...     stopping.on_train_epoch_end(run)
        >>> stopping.on_train_end(run)
        Epoch 00004: early stopping
        >>> run.get_stop_requested(), stopping.best
        (True, 0.75)
    """

    def __init__(
        self,
        monitor: str = "eval_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: bool = False,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
    ) -> None:
        super().__init__()
        self._monitored = Monitored(_OWNER, monitor, mode, min_delta)
        check_type(verbose, bool, "verbose", _OWNER)
        check_type(restore_best_weights, bool, "restore_best_weights", _OWNER)
        self.monitor = monitor
        self.min_delta: float = self._monitored.min_delta
        self.patience: int = check_int(patience, "patience", _OWNER, low=0)
        self.verbose = verbose
        self.mode = mode
        self.baseline: float | None = (
            None if baseline is None else check_number(baseline, "baseline", _OWNER)
        )
        self.restore_best_weights = restore_best_weights
        self._start()

    def _start(self) -> None:
        self.best: float = self._monitored.worst
        self.wait: int = 0
        self.stopped_epoch: int = 0
        self._best_weights: dict[str, Tensor] = {}

    def on_train_begin(self, run_context: RunContext) -> None:
        """Begin anew; check that the run will measure what is monitored."""
        self._monitored.require(run_context)
        self._start()

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Compare the epoch's value with the best, and stop if patience has ended."""
        value = self._monitored.value(run_context)
        if value is None:
            return
        self.wait += 1
        if self._monitored.better(value, self.best):
            self.best = value
            if self.restore_best_weights:
                self._best_weights = {p.name: p.copy() for p in _parameters(run_context)}
            if self.baseline is None or self._monitored.better(value, self.baseline):
                self.wait = 0
        if self.wait >= max(1, self.patience):
            self.stopped_epoch = run_context.original_args().cur_epoch_num
            run_context.request_stop(for_good=True)
            self._restore(run_context)

    def on_train_end(self, run_context: RunContext) -> None:
        """Say in which epoch training was stopped; restore the weights if it ended otherwise."""
        if self.stopped_epoch:
            if self.verbose and is_first():
                print(f"Epoch {self.stopped_epoch:05d}: early stopping", flush=True)
        else:
            self._restore(run_context)

    def state_dict(self) -> dict[str, object]:
        """Return what it remembers: the best value and weights, and how long it has waited."""
        return {
            "best": self.best,
            "wait": self.wait,
            "stopped_epoch": self.stopped_epoch,
            "best_weights": dict(self._best_weights),
        }

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Remember what another one did.

        Raises:
            ValueError: An entry is missing or of another type; nothing is changed then.
        """
        best = entry(state, "best", float, _OWNER)
        wait = entry(state, "wait", int, _OWNER)
        stopped_epoch = entry(state, "stopped_epoch", int, _OWNER)
        self._best_weights = entries(state, "best_weights", Tensor, _OWNER)
        self.best, self.wait, self.stopped_epoch = best, wait, stopped_epoch

    def _restore(self, run_context: RunContext) -> None:
        if not self._best_weights:
            return
        if self.verbose and is_first():
            print("Restoring model weights from the end of the best epoch.", flush=True)
        for parameter in _parameters(run_context):
            if parameter.name in self._best_weights:
                parameter.set_data(self._best_weights[parameter.name])


def _parameters(run_context: RunContext) -> list[Parameter]:
    return list(run_context.original_args().network.get_parameters())
