"""History: keep what each epoch brought."""

from collections.abc import Mapping
from typing import cast

from minispore.train._protocol.callback import Callback
from minispore.train._protocol.run_context import InternalCallbackParam, RunContext
from minispore.train._protocol.states import entries, numbers
from minispore.train.callback._monitored import as_array, first_output, shortest

_OWNER = "History"


class History(Callback):
    """Record the network's output, which is the loss, and the metrics of each epoch.

    Of several outputs the first is recorded, of several numbers the mean, with the digits of its
    dtype. In `Model.fit` an epoch's evaluation adds a number to the list of each metric. In an
    evaluation of its own the last batch's output is recorded.

    Source: mindspore.train.History.

    Attributes:
        epoch: ``{"epoch": [1, 2, …]}``, the epochs of the latest run; None before the first.
        history: ``{"net_output": […], metric: […]}``, of all runs.

    Raises:
        ValueError: In loading a state that is none.

    Examples:
        >>> history = History()
        >>> run = RunContext({})
        >>> history.on_train_begin(run)
        >>> for epoch in (1, 2):
        ...     run.original_args().update(cur_epoch_num=epoch, net_outputs=1 / epoch)
        ...     history.on_train_epoch_end(run)
        >>> history.epoch, history.history
        ({'epoch': [1, 2]}, {'net_output': [1.0, 0.5]})
    """

    def __init__(self) -> None:
        super().__init__()
        self.history: dict[str, list[object]] = {}
        self.epoch: dict[str, list[int]] | None = None

    def on_train_begin(self, run_context: RunContext) -> None:
        """Begin another list of epochs."""
        self.epoch = {"epoch": []}

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Record the epoch."""
        params = run_context.original_args()
        self._record(params)
        results = params.metrics if "metrics" in params else {}
        for name, value in results.items():
            self.history.setdefault(name, []).append(value)

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Begin another list in an evaluation of its own."""
        if _is_alone(run_context):
            self.epoch = {"epoch": []}

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        """Record an evaluation of its own; in `fit`, the epoch's end does."""
        if _is_alone(run_context):
            self._record(run_context.original_args())

    def state_dict(self) -> dict[str, object]:
        """Return all that was recorded."""
        history: dict[str, object] = {name: list(values) for name, values in self.history.items()}
        return {"epoch": list(self.epoch["epoch"]) if self.epoch else [], "history": history}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Have recorded what another one did.

        Raises:
            ValueError: An entry is missing or of another type; nothing is changed then.
        """
        epochs = numbers(state, "epoch", int, _OWNER)
        history = cast("dict[str, list[object]]", entries(state, "history", list, _OWNER))
        self.epoch = {"epoch": epochs}
        self.history = {name: list(values) for name, values in history.items()}

    def _record(self, params: InternalCallbackParam) -> None:
        if self.epoch is None:
            self.epoch = {"epoch": []}
        self.epoch["epoch"].append(params.cur_epoch_num if "cur_epoch_num" in params else 1)
        output = first_output(params.net_outputs)
        array = as_array(output)
        if array is not None and not isinstance(output, int | float):
            output = shortest(array.mean())
        self.history.setdefault("net_output", []).append(output)


def _is_alone(run_context: RunContext) -> bool:
    return "cur_epoch_num" not in run_context.original_args()
