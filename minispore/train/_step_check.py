"""Warnings of steps that train nothing, or nothing that is meant."""

from minispore.nn import TrainOneStepWithLossScaleCell
from minispore.train.protocol.callback import RunContext, step_in_epoch
from minispore.train.protocol.outputs import first_output, is_finite, is_on_device
from minispore.utils.checks import as_items
from minispore.utils.warn import warn_at_caller


class StepCheck:
    """Checks each step of a run, and warns once of each problem.

    - The loss is not finite, unless a callback stops the run there. A loss on a GPU is not checked,
      since reading it would synchronize.
    - The network is in evaluation mode, unless it was when the run began.
    - The gradients overflow at the loss scale in all steps, or in more than an epoch's last ones,
      which were therefore not made.

    Args:
        context: The run context, after `on_train_begin`.
    """

    def __init__(self, context: RunContext) -> None:
        self._params = params = context.original_args()
        self._has_loss_scale = isinstance(params.train_network, TrainOneStepWithLossScaleCell)
        self._warned_of_mode = not params.network.training
        self._warned_of_loss = False
        self._steps = 0
        self._overflows = 0  # since the last step that was made

    def begin_step(self) -> None:
        """Check the mode in which the network will be called."""
        if not (self._params.network.training or self._warned_of_mode):
            self._warned_of_mode = True
            warn_at_caller(
                f"From {self._position()} on, the network is in evaluation mode, which a callback "
                "has set: dropout does nothing, and moving statistics stay. If only an evaluation "
                "was meant, call 'set_train()' after it, or use 'Model.eval' or 'Model.predict'."
            )

    def end_step(self, context: RunContext) -> None:
        """Check the outputs, after the last event of the step."""
        self._steps += 1
        params = self._params
        if self._has_loss_scale:
            outputs = as_items(params.net_outputs)
            is_overflow = outputs is not None and len(outputs) > 1 and bool(outputs[1])
            self._overflows = self._overflows + 1 if is_overflow else 0
        loss = first_output(params.net_outputs)
        if self._warned_of_loss or is_on_device(loss) or is_finite(loss):
            return
        if not context.get_stop_requested():
            self._warned_of_loss = True
            warn_at_caller(
                f"The loss of {self._position()} is not finite, so the weights may be NaN from "
                "here on. 'LossMonitor' raises an error at such a loss, 'TerminateOnNaN' stops the "
                "run. A smaller learning rate, or a check of the data, may help."
            )

    def finish(self) -> None:
        """Check the whole run."""
        if self._overflows and self._overflows >= min(self._steps, self._params.batch_num + 1):
            warn_at_caller(
                f"The gradients of the last {self._overflows} steps overflow at the loss scale, so "
                "these steps were not made, and the weights have not changed. A smaller loss scale "
                "to begin with, or a check of the data, may help."
            )

    def _position(self) -> str:
        return f"epoch {self._params.cur_epoch_num}, step {step_in_epoch(self._params)}"
