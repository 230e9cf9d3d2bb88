"""The callbacks of `minispore train` that stop it: by Ctrl-C, and if the loss is not finite."""

import math
import signal

from minispore._cli.errors import UserError
from minispore.train import Callback, OnRequestExit, RunContext


class StopOnInterrupt(OnRequestExit):
    """Stop the run after the current step on SIGINT; a second one ends it at once."""

    def __init__(self) -> None:
        super().__init__(save_ckpt=False, sig=signal.SIGINT)

    @property
    def requested(self) -> bool:
        """Whether SIGINT was received."""
        return self._requested


class RequireFiniteLoss(Callback):
    """End the run if the loss is not finite."""

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Check the loss.

        Raises:
            UserError: The loss is not finite.
        """
        params = run_context.original_args()
        loss = params.net_outputs.item()
        if not math.isfinite(loss):
            raise UserError(
                f"the loss became {loss} in step {params.cur_step_num}: try a smaller --lr"
            )
