"""TimeMonitor: print how long an epoch and a step take."""

from time import perf_counter

from minispore._checks import check_int, check_type
from minispore.train._protocol.callback import Callback
from minispore.train._protocol.run_context import InternalCallbackParam, RunContext


class _Stopwatch:
    """The time of one epoch, in seconds, and the part of it spent waiting for data."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self._started = self._waiting_since = perf_counter()
        self.data = 0.0
        self.steps = 0

    def data_arrived(self) -> None:
        self.data += perf_counter() - self._waiting_since

    def step_done(self) -> None:
        self.steps += 1
        self._waiting_since = perf_counter()

    def leave_out(self, seconds: float) -> None:
        self._started += seconds

    def elapsed(self) -> float:
        return perf_counter() - self._started


class TimeMonitor(Callback):
    """Print the time of each epoch and its mean time per step, in milliseconds.

    In `fit` the training time is that of the steps, without the evaluation's, which has its own
    line. In an epoch inside which a run was resumed, the time is that of the steps since then.

    Source: mindspore.train.TimeMonitor.

    Args:
        data_size: steps in an epoch, for loops that do not set `batch_num`.
        data_time: also print the mean time per step spent waiting for the next batch.

    Raises:
        TypeError: if `data_time` is no bool, or `data_size` no int.
        ValueError: if `data_size` is not positive; at the end of an epoch, if the number of steps
            is known from neither `data_size` nor `batch_num`.

    Examples:
        >>> monitor = TimeMonitor(data_size=100)
        >>> monitor.on_train_epoch_begin(RunContext({}))
        >>> monitor.on_train_epoch_end(RunContext({}))
        Train epoch time: ... ms, per step time: ... ms
    """

    chief_only = True

    def __init__(self, data_size: int | None = None, data_time: bool = False) -> None:
        super().__init__()
        if data_size is not None:
            check_int(data_size, "data_size", "TimeMonitor", low=1)
        check_type(data_time, bool, "data_time", "TimeMonitor")
        self.data_size = data_size
        self.data_time = data_time
        self._train = _Stopwatch()
        self._eval = _Stopwatch()
        self._fit_eval = _Stopwatch()

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Start the training clock."""
        self._train.start()

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """A batch has come."""
        self._train.data_arrived()

    def on_train_step_end(self, run_context: RunContext) -> None:
        """From here on training waits for data."""
        self._train.step_done()

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Print the time of the epoch."""
        self._report("Train", self._train, run_context.original_args())

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Note when the evaluation began: inside `fit` it is no training time."""
        self._fit_eval.start()

    def on_eval_epoch_begin(self, run_context: RunContext) -> None:
        """Start the evaluation's clock."""
        self._eval.start()

    def on_eval_step_begin(self, run_context: RunContext) -> None:
        """A batch has come."""
        self._eval.data_arrived()

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """From here on the evaluation waits for data."""
        self._eval.step_done()

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        """Print the time of the evaluation."""
        self._report("Eval", self._eval, run_context.original_args())

    def on_eval_end(self, run_context: RunContext) -> None:
        """Take the evaluation out of the training time."""
        self._train.leave_out(self._fit_eval.elapsed())

    def _report(self, what: str, watch: _Stopwatch, params: InternalCallbackParam) -> None:
        seconds = watch.elapsed()
        steps = params.get("batch_num", self.data_size)
        if not isinstance(steps, int):
            raise ValueError(
                "For 'TimeMonitor', the number of steps in an epoch is not known: "
                "set the argument 'data_size', or 'batch_num' of the callback parameters."
            )
        # Fewer where a run was stopped, or resumed inside of the epoch.
        steps = watch.steps or steps
        line = f"{what} epoch time: {seconds * 1e3:5.3f} ms, "
        line += f"per step time: {seconds / steps * 1e3:5.3f} ms"
        if self.data_time:
            line += f" (data time: {watch.data / steps * 1e3:5.3f} ms)"
        print(line, flush=True)
