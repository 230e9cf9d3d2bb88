"""tensorpack's protocol: the hooks of a callback, and what a callback knows of the training.

    for all callbacks: setup_graph
    for all: before_train
    in each epoch:
        for all: before_epoch
        in each step:
            for all: before_run        global_step is N
            the step
            for all: after_run         global_step is N + 1
            for all: trigger_step
        for all: after_epoch           in fit: before the evaluation
        for all: trigger_epoch         in fit: after it
    for all: after_train               always, whatever happened

"for all" means one after the other in the order of the list, the whole list before the next hook.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, Self, cast

import numpy as np

from minispore.common import Tensor
from minispore.nn import Optimizer
from minispore.tensorpack.channel import Array, Listener, Monitors, as_float, suggest
from minispore.tensorpack.states import Remembering
from minispore.train._protocol.run_context import InternalCallbackParam
from minispore.train.callback import RunContext
from minispore.train.callback._monitored import as_array, first_output


class StopTraining(Exception):  # noqa: N818 (tensorpack's name)
    """Raised in a hook of tensorpack's to end the training: no further hook but `_after_train`.

    Examples:
        >>> from minispore.tensorpack import CallbackFactory
        >>> from minispore.tensorpack._examples import train
        >>> def stop(callback):
        ...     raise StopTraining("It is enough.")
        >>> train(CallbackFactory(trigger=stop))
        Training was stopped by CallbackFactory. It is enough.
    """


class RunValues(NamedTuple):
    """What `_after_run` is given.

    Attributes:
        results: The arrays of the names that `_before_run` returned, in their order.

    Examples:
        >>> RunValues(results=(as_array(0.5),)).results[0].item()
        0.5
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

    Examples:
        >>> from minispore.tensorpack import CallbackFactory
        >>> from minispore.tensorpack._examples import train
        >>> def look(callback):
        ...     trainer = callback.trainer
        ...     print(trainer.epoch_num, trainer.global_step, trainer.array("x").shape)
        >>> train(CallbackFactory(trigger=look))
        1 3 (2, 3)
        2 6 (2, 3)
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
    def learning_rate(self) -> float | None:
        """The learning rate of the next step; None if there is none, or more than one."""
        # Where the run has no optimiser, the network may do its own steps.
        params = self.params
        optimizer = params.optimizer or getattr(params.train_network, "optimizer", None)
        try:
            return as_float(optimizer.get_lr()) if isinstance(optimizer, Optimizer) else None
        except RuntimeError:  # of a list of rates, the last one was the last step's
            return None

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
            kind = loss.dtype if loss.dtype.kind == "f" else np.dtype(float)
            self.monitors.put_scalar("loss", loss.mean(dtype=kind))
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
        for known in self._values():
            found = known.get(name)
            value = found if isinstance(found, Tensor) else as_array(found)
            if value is not None:
                return value
        names = [name for known in self._values() for name in known]
        raise ValueError(f"The training has no array {name!r}{suggest(name, names)}")

    def _values(self) -> Iterator[Mapping[str, object]]:
        """Everything that has a name; of two of the same name the first one counts."""
        params = self.params
        yield {"loss": first_output(params.get("net_outputs"))}
        batch = cast("Sequence[object]", params.get("train_dataset_element") or ())
        get_names = getattr(params.train_dataset, "get_col_names", None)
        names = cast("Sequence[str]", get_names()) if callable(get_names) else ()
        columns = {f"input{i}": column for i, column in enumerate(batch)}
        yield columns | dict(zip(names, batch, strict=False))
        yield {heard: array for (_, heard), array in self.heard.items()}
        yield {each.name: each for each in params.train_network.get_parameters()}


class Hooks:
    """The hooks of tensorpack's callbacks: a subclass overrides those with an underscore.

    Attributes:
        chief_only: Whether, of several processes, only the first one calls it.
        name_scope: For tensorpack's graphs, and without effect.
        hears: Whether `trainer.array` shall know what `ops`' summaries hand out.
    """

    chief_only: bool = True
    name_scope: str = ""
    hears: bool = False
    _trainer: Trainer | None = None

    # For subclasses.

    def _setup_graph(self) -> None:
        """Called once, before `_before_train` of any callback."""

    def _before_train(self) -> None:
        """Called once, before the first epoch."""

    def _before_epoch(self) -> None:
        """Called before each epoch."""

    def _before_run(self, run_context: RunContext) -> Sequence[str] | None:
        """Called before each step; returns the names of the arrays that `_after_run` shall get."""

    def _after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        """Called after each step, before `_trigger_step` of any callback."""

    def _trigger_step(self) -> None:
        """Called after each step."""

    def _after_epoch(self) -> None:
        """Called after the steps of each epoch: for clocks."""

    def _trigger_epoch(self) -> None:
        """Called after each epoch; by default it triggers."""
        self.trigger()

    def _trigger(self) -> None:
        """Do what the callback is for: by default at the end of each epoch."""

    def _after_train(self) -> None:
        """Called once at the end, of an interrupted or failed training as well."""

    def produces(self) -> Collection[str]:
        """Return the names of the numbers that it puts in the channel and others may read."""
        return ()

    def consumes(self) -> Collection[str]:
        """Return the names of the numbers that it reads; a callback before it must put them in."""
        return ()

    # For whoever calls it.

    def setup_graph(self, trainer: Trainer) -> None:
        """Meet the trainer, with nothing in memory."""
        self._trainer = trainer
        if isinstance(self, Remembering):
            self.forget()
        self._setup_graph()

    def trigger(self) -> None:
        """Call `_trigger`."""
        self._trigger()

    # What a callback knows.

    @property
    def trainer(self) -> Trainer:
        """The training, from `_setup_graph` on.

        Raises:
            RuntimeError: There is none yet.
        """
        if self._trainer is None:
            raise RuntimeError(f"{type(self).__name__} is in no training: 'trainer' is not known.")
        return self._trainer

    @property
    def epoch_num(self) -> int:
        """The epoch, counted from 1."""
        return self.trainer.epoch_num

    @property
    def global_step(self) -> int:
        """How many steps are done."""
        return self.trainer.global_step

    @property
    def local_step(self) -> int:
        """The step within the epoch, counted from 0."""
        return self.trainer.local_step

    def set_chief_only(self, v: bool = True) -> Self:
        """Set `chief_only`."""
        self.chief_only = v
        return self

    def get_tensors_maybe_in_tower(self, names: Sequence[str]) -> list[Array]:
        """Return the arrays of the current step by their names; see `Trainer.array`."""
        return [self.trainer.array(name) for name in names]
