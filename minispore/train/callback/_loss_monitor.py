"""LossMonitor: print the loss, and stop training that has gone wrong."""

import math
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from minispore._checks import check_int
from minispore.common import Tensor
from minispore.train.callback._base import Callback
from minispore.train.callback._run_context import InternalCallbackParam, RunContext
from minispore.train.callback._states import entry


class LossMonitor(Callback):
    """Print the loss every so many steps, and in `fit` each evaluation's results.

    The loss is the network's output, or the first element of a tuple or list. It is looked at in
    every step, printed or not.

    Source: mindspore.train.LossMonitor.

    Args:
        per_print_times: steps between two lines, over the borders of epochs; 0 prints none.

    Raises:
        ValueError: if `per_print_times` is negative; in training, if the loss is NaN or infinite.
        TypeError: if `per_print_times` is no int.

    Examples:
        >>> monitor = LossMonitor(2)
        >>> for step in (1, 2, 3, 4):
        ...     args = {"cur_epoch_num": 1, "cur_step_num": step, "batch_num": 3}
        ...     monitor.on_train_step_end(RunContext({"net_outputs": 0.5 / step, **args}))
        epoch: 1 step: 2, loss is 0.25
        epoch: 1 step: 1, loss is 0.125
    """

    def __init__(self, per_print_times: int = 1) -> None:
        super().__init__()
        self._per_print_times = check_int(per_print_times, "per_print_times", "LossMonitor", low=0)
        self._last_print_time = 0

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Print the loss if it is time; raise if it is no finite number."""
        self._watch(run_context.original_args())

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Do the same in an evaluation of its own; one inside `fit` is summed up at its end."""
        params = run_context.original_args()
        if "cur_epoch_num" not in params:
            self._watch(params)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Print the results of the epoch's evaluation, if `fit` made one."""
        params = run_context.original_args()
        if "metrics" in params:
            print(
                f"Eval result: epoch {params.cur_epoch_num}, metrics: {params.metrics}", flush=True
            )

    def state_dict(self) -> dict[str, object]:
        """Return the step of the last line."""
        return {"last_print_time": self._last_print_time}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on counting from another one's last line.

        Raises:
            ValueError: It is not there, or no int.
        """
        self._last_print_time = entry(state, "last_print_time", int, "LossMonitor")

    def _watch(self, params: InternalCallbackParam) -> None:
        epoch = params.get("cur_epoch_num", 1)
        step = params.cur_step_num
        step_in_epoch = (step - 1) % params.batch_num + 1
        loss = _loss(params.net_outputs)
        if _is_bad(loss):
            raise ValueError(
                f"In epoch: {epoch} step: {step_in_epoch}, loss is NAN or INF, "
                "training process cannot continue, terminating training."
            )
        if step <= self._last_print_time:  # another run has begun
            self._last_print_time = 0
        if self._per_print_times and step - self._last_print_time >= self._per_print_times:
            self._last_print_time = step
            print(f"epoch: {epoch} step: {step_in_epoch}, loss is {loss!s}", flush=True)


def _loss(outputs: object) -> object:
    """Return the loss among a network's outputs, as MindSpore prints it.

    A tensor is a Python number with all its digits (the mean, if there are several losses); the
    first of several outputs is printed by numpy, with the digits of its dtype.
    """
    if isinstance(outputs, Tensor):
        array = outputs.asnumpy()
        return float(array if array.ndim == 0 else array.mean())
    first = _first(outputs)
    return first.asnumpy() if isinstance(first, Tensor) else outputs


def _first(outputs: object) -> object:
    if isinstance(outputs, tuple | list):
        return next(iter(cast("Sequence[object]", outputs)), None)
    return None


def _is_bad(loss: object) -> bool:
    if isinstance(loss, float):
        return not math.isfinite(loss)
    if not isinstance(loss, np.ndarray | np.generic):
        return False
    return not np.isfinite(cast("npt.ArrayLike", loss)).all()
