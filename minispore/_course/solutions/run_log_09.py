"""The callback `RunLog` after lesson 9: it observes."""

from typing import cast

from minispore.common import Tensor
from minispore.train import Callback, RunContext


class RunLog(Callback):
    """Record the mean loss of each epoch, and the results of each evaluation.

    Attributes:
        losses: The mean of the losses of the steps of each epoch.
        results: A copy of the results of each evaluation.
    """

    def __init__(self) -> None:
        super().__init__()
        self.losses: list[float] = []
        self.results: list[dict[str, object]] = []
        self._steps: list[float] = []

    def on_train_begin(self, run_context: RunContext) -> None:
        """Forget an earlier run."""
        self.losses, self.results = [], []

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Begin with no losses."""
        self._steps = []

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Record the loss as a Python number."""
        outputs: object = run_context.original_args().net_outputs
        loss = cast("tuple[Tensor]", outputs)[0] if isinstance(outputs, tuple) else outputs
        assert isinstance(loss, Tensor)
        self._steps.append(float(loss))

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Record the mean loss of the epoch."""
        self.losses.append(sum(self._steps) / len(self._steps))

    def on_eval_end(self, run_context: RunContext) -> None:
        """Record the results of the evaluation."""
        self.results.append(dict(run_context.original_args().metrics))
