"""LossMonitor: print the loss, and stop training that has gone wrong."""

import math
from collections.abc import Mapping
from types import TracebackType
from typing import cast

import numpy as np
import numpy.typing as npt

from minispore._checks import check_int
from minispore.common import Tensor
from minispore.train._protocol.callback import Callback
from minispore.train._protocol.run_context import InternalCallbackParam, RunContext
from minispore.train._protocol.states import entry
from minispore.train.callback._deferred import Deferred, is_far
from minispore.train.callback._monitored import first_output


class LossMonitor(Callback):
    """Print the loss every so many steps, and in `fit` each evaluation's results.

    The loss is the network's output, or the first element of a tuple or list. It is looked at in
    every step, printed or not. On a GPU, where looking is waiting, the losses are looked at
    together, whenever a line is printed, the training state is asked for, or an epoch ends.

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

    chief_only = True

    def __init__(self, per_print_times: int = 1) -> None:
        super().__init__()
        self._per_print_times = check_int(per_print_times, "per_print_times", "LossMonitor", low=0)
        self._last_print_time = 0
        self._unseen: Deferred[tuple[int, int]] = Deferred()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._unseen.clear()

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Print the loss if it is time; raise if it is no finite number."""
        self._watch(run_context.original_args())

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Do the same in an evaluation of its own; one inside `fit` is summed up at its end."""
        params = run_context.original_args()
        if "cur_epoch_num" not in params:
            self._watch(params)

    def on_eval_end(self, run_context: RunContext) -> None:
        """Look at what was not looked at."""
        self._look()

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Print the results of the epoch's evaluation, if `fit` made one."""
        self._look()
        params = run_context.original_args()
        if params.get("metrics"):
            print(
                f"Eval result: epoch {params.cur_epoch_num}, metrics: {params.metrics}", flush=True
            )

    def state_dict(self) -> dict[str, object]:
        """Return the step of the last line, after a look at the losses since then."""
        self._look()
        return {"last_print_time": self._last_print_time}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on counting from another one's last line.

        Raises:
            ValueError: It is not there, or no int.
        """
        self._last_print_time = entry(state, "last_print_time", int, "LossMonitor")

    def _watch(self, params: InternalCallbackParam) -> None:
        epoch = cast("int", params.get("cur_epoch_num", 1))
        step = params.cur_step_num
        step_in_epoch = (step - 1) % params.batch_num + 1
        if step <= self._last_print_time:  # another run has begun
            self._last_print_time = 0
        due = self._per_print_times and step - self._last_print_time >= self._per_print_times
        outputs: object = params.net_outputs
        first = first_output(outputs)
        if isinstance(first, Tensor) and is_far(first):
            self._unseen.add((epoch, step_in_epoch), first)
            if not due and not self._unseen.full:
                return
            seen = self._look()
        else:
            seen = first.asnumpy() if isinstance(first, Tensor) else None
            _check(_loss(outputs, seen), epoch, step_in_epoch)
        if due:
            self._last_print_time = step
            loss = _loss(outputs, seen)
            print(f"epoch: {epoch} step: {step_in_epoch}, loss is {loss!s}", flush=True)

    def _look(self) -> npt.NDArray[np.generic] | None:
        """Check the losses that nobody has looked at, and return the last one."""
        array = None
        for (epoch, step), array in self._unseen.fetch():
            _check(array, epoch, step)
        return array


def _loss(outputs: object, first: npt.NDArray[np.generic] | None) -> object:
    """Return the loss among a network's outputs, as MindSpore prints it.

    A tensor is a Python number with all its digits (the mean, if there are several losses); the
    first of several outputs is printed by numpy, with the digits of its dtype.

    Args:
        outputs: What the network returned.
        first: The first output, if that is a tensor.
    """
    if first is None:
        return outputs
    if isinstance(outputs, Tensor):
        return float(first if first.ndim == 0 else first.mean())
    return first


def _check(loss: object, epoch: int, step: int) -> None:
    if _is_bad(loss):
        raise ValueError(
            f"In epoch: {epoch} step: {step}, loss is NAN or INF, "
            "training process cannot continue, terminating training."
        )


def _is_bad(loss: object) -> bool:
    if isinstance(loss, float):
        return not math.isfinite(loss)
    if not isinstance(loss, np.ndarray | np.generic):
        return False
    return not np.isfinite(cast("npt.ArrayLike", loss)).all()
