"""TimeMonitor: print the duration of epochs and steps."""

from time import perf_counter

from minispore.train.protocol.callback import Callback, InternalCallbackParam, RunContext
from minispore.utils.checks import check_arguments, check_int

__all__ = ["TimeMonitor"]


class _Stopwatch:
    """The time since the beginning of an epoch, and the part of it spent waiting for data."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self.started = self._waiting_since = perf_counter()
        self.data_seconds = 0.0
        self.steps = 0

    def data_arrived(self) -> None:
        self.data_seconds += perf_counter() - self._waiting_since

    def step_done(self) -> None:
        self.steps += 1
        self._waiting_since = perf_counter()


@check_arguments
class TimeMonitor(Callback):
    """Print the duration of each epoch and its mean time per step, in milliseconds.

    In `Model.fit` the time of the training excludes that of the evaluation, which is printed in a
    line of its own. If a run is resumed inside an epoch, only the steps since then are measured.

    Args:
        data_size: The number of steps in an epoch, for loops that do not set `batch_num`.
        data_time: Whether to print the mean time per step spent waiting for the next batch as well.

    Raises:
        TypeError: `data_time` is not a bool, or `data_size` not an int.
        ValueError: `data_size` is not positive; at the end of an epoch, if neither `data_size` nor
            `batch_num` gives the number of steps.

    Examples:
        >>> monitor = TimeMonitor(data_size=100)
        >>> monitor.on_train_epoch_begin(RunContext({}))
        >>> monitor.on_train_epoch_end(RunContext({}))
        Train epoch time: ... ms, per step time: ... ms

    Source: MindSpore's `mindspore.train.TimeMonitor`.
    """

    chief_only = True

    def __init__(self, data_size: int | None = None, data_time: bool = False) -> None:
        super().__init__()
        if data_size is not None:
            check_int(data_size, "data_size", low=1)
        self.data_size = data_size
        self.data_time = data_time
        self._train = _Stopwatch()
        self._eval = _Stopwatch()
        self._eval_began = 0.0

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Start the clock of the training."""
        self._train.start()

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Add the time spent waiting for this batch."""
        self._train.data_arrived()

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Count the step; training now waits for data."""
        self._train.step_done()

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Print the duration of the epoch."""
        self._report("Train", self._train, run_context.original_args())

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Start the clock of an evaluation in `fit`, whose time is not training time."""
        self._eval_began = perf_counter()

    def on_eval_epoch_begin(self, run_context: RunContext) -> None:
        """Start the clock of the evaluation."""
        self._eval.start()

    def on_eval_step_begin(self, run_context: RunContext) -> None:
        """Add the time spent waiting for this batch."""
        self._eval.data_arrived()

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Count the step; the evaluation now waits for data."""
        self._eval.step_done()

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        """Print the duration of the evaluation."""
        self._report("Eval", self._eval, run_context.original_args())

    def on_eval_end(self, run_context: RunContext) -> None:
        """Exclude the evaluation from the training time."""
        self._train.started += perf_counter() - self._eval_began

    def _report(self, phase: str, watch: _Stopwatch, params: InternalCallbackParam) -> None:
        seconds = perf_counter() - watch.started
        steps = params.get("batch_num", self.data_size)
        if not isinstance(steps, int):
            raise ValueError(
                "For 'TimeMonitor', the number of steps in an epoch is not known: "
                "set the argument 'data_size', or 'batch_num' of the callback parameters."
            )
        # Fewer if the run was stopped or resumed inside the epoch.
        steps = watch.steps or steps
        line = f"{phase} epoch time: {seconds * 1e3:5.3f} ms, "
        line += f"per step time: {seconds / steps * 1e3:5.3f} ms"
        if self.data_time:
            line += f" (data time: {watch.data_seconds / steps * 1e3:5.3f} ms)"
        print(line, flush=True)
