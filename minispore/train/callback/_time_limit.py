"""TimeLimit: stop the run when its time is over."""

import time
from collections.abc import Mapping
from datetime import timedelta

from minispore.train.protocol.callback import Callback, RunContext, step_in_epoch
from minispore.train.protocol.state_fields import read_field
from minispore.utils.checks import check_positive, check_type

__all__ = ["TimeLimit"]


class TimeLimit(Callback):
    """Print a line and stop the run after the first step that ends when a duration has passed.

    The duration is that of the training with its evaluations, on the wall clock. The run can be
    resumed, with a longer limit: the time before the file was saved counts as well, so that with
    the same limit the run is stopped after its first step.

    MindSpore has no such callback.

    Args:
        duration: Seconds, or a timedelta, above 0.

    Attributes:
        seconds: The duration in seconds.

    Raises:
        TypeError: `duration` is neither a number nor a timedelta.
        ValueError: `duration` is not above 0, or not finite.

    Examples:
        >>> params = {"cur_epoch_num": 1, "cur_step_num": 2, "batch_num": 5}
        >>> run, limit = RunContext(params), TimeLimit(timedelta(microseconds=1))
        >>> limit.on_train_begin(run)
        >>> time.sleep(0.001)
        >>> limit.on_train_step_end(run)
        epoch: 1 step: 2, the time limit of 1e-06 s is reached, the run is stopped
        >>> run.get_stop_requested()
        True

    Source: Lightning's `callbacks.Timer`.
    """

    # Of several processes, whose clocks differ, one decides for all.
    chief_only = True

    def __init__(self, duration: float | timedelta) -> None:
        super().__init__()
        check_type(duration, (int, float, timedelta), "duration")
        seconds = duration.total_seconds() if isinstance(duration, timedelta) else duration
        self.seconds: float = check_positive(seconds, "duration")
        self._elapsed = 0.0
        self._began: float | None = None  # on a clock; None while there is no run

    @property
    def elapsed(self) -> float:
        """The seconds of the run until now, or until its end."""
        return self._elapsed if self._began is None else time.monotonic() - self._began

    def __exit__(self, *exc_info: object) -> None:
        self._elapsed, self._began = self.elapsed, None

    def on_train_begin(self, run_context: RunContext) -> None:
        """Start the clock."""
        self._began = time.monotonic()

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Request a stop if the time is over."""
        if self.elapsed >= self.seconds:
            params = run_context.original_args()
            print(
                f"epoch: {params.cur_epoch_num} step: {step_in_epoch(params)}, the time limit of "
                f"{self.seconds:g} s is reached, the run is stopped",
                flush=True,
            )
            run_context.request_stop()

    def state_dict(self) -> dict[str, object]:
        """Return the seconds until now."""
        return {"elapsed": self.elapsed}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Set the clock to a time that `state_dict` has returned.

        Raises:
            ValueError: The entry is missing or no number.
        """
        self._began = time.monotonic() - read_field(state, "elapsed", float)
