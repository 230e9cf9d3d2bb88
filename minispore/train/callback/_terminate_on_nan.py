"""TerminateOnNaN: stop the run when the loss is not finite."""

from minispore.ops.tensors import Tensor
from minispore.train.protocol.callback import Callback, RunContext, step_in_epoch
from minispore.train.protocol.outputs import (
    PendingDeviceValues,
    first_output,
    is_finite,
    is_on_device,
)

__all__ = ["TerminateOnNaN"]


class TerminateOnNaN(Callback):
    """Print a line and stop the run after a step of training whose loss is NaN or infinite.

    `LossMonitor` raises an error instead. On a GPU, where reading a value synchronizes, the losses
    are read together at the end of an epoch.

    Examples:
        >>> params = {"cur_epoch_num": 1, "cur_step_num": 2, "batch_num": 5}
        >>> run = RunContext({"net_outputs": float("nan"), **params})
        >>> TerminateOnNaN().on_train_step_end(run)
        epoch: 1 step: 2, loss is nan, the run is stopped
        >>> run.get_stop_requested()
        True

    Source: Keras' `callbacks.TerminateOnNaN`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._pending: PendingDeviceValues[int] = PendingDeviceValues()

    def __exit__(self, *exc_info: object) -> None:
        self._pending.clear()

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Request a stop if the loss is not finite."""
        params = run_context.original_args()
        step, loss = step_in_epoch(params), first_output(params.net_outputs)
        if isinstance(loss, Tensor) and is_on_device(loss):
            self._pending.add(step, loss)
        elif not is_finite(loss):
            self._stop(run_context, step, loss)
        if self._pending.full:
            self.on_train_epoch_end(run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Check the losses that were not read yet."""
        for step, loss in self._pending.fetch():
            if not is_finite(loss):
                self._pending.clear()
                self._stop(run_context, step, loss)
                break

    def _stop(self, run_context: RunContext, step: int, loss: object) -> None:
        if run_context.is_chief:
            epoch = run_context.original_args().cur_epoch_num
            print(f"epoch: {epoch} step: {step}, loss is {loss}, the run is stopped", flush=True)
        run_context.request_stop()
