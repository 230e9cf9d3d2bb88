"""The first capstone: a learning-rate finder."""

import math
from collections.abc import Mapping
from itertools import pairwise
from types import TracebackType

from minispore.common import Parameter, Tensor
from minispore.nn import Cell
from minispore.train import Callback, RunContext
from minispore.train.resume import read_dict_field, read_list_field


class RateFinder(Callback):
    """Train some steps with an increasing learning rate, and suggest one.

    When the run ends, in whatever way, the parameters are those before it.

    Args:
        low: The learning rate of the first step.
        high: The learning rate of the last step.
        steps: The number of steps, at least 2, after which the run is stopped.

    Attributes:
        rates: The learning rate of each step.
        losses: The loss of each step.
    """

    def __init__(self, low: float, high: float, steps: int) -> None:
        super().__init__()
        self.low, self.high, self.steps = low, high, steps
        self.rates: list[float] = []
        self.losses: list[float] = []
        self._network: Cell | None = None
        self._before: dict[str, Tensor] = {}

    def on_train_begin(self, run_context: RunContext) -> None:
        """Copy the parameters, those of the optimizer included."""
        self.rates, self.losses = [], []
        self._network = run_context.original_args().train_network
        self._before = {param.name: param.copy() for param in self._network.get_parameters()}

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Set the learning rate of the step."""
        optimizer = run_context.original_args().optimizer
        assert optimizer is not None
        assert isinstance(optimizer.learning_rate, Parameter)
        self.rates.append(self.low * (self.high / self.low) ** (len(self.rates) / (self.steps - 1)))
        optimizer.learning_rate.set_data(self.rates[-1])

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Record the loss, and stop after the last step."""
        self.losses.append(float(run_context.original_args().net_outputs))
        if len(self.losses) >= self.steps:
            run_context.request_stop(finished=True)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Restore the parameters."""
        for param in self._network.get_parameters() if self._network else ():
            param.set_data(self._before[param.name])
        self._network = None

    def suggestion(self) -> float | None:
        """Return the rate at which the loss fell most from a step to the next, None if it rose."""
        falls = [before - after for before, after in pairwise(self.losses)]
        falls = [fall if math.isfinite(fall) else 0.0 for fall in falls]
        best = max(falls, default=0.0)
        return self.rates[falls.index(best)] if best > 0 else None

    def state_dict(self) -> dict[str, object]:
        """Return copies of everything that changes during a run."""
        lists = {"rates": list(self.rates), "losses": list(self.losses)}
        return {**lists, "before": dict(self._before)}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Restore a state.

        Raises:
            ValueError: An entry is missing or of the wrong type.
        """
        rates = read_list_field(state, "rates", float, "RateFinder")
        losses = read_list_field(state, "losses", float, "RateFinder")
        self._before = read_dict_field(state, "before", Tensor, "RateFinder")
        self.rates, self.losses = rates, losses
