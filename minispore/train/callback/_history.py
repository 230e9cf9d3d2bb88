"""History: the output, the metrics and the learning rate of each epoch."""

from collections.abc import Mapping
from typing import Any

from minispore.train.protocol.callback import Callback, InternalCallbackParam, RunContext
from minispore.train.protocol.learning_rate import learning_rates
from minispore.train.protocol.monitor import distinct_names
from minispore.train.protocol.outputs import as_array, first_output, shortest_float
from minispore.train.protocol.state_fields import StateField, StatefulMixin
from minispore.utils.curves import plot_curves

__all__ = ["History"]


class History(Callback, StatefulMixin):
    """Store the output of the network, which is the loss, and the metrics of each epoch.

    If the network has several outputs, the first is stored; if that has several elements, their
    mean, with the digits of its dtype. In `Model.fit` the evaluation of an epoch appends a number
    to the list of each metric. In `Model.eval` the output of the last batch is stored.

    An epoch that a stop has interrupted is stored with its last output; when the training is
    resumed, the output of the complete epoch replaces it.

    Attributes:
        epoch: ``{"epoch": [1, 2, …]}``, the epochs of the latest run; None before the first run.
        history: ``{"net_output": […], metric: […]}`` of all runs; a metric that is named
            "net_output" is "eval_net_output".
        learning_rate: ``{"learning_rate": […]}``, with the rate of the last step of each epoch of
            all runs; "learning_rate_0", "learning_rate_1" and so on if groups of parameters have
            their own; ``{}`` without an optimizer.

    Examples:
        >>> history = History()
        >>> run = RunContext({})
        >>> history.on_train_begin(run)
        >>> for epoch in (1, 2):
        ...     run.original_args().update(cur_epoch_num=epoch, net_outputs=1 / epoch)
        ...     history.on_train_epoch_end(run)
        >>> history.epoch, history.history
        ({'epoch': [1, 2]}, {'net_output': [1.0, 0.5]})

    Source: MindSpore's `mindspore.train.History`.
    """

    _epochs = StateField(list[int], key="epoch")
    # Any: a metric returns a number, an array, or what its author wants.
    history: StateField[dict[str, list[Any]]] = StateField(dict[str, list[Any]])
    learning_rate: StateField[dict[str, list[float]]] = StateField(dict[str, list[float]])
    _rates = StateField(dict[str, float])  # of the last step

    def __init__(self) -> None:
        super().__init__()
        self.epoch: dict[str, list[int]] | None = None

    def __repr__(self) -> str:
        latest = {name: values[-1] for name, values in self.history.items() if values}
        return f"<History: {len(self.epoch['epoch']) if self.epoch else 0} epochs, latest {latest}>"

    def _repr_html_(self) -> str:
        numbers = {
            name: [float(value) for value in values]
            for name, values in self.history.items()
            if all(isinstance(value, int | float) for value in values)
        }
        return plot_curves(numbers)

    def on_train_begin(self, run_context: RunContext) -> None:
        """Start a new list of epochs."""
        self.epoch = {"epoch": []}
        self._rates = {}

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Note the learning rate of the step."""
        self._rates = learning_rates(run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Store the output, the metrics and the learning rate of the epoch."""
        params = run_context.original_args()
        self._add_output(params)
        results = params.metrics if "metrics" in params else {}
        for name, value in distinct_names(results, ["net_output"]).items():
            self.history.setdefault(name, []).append(value)
        for name, rate in self._rates.items():
            self.learning_rate.setdefault(name, []).append(rate)

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Start a new list of epochs in `Model.eval`."""
        if _is_standalone_eval(run_context):
            self.epoch = {"epoch": []}

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        """Store the output in `Model.eval`; in `fit`, `on_train_epoch_end` does."""
        if _is_standalone_eval(run_context):
            self._add_output(run_context.original_args())

    def state_dict(self) -> dict[str, object]:
        """Return copies of all lists."""
        self._epochs = self.epoch["epoch"] if self.epoch else []
        history = {name: list(values) for name, values in self.history.items()}
        rates = {name: [*numbers] for name, numbers in self.learning_rate.items()}
        return super().state_dict() | {"history": history, "learning_rate": rates}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Restore a state that `state_dict` has returned.

        Raises:
            ValueError: An entry is missing or has the wrong type. The callback is unchanged then.
        """
        super().load_state_dict(state)
        self.epoch = {"epoch": self._epochs}

    def _add_output(self, params: InternalCallbackParam) -> None:
        if self.epoch is None:
            self.epoch = {"epoch": []}
        self.epoch["epoch"].append(params.cur_epoch_num if "cur_epoch_num" in params else 1)
        output = first_output(params.net_outputs)
        array = as_array(output)
        if array is not None and not isinstance(output, int | float):
            output = shortest_float(array.mean())
        self.history.setdefault("net_output", []).append(output)


def _is_standalone_eval(run_context: RunContext) -> bool:
    return "cur_epoch_num" not in run_context.original_args()
