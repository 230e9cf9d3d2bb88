"""Warnings of steps that train nothing, or a single row."""

from typing import Final

from minispore.train import protocol
from minispore.train.protocol.callback import InternalCallbackParam, RunContext, step_in_epoch
from minispore.train.protocol.outputs import first_output, is_finite, is_on_device
from minispore.utils.checks import as_items
from minispore.utils.warn import warn_at_caller

# With more steps in an epoch, those of single rows take long.
_MAX_ROWS: Final = 100


class StepCheck:
    """Checks each step of a run, and warns once of each problem.

    - The loss is not finite, unless a callback stops the run there. A loss on a GPU is not checked,
      since reading it would synchronize.
    - The first batch is a single row, and an epoch has more than 100 steps.
    - The gradients overflow at the loss scale in all steps, or in more than an epoch's last ones,
      which were therefore not made.

    Args:
        params: The parameters of the run.
    """

    def __init__(self, params: InternalCallbackParam) -> None:
        self._params = params
        self._has_loss_scale: bool = getattr(params.train_network, "reports_overflow", False)
        self._warned = False
        self._steps = 0
        self._overflows = 0  # since the last step that was made

    def __call__(self, context: RunContext) -> None:
        """Check a step after its last event."""
        self._steps += 1
        params = self._params
        batch, count = params.train_dataset_element, params.batch_num
        if self._steps == 1 and batch and params.loss_fn is not None and count > _MAX_ROWS:
            protocol.row_check.warn_of_rows(batch, count)
        if self._has_loss_scale:
            outputs = as_items(params.net_outputs)
            is_overflow = outputs is not None and len(outputs) > 1 and bool(outputs[1])
            self._overflows = self._overflows + 1 if is_overflow else 0
        loss = first_output(params.net_outputs)
        if self._warned or is_on_device(loss) or is_finite(loss):
            return
        if not context.get_stop_requested():
            self._warned = True
            where = f"epoch {params.cur_epoch_num}, step {step_in_epoch(params)}"
            warn_at_caller(
                f"The loss of {where} is not finite, so the weights may be NaN from here on. "
                "'LossMonitor' raises an error at such a loss, 'TerminateOnNaN' stops the run. A "
                "smaller learning rate, or a check of the data, may help."
            )

    def finish(self) -> None:
        """Check the whole run."""
        if self._overflows and self._overflows >= min(self._steps, self._params.batch_num + 1):
            warn_at_caller(
                f"The gradients of the last {self._overflows} steps overflow at the loss scale, so "
                "these steps were not made, and the weights have not changed. A smaller loss scale "
                "to begin with, or a check of the data, may help."
            )
