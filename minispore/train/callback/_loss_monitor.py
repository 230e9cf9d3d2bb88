"""LossMonitor: print the loss, and stop training when it is not finite."""

from minispore.ops.tensors import Tensor
from minispore.train.protocol.callback import (
    Callback,
    InternalCallbackParam,
    RunContext,
    step_in_epoch,
)
from minispore.train.protocol.outputs import (
    PendingDeviceValues,
    first_output,
    is_finite,
    is_on_device,
)
from minispore.train.protocol.state_fields import StateField, StatefulMixin
from minispore.utils.arrays import AnyArray
from minispore.utils.checks import check_int

__all__ = ["LossMonitor"]


class LossMonitor(StatefulMixin, Callback):
    """Print the loss every `per_print_times` steps, and in `Model.fit` the evaluation results.

    The loss is the output of the network, or the first element of a tuple or list. It is checked in
    every step, whether or not it is printed. On a GPU, where reading a value synchronizes, the
    losses are read together: when a line is printed, when the training state is saved, and at the
    end of an epoch.

    Args:
        per_print_times: The number of steps between two lines, counted across epochs; 0 prints
            none.

    Raises:
        ValueError: `per_print_times` is negative; in training, if the loss is NaN or infinite.
        TypeError: `per_print_times` is not an int.

    Examples:
        >>> monitor = LossMonitor(2)
        >>> for step in (1, 2, 3, 4):
        ...     args = {"cur_epoch_num": 1, "cur_step_num": step, "batch_num": 3}
        ...     monitor.on_train_step_end(RunContext({"net_outputs": 0.5 / step, **args}))
        epoch: 1 step: 2, loss is 0.25
        epoch: 1 step: 1, loss is 0.125

    Source: MindSpore's `mindspore.train.LossMonitor`.
    """

    chief_only = True
    _last_print_time = StateField(int)

    def __init__(self, per_print_times: int = 1) -> None:
        super().__init__()
        self._per_print_times = check_int(per_print_times, "per_print_times", low=0)
        self._pending: PendingDeviceValues[tuple[int, int]] = PendingDeviceValues()

    def __exit__(self, *exc_info: object) -> None:
        self._pending.clear()

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Print the loss if a line is due; raise ValueError if it is not finite."""
        self._handle_step(run_context.original_args())

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Do the same in `Model.eval`; in `fit`, only the results of an evaluation are printed."""
        params = run_context.original_args()
        if "cur_epoch_num" not in params:
            self._handle_step(params)

    def on_eval_end(self, run_context: RunContext) -> None:
        """Check the pending losses."""
        self._check_pending()

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Check the pending losses; print the results if `fit` has evaluated after this epoch."""
        self._check_pending()
        params = run_context.original_args()
        if params.get("metrics"):
            epoch, metrics = params.cur_epoch_num, params.metrics
            print(f"Eval result: epoch {epoch}, metrics: {metrics}", flush=True)

    def state_dict(self) -> dict[str, object]:
        """Return the step of the last line, after checking the pending losses."""
        self._check_pending()
        return super().state_dict()

    def _handle_step(self, params: InternalCallbackParam) -> None:
        epoch = params.get("cur_epoch_num", 1)
        step = params.cur_step_num
        in_epoch = step_in_epoch(params)
        if step <= self._last_print_time:  # another run has begun
            self._last_print_time = 0
        due = self._per_print_times and step - self._last_print_time >= self._per_print_times
        outputs: object = params.net_outputs
        first = first_output(outputs)
        if isinstance(first, Tensor) and is_on_device(first):
            self._pending.add((epoch, in_epoch), first)
            if not due and not self._pending.full:
                return
            array = self._check_pending()
        else:
            array = first.asnumpy() if isinstance(first, Tensor) else None
            _check(_loss(outputs, array), epoch, in_epoch)
        if due:
            self._last_print_time = step
            loss = _loss(outputs, array)
            print(f"epoch: {epoch} step: {in_epoch}, loss is {loss!s}", flush=True)

    def _check_pending(self) -> AnyArray | None:
        """Read and check the pending losses; return the last one."""
        array = None
        for (epoch, step), array in self._pending.fetch():
            _check(array, epoch, step)
        return array


def _loss(outputs: object, first: AnyArray | None) -> object:
    """Return the loss among the outputs of a network in the form in which MindSpore prints it.

    A single tensor becomes a Python float (the mean, if it has several elements), printed with all
    its digits. The first of several outputs stays an array, printed with the digits of its dtype.

    Args:
        outputs: The outputs of the network.
        first: The first output as an array if it is a tensor, None otherwise.
    """
    if first is None:
        return outputs
    if isinstance(outputs, Tensor):
        return float(first if first.ndim == 0 else first.mean())
    return first


def _check(loss: object, epoch: int, step: int) -> None:
    """Raise ValueError if the loss of a step is NaN or infinite."""
    if not is_finite(loss):
        raise ValueError(
            f"In epoch: {epoch} step: {step}, loss is NAN or INF, "
            "training process cannot continue, terminating training."
        )
