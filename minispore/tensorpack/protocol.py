"""The trainer and its monitors, which the hooks use, and the order in which hooks are called.

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
    for all: after_train               always, also after an exception

"for all" means in the order of the list, and the complete list before the next hook.
"""

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, Literal, NamedTuple, NoReturn, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from minispore.common import Tensor
from minispore.nn import Cell, Optimizer
from minispore.nn.cell import evaluation_mode
from minispore.ops.summary import summary_subscribers
from minispore.train.callback import RunContext
from minispore.train.protocol import InternalCallbackParam, as_array, first_output, shortest_float
from minispore.train.protocol.monitor import distinct_names
from minispore.train.resume import StateField, StatefulMixin, read_dict_field
from minispore.train.summary import Event
from minispore.utils.checks import check_type, describe_value

Array: TypeAlias = npt.NDArray[np.generic]
Number: TypeAlias = float | np.generic | Array | Tensor


class MonitorInterface:
    """The methods that receive the values that callbacks log; by default they do nothing."""

    def process_scalar(self, name: str, val: float) -> None:
        """Process a number."""

    def process_image(self, name: str, val: Array) -> None:
        """Process images of shape (n, height, width, 1 or 3), with values from 0 to 255."""

    def process_histogram(self, name: str, val: Array) -> None:
        """Process an array whose distribution is of interest."""

    def process_event(self, evt: Event) -> None:
        """Process an event of `minispore.train.summary`, which has its own step."""


class ScalarStore(StatefulMixin):
    """A history of logged numbers by name, each with its step."""

    _steps = StateField(dict[str, list[int]])
    _values = StateField(dict[str, list[float]])

    def add(self, name: str, step: int, val: float) -> None:
        """Append a number to the history of `name`."""
        self._steps.setdefault(name, []).append(step)
        self._values.setdefault(name, []).append(val)

    def get_latest(self, name: str) -> float:
        """Return the newest value of a name.

        Raises:
            KeyError: No value has this name; the message lists similar names.
        """
        if name not in self._values:
            raise KeyError(f"no value was logged as {name!r}{suggest(name, self.names())}")
        return self._values[name][-1]

    def get_history(self, name: str) -> list[tuple[int, float]]:
        """Return the (step, value) pairs of a name, oldest first; an empty list if unknown."""
        return list(zip(self._steps.get(name, ()), self._values.get(name, ()), strict=True))

    def names(self) -> list[str]:
        """Return the names that have values."""
        return list(self._values)

    def validate_state(self, state: Mapping[str, object]) -> dict[str, object]:
        """Return a copy of the state by attribute names; ValueError if it is invalid."""
        valid = super().validate_state(state)
        steps, values = (read_dict_field(valid, key, list[object]) for key in ("_steps", "_values"))
        if {n: len(numbers) for n, numbers in steps.items()} != {n: len(values[n]) for n in values}:
            raise ValueError(
                "For 'Monitors', the state's 'steps' and 'values' must have the same lengths."
            )
        return valid


class Monitors(ScalarStore):
    """All monitors of a training, as one: logged values go to each of them, numbers are stored.

    Args:
        monitors: The monitors, in the order in which they receive each value.
        step: Returns the current global step.

    Examples:
        >>> monitors = Monitors([], lambda: 7)
        >>> monitors.put_scalar("error", np.float32(0.1))
        >>> monitors.get_latest("error"), monitors.get_history("error")
        (0.1, [(7, 0.1)])
        >>> monitors.get_latest("eror")
        Traceback (most recent call last):
        KeyError: "no value was logged as 'eror'; did you mean 'error'?"

    Source: tensorpack's `callbacks.Monitors`.
    """

    def __init__(self, monitors: Sequence[MonitorInterface], step: Callable[[], int]) -> None:
        self._monitors, self._step = monitors, step

    def put_scalar(self, name: str, val: Number) -> None:
        """Log a number.

        Raises:
            TypeError: `name` is no str, or `val` is not a single real number.
        """
        check_type(name, str, "name")
        number = as_float(val)
        if number is None:
            raise TypeError(
                f"For 'put_scalar', '{name}' must be a single number, "
                f"but got {describe_value(val)}."
            )
        self.add(name, self._step(), number)
        for monitor in self._monitors:
            monitor.process_scalar(name, number)

    def put_image(self, name: str, val: Array | Tensor) -> None:
        """Log images of shape (h, w), (h, w, c) or (n, h, w, c), with values from 0 to 255.

        Raises:
            TypeError: `name` is no str.
            ValueError: The shape is another, or there are neither 1 nor 3 channels.
        """
        check_type(name, str, "name")
        array = images = _to_numpy(val)
        if images.ndim == 2:
            images = images[:, :, np.newaxis]
        if images.ndim == 3:
            images = images[np.newaxis]
        if images.ndim != 4 or images.shape[-1] not in {1, 3} or 0 in images.shape:
            raise ValueError(
                "For 'put_image', images must be of shape (h, w), (h, w, c) or (n, h, w, c) with "
                f"1 or 3 channels, but '{name}' is of shape {array.shape}."
            )
        for monitor in self._monitors:
            monitor.process_image(name, images)

    def put_histogram(self, name: str, val: Array | Tensor) -> None:
        """Log an array whose distribution is of interest."""
        check_type(name, str, "name")
        for monitor in self._monitors:
            monitor.process_histogram(name, _to_numpy(val))

    def put_event(self, evt: Event) -> None:
        """Log an event of `minispore.train.summary`."""
        check_type(evt, Event, "evt")
        for monitor in self._monitors:
            monitor.process_event(evt)


class UnknownMetricError(ValueError):
    """A callback reads a number that no callback logs, or that is logged only after it is read.

    Examples:
        >>> from minispore.tensorpack import SendStat
        >>> from minispore.tensorpack.example_training import train
        >>> train(SendStat(["echo", "{los}"], "los"))
        Traceback (most recent call last):
        minispore.tensorpack.protocol.UnknownMetricError: SendStat reads 'los', which no ...
    """


def declared_names(callback: object, method: Literal["produces", "consumes"]) -> Sequence[str]:
    """Return the result of `callback.produces()` or `callback.consumes()`, if it exists."""
    declare: Callable[[], Collection[str]] | None = getattr(callback, method, None)
    return tuple(declare()) if callable(declare) else ()


# The loop's numbers, and the columns of `RowWriter`: no names of metrics.
LOOP_NAMES: Final = ("loss", "learning_rate", "epoch_num", "global_step")


def check_metric_names(params: InternalCallbackParam, in_any_order: Collection[object]) -> None:
    """Check that each number that a callback of a run reads is logged before.

    Args:
        params: The run's parameters. The loop logs its own numbers before the first callback.
        in_any_order: The callbacks that receive numbers whenever they are logged, so that their
            position in the list does not matter.

    Raises:
        UnknownMetricError: A number is read and never logged, or logged too late.
    """
    results = dict.fromkeys(params.metric_names)
    logged = ["loss", "learning_rate", *distinct_names(results, LOOP_NAMES)]
    callbacks = params.list_callback
    producers = {
        name: source for source in callbacks[::-1] for name in declared_names(source, "produces")
    }
    for callback in callbacks:
        reader = type(callback).__name__
        for name in declared_names(callback, "consumes"):
            if name not in [*logged, *producers]:
                known = list(dict.fromkeys([*logged, *producers]))
                raise UnknownMetricError(
                    f"{reader} reads {name!r}, which no callback logs{suggest(name, known)} "
                    "Declare the names that a custom callback logs in its method 'produces'."
                )
            if name not in logged and callback not in in_any_order:
                producer = type(producers[name]).__name__
                raise UnknownMetricError(
                    f"{reader} reads {name!r} before {producer} logs it: "
                    f"put {producer} before {reader} in the list of callbacks."
                )
        logged += declared_names(callback, "produces")


class StopTraining(Exception):  # noqa: N818 (tensorpack's name)
    """Raised in one of tensorpack's hooks to end the training; then only `_after_train` is called.

    Examples:
        >>> from minispore.tensorpack import CallbackFactory
        >>> from minispore.tensorpack.example_training import train
        >>> def stop(callback):
        ...     raise StopTraining("The loss is low enough.")
        >>> train(CallbackFactory(trigger=stop))
        Training was stopped by CallbackFactory. The loss is low enough.

    Source: tensorpack's `train.StopTraining`.
    """


class RunValues(NamedTuple):
    """The argument of `_after_run`.

    Attributes:
        results: The arrays whose names `_before_run` returned, in the same order.

    Examples:
        >>> RunValues(results=(as_array(0.5),)).results[0].item()
        0.5
    """

    results: tuple[Array, ...]


class Trainer:
    """The training, as tensorpack's callbacks see it; `trainer` in the run's parameters.

    Attributes:
        monitors: The monitors, to which callbacks log values.
        run_context: The run context, which MindSpore's callbacks receive.
        epoch_num: The current epoch, counted from 1; before the first one, the epochs done earlier.
        global_step: The number of steps done, including those of earlier runs.
        local_step: The step within the epoch, counted from 0; -1 before the first.
        starting_epoch: The first epoch of the run.
        max_epoch: The last epoch of the run.
        steps_per_epoch: The number of steps in an epoch.
        summaries: The arrays that `ops`' summaries have emitted in this step, by kind and name.
        is_chief: Whether this is the first of several processes.

    Examples:
        >>> from minispore.tensorpack import CallbackFactory
        >>> from minispore.tensorpack.example_training import train
        >>> def show(callback):
        ...     trainer = callback.trainer
        ...     print(trainer.epoch_num, trainer.global_step, trainer.array("x").shape)
        >>> train(CallbackFactory(trigger=show))
        1 3 (2, 3)
        2 6 (2, 3)

    Source: tensorpack's `train.Trainer`.
    """

    def __init__(self, run_context: RunContext, monitors: Sequence[MonitorInterface]) -> None:
        params = run_context.original_args()
        self.monitors: Monitors = Monitors(monitors, lambda: self.global_step)
        self.run_context = run_context
        self.steps_per_epoch: int = params.train_dataset.get_dataset_size()
        self.starting_epoch: int = params.initial_epoch + 1
        self.max_epoch: int = params.initial_epoch + params.epoch_num
        self.epoch_num: int = params.initial_epoch
        self._earlier_steps = params.initial_epoch * self.steps_per_epoch
        self.global_step: int = self._earlier_steps
        self.local_step: int = -1
        self.summaries: dict[tuple[str, str], Array] = {}
        self.is_chief: bool = run_context.is_chief

    @property
    def loop(self) -> Self:
        """The object that has the counters: the trainer itself."""
        return self

    def register_callback(self, cb: object) -> NoReturn:
        """Raise RuntimeError: while a trainer exists, the list of callbacks is complete."""
        raise RuntimeError(
            f"{type(cb).__name__} cannot be registered while the training runs: put it in the list "
            "of callbacks."
        )

    def get_predictor(
        self, input_names: Sequence[str], output_names: Sequence[str], device: int = 0
    ) -> Callable[..., list[Array]]:
        """Return a function that calls the network in evaluation mode.

        Args:
            input_names: The names of the network's inputs, all of them in the network's order, for
                the reader: only their number is used.
            output_names: The names of the results: "output", the network's first output, or what a
                summary of `ops` emits in the network.
            device: Has no effect.

        Returns:
            A function of arrays or tensors, one for each input, that returns the named arrays.

        Examples:
            >>> from minispore.tensorpack import CallbackFactory
            >>> from minispore.tensorpack.example_training import train
            >>> def predict(callback):
            ...     predictor = callback.trainer.get_predictor(["x"], ["output"])
            ...     print(predictor(np.zeros((1, 3), np.float32))[0].shape)
            >>> train(CallbackFactory(trigger=predict), epochs=1)
            (1, 3)

        Source: tensorpack's `train.TowerTrainer.get_predictor`.
        """
        network = self.params.network

        def predict(*inputs: Array | Tensor) -> list[Array]:
            if len(inputs) != len(input_names):
                raise TypeError(f"The inputs must be {list(input_names)}, but got {len(inputs)}.")
            with evaluation_summaries(network) as arrays:
                output = first_output(network(*map(Tensor, inputs)))
            if (array := as_array(output)) is not None:
                arrays["output"] = array
            for name in output_names:
                if name not in arrays:
                    raise ValueError(f"There is no output {name!r}{suggest(name, list(arrays))}")
            return [arrays[name] for name in output_names]

        return predict

    @property
    def params(self) -> InternalCallbackParam:
        """The parameters of the run."""
        return self.run_context.original_args()

    @property
    def learning_rate(self) -> float | None:
        """The learning rate of the next step; None if there is none or there are several."""
        # A run without an optimizer may train a network that contains one.
        params = self.params
        optimizer = params.optimizer or getattr(params.train_network, "optimizer", None)
        try:
            return as_float(optimizer.get_lr()) if isinstance(optimizer, Optimizer) else None
        except RuntimeError:  # a list of learning rates has none for the step after the last
            return None

    @property
    def is_last_step(self) -> bool:
        """Whether the current step is the last of its epoch."""
        return self.local_step == self.steps_per_epoch - 1

    def sync_counters(self) -> None:
        """Set the counters to the position of the loop."""
        params = self.params
        self.epoch_num = params.cur_epoch_num
        self.global_step = self._earlier_steps + params.cur_step_num
        if params.cur_step_num:
            self.local_step = (params.cur_step_num - 1) % self.steps_per_epoch

    def log_loop_metrics(self) -> None:
        """Log the loss and the learning rate to the monitors."""
        loss = as_array(first_output(self.params.get("net_outputs")))
        if loss is not None and loss.size:
            floats = loss if loss.dtype.kind == "f" else loss.astype(float)
            self.monitors.put_scalar("loss", floats.mean())
        learning_rate = self.learning_rate
        if learning_rate is not None:
            self.monitors.put_scalar("learning_rate", learning_rate)

    def array(self, name: str) -> Array:
        """Return an array of the current step.

        Args:
            name: "loss"; a column of the batch, by its name in the dataset or as "input0",
                "input1", …; a parameter of the network or the optimizer; or what a summary of
                `ops` emits in the network, for callbacks with `wants_summaries`.

        Raises:
            ValueError: There is no such array; the message lists similar names.
        """
        value = self.value(name)
        return value.asnumpy() if isinstance(value, Tensor) else value

    def value(self, name: str) -> Array | Tensor:
        """Return what `array` returns, but leave a tensor on its device, to avoid waiting."""
        for mapping in self._named_values():
            item = mapping.get(name)
            value = item if isinstance(item, Tensor) else as_array(item)
            if value is not None:
                return value
        names = [known for mapping in self._named_values() for known in mapping]
        raise ValueError(f"The training has no array {name!r}{suggest(name, names)}")

    def _named_values(self) -> Iterator[Mapping[str, object]]:
        """Yield all named values; the first of two with the same name takes precedence."""
        params = self.params
        yield {"loss": first_output(params.get("net_outputs"))}
        batch: Sequence[object] = params.get("train_dataset_element") or ()
        get_names: Callable[[], Sequence[str]] | None
        get_names = getattr(params.train_dataset, "get_col_names", None)
        names = get_names() if callable(get_names) else ()
        columns = {f"input{i}": column for i, column in enumerate(batch)}
        yield columns | dict(zip(names, batch, strict=False))
        yield {name: array for (_, name), array in self.summaries.items()}
        yield {parameter.name: parameter for parameter in params.train_network.get_parameters()}


@contextmanager
def evaluation_summaries(network: Cell) -> Generator[dict[str, Array], None, None]:
    """Set a network to evaluation, and collect what its summaries emit, by their names.

    Those who subscribed to the training's summaries do not receive them.
    """
    summaries: dict[str, Array] = {}

    def on_summary(kind: str, name: str, array: Array) -> None:
        summaries[name] = array

    subscribers = summary_subscribers()
    others, subscribers[:] = list(subscribers), [on_summary]
    try:
        with evaluation_mode(network):
            yield summaries
    finally:
        subscribers[:] = others


def name_list(names: str | Sequence[str]) -> list[str]:
    """Return names as a list; a single str becomes a list of one name."""
    return [names] if isinstance(names, str) else list(names)


def as_float(val: object) -> float | None:
    """Return a number, or the only element of an array or tensor, as a float; None for others.

    >>> as_float(np.float32(0.5)), as_float([1])
    (0.5, None)
    """
    array = as_array(val)
    if array is None or array.size != 1 or array.dtype.kind not in "biuf":
        return None
    return shortest_float(array.reshape(-1)[0]) if array.dtype.kind == "f" else float(array.item())


def suggest(name: str, known: Sequence[str]) -> str:
    """Return the end of a message about an unknown name: similar names, or else all known names."""
    from difflib import get_close_matches  # only needed for the message

    similar = get_close_matches(name, known, n=3, cutoff=0.5)
    if similar:
        return "; did you mean " + " or ".join(map(repr, similar)) + "?"
    return "; known names: " + (", ".join(map(repr, known)) if known else "none") + "."


def _to_numpy(val: Array | Tensor) -> Array:
    return val.asnumpy() if isinstance(val, Tensor) else np.asarray(val)
