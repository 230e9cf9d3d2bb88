"""What callbacks know of the training: where it stands, its arrays by name, and the channel."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from minispore.common import Tensor
from minispore.nn import Optimizer
from minispore.tensorpack.channel import Array, Listener, Monitors, as_float, suggest
from minispore.train.callback import RunContext
from minispore.train.callback._monitored import as_array, first_output
from minispore.train.callback._run_context import InternalCallbackParam


class RunValues(NamedTuple):
    """What `_after_run` is given.

    Attributes:
        results: The arrays of the names that `_before_run` returned, in their order.
    """

    results: tuple[Array, ...]


class Trainer:
    """A training, as tensorpack's callbacks see it; in the run's parameters it is `trainer`.

    Attributes:
        monitors: The channel.
        run_context: The run, as MindSpore's callbacks see it.
        epoch_num: The epoch, counted from 1; before the first, how many were done earlier.
        global_step: The steps that are done, those of earlier runs included.
        local_step: The step within its epoch, counted from 0; -1 before the first.
        starting_epoch: The run's first epoch.
        max_epoch: Its last.
        steps_per_epoch: The steps of an epoch.
        heard: What `ops`' summaries have handed out in this step, by kind and name.
    """

    def __init__(self, run_context: RunContext, monitors: Sequence[Listener]) -> None:
        params = run_context.original_args()
        self.monitors: Monitors = Monitors(monitors, lambda: self.global_step)
        self.run_context = run_context
        self.steps_per_epoch: int = params.batch_num
        self.starting_epoch: int = params.initial_epoch + 1
        self.max_epoch: int = params.initial_epoch + params.epoch_num
        self.epoch_num: int = params.initial_epoch
        self._earlier = params.initial_epoch * params.batch_num
        self.global_step: int = self._earlier
        self.local_step: int = -1
        self.heard: dict[tuple[str, str], Array] = {}

    @property
    def params(self) -> InternalCallbackParam:
        """The parameters of the run."""
        return self.run_context.original_args()

    @property
    def optimizer(self) -> Optimizer | None:
        """The optimiser; None if there is none."""
        found: object = self.params.optimizer
        if found is None:  # the network may do its own steps
            found = getattr(self.params.train_network, "optimizer", None)
        return found if isinstance(found, Optimizer) else None

    @property
    def learning_rate(self) -> float | None:
        """The learning rate of the next step; None if there is none, or more than one."""
        try:
            rate = None if self.optimizer is None else self.optimizer.get_lr()
        except RuntimeError:  # of a list of rates, the last one was the last step's
            return None
        return as_float(rate)

    @property
    def is_last_step(self) -> bool:
        """Whether the step is its epoch's last."""
        return self.local_step == self.steps_per_epoch - 1

    def place(self) -> None:
        """Stand where the loop stands."""
        params = self.params
        self.epoch_num = params.cur_epoch_num
        self.global_step = self._earlier + params.cur_step_num
        if params.cur_step_num:
            self.local_step = (params.cur_step_num - 1) % self.steps_per_epoch

    def put_loop(self) -> None:
        """Put the loss and the learning rate in the channel."""
        loss = as_array(first_output(self.params.get("net_outputs")))
        if loss is not None and loss.size:
            self.monitors.put_scalar(
                "loss", loss.mean(dtype=loss.dtype if loss.dtype.kind == "f" else float)
            )
        rate = self.learning_rate
        if rate is not None:
            self.monitors.put_scalar("learning_rate", rate)

    def array(self, name: str) -> Array:
        """Return an array of the current step.

        Args:
            name: "loss"; a column of the batch, by the dataset's name for it or as "input0",
                "input1", …; a parameter of the network or the optimiser; or what a summary of
                `ops` hands out in the network, for callbacks with `hears`.

        Raises:
            ValueError: There is no such array; the message has the nearest names.
        """
        value = self.value(name)
        return value.asnumpy() if isinstance(value, Tensor) else value

    def value(self, name: str) -> Array | Tensor:
        """As `array`, but a tensor as it is: to look at one that is on a device is to wait."""
        for found in self._sources(name):
            value = found if isinstance(found, Tensor) else as_array(found)
            if value is not None:
                return value
        raise ValueError(f"The training has no array {name!r}{suggest(name, self._names())}")

    def _sources(self, name: str) -> Iterator[object]:
        params = self.params
        if name == "loss":
            yield first_output(params.get("net_outputs"))
        yield self._columns().get(name)
        yield next((array for (_, heard), array in self.heard.items() if heard == name), None)
        yield next((p for p in params.train_network.get_parameters() if p.name == name), None)

    def _names(self) -> Sequence[str]:
        own = [each.name for each in self.params.train_network.get_parameters()]
        return ["loss", *self._columns(), *[name for _, name in self.heard], *own]

    def _columns(self) -> Mapping[str, object]:
        batch = cast("Sequence[object]", self.params.get("train_dataset_element") or ())
        get_names = getattr(self.params.train_dataset, "get_col_names", None)
        names = cast("Sequence[str]", get_names()) if callable(get_names) else ()
        columns = {f"input{i}": column for i, column in enumerate(batch)}
        return columns | dict(zip(names, batch, strict=False))
