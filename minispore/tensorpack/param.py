"""Hyper-parameters, and callbacks that set them by a schedule, a function, a file, or a metric."""

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import ClassVar, Final

import numpy as np

from minispore.common import Parameter, Tensor
from minispore.tensorpack import logger
from minispore.tensorpack.adapter import Callback
from minispore.tensorpack.protocol import Trainer, as_float, suggest
from minispore.train.protocol import learning_rate_of
from minispore.train.resume import StateField, StatefulMixin, read_field
from minispore.utils.atomic import open_regular_file
from minispore.utils.checks import (
    caller,
    check_arguments,
    check_int,
    check_number,
    check_one_of,
    describe_value,
)

# The message about a malformed file is limited, since the file may be of any kind.
_MAX_LINES: Final = 20
_MAX_CHARACTERS: Final = 60


class HyperParam(ABC):
    """Base class of numbers that can be read and changed.

    Attributes:
        readable_name: The name in messages and files.

    Examples:
        >>> class Volume(HyperParam):
        ...     readable_name = "volume"
        ...     def get_value(self) -> float:
        ...         return 0.5
        ...     def set_value(self, v: float) -> None:
        ...         print("set to", v)
        >>> Volume().set_value(0.25)
        set to 0.25

    Source: tensorpack's `callbacks.HyperParam`.
    """

    readable_name: str

    def setup_graph(self, trainer: Trainer) -> None:
        """Find the hyper-parameter in the training; ValueError if it does not exist."""
        del trainer

    @abstractmethod
    def get_value(self) -> float:
        """Return the value."""

    @abstractmethod
    def set_value(self, v: float) -> None:
        """Set the value."""


@check_arguments
class GraphVarParam(HyperParam):
    """A parameter of one element, of the network or the optimizer.

    Args:
        name: The parameter's name; "learning_rate" for the optimizer's learning rate.
        shape: Has no effect.

    Examples:
        >>> from minispore.tensorpack import HyperParamSetterWithFunc
        >>> from minispore.tensorpack.example_training import train
        >>> rate = GraphVarParam("learning_rate")
        >>> train(HyperParamSetterWithFunc(rate, lambda epoch, value: value / 2))
        After 3 steps, learning_rate changes from 0.5 to 0.25.
        After 6 steps, learning_rate changes from 0.25 to 0.125.

    Source: tensorpack's `callbacks.GraphVarParam`.
    """

    _name_in_errors: ClassVar[str] = ""  # the callback is named

    def __init__(self, name: str, shape: tuple[int, ...] = ()) -> None:
        self.readable_name = name
        self._parameter: Parameter | None = None

    def setup_graph(self, trainer: Trainer) -> None:
        """Find the parameter.

        Raises:
            ValueError: There is no such parameter of one element, or a schedule changes it.
        """
        name = self.readable_name
        if name == "learning_rate":
            self._parameter = learning_rate_of(trainer.run_context)
            return
        parameters = trainer.params.train_network.get_parameters()
        scalars = {parameter.name: parameter for parameter in parameters if parameter.size == 1}
        if name not in scalars:
            raise ValueError(
                f"There is no parameter {name!r} of one element{suggest(name, list(scalars))}"
            )
        self._parameter = scalars[name]

    @property
    def parameter(self) -> Parameter:
        """The parameter; RuntimeError before `setup_graph`."""
        if self._parameter is None:
            raise RuntimeError(
                f"The parameter {self.readable_name!r} is available during training only."
            )
        return self._parameter

    def get_value(self) -> float:
        """Return the value of the parameter."""
        value = as_float(self.parameter)
        assert value is not None, "it has one element"
        return value

    def set_value(self, v: float) -> None:
        """Set the value of the parameter."""
        self.parameter.set_data(Tensor(v, self.parameter.dtype).reshape(self.parameter.shape))


@check_arguments
class ObjAttrParam(HyperParam):
    """An attribute of an object.

    Args:
        obj: The object.
        attrname: The name of the attribute.
        readable_name: The name in messages and files; by default that of the attribute.

    Examples:
        >>> from types import SimpleNamespace
        >>> box = SimpleNamespace(rate=0.5)
        >>> ObjAttrParam(box, "rate").set_value(0.25)
        >>> box.rate
        0.25

    Source: tensorpack's `callbacks.ObjAttrParam`.
    """

    def __init__(self, obj: object, attrname: str, readable_name: str | None = None) -> None:
        self._obj, self._name = obj, attrname
        self.readable_name: str = attrname if readable_name is None else readable_name

    def get_value(self) -> float:
        """Return the value of the attribute.

        Raises:
            TypeError: It is no number.
        """
        value = as_float(getattr(self._obj, self._name))
        if value is None:
            raise TypeError(f"The attribute '{self._name}' of {self._obj!r} is no number.")
        return value

    def set_value(self, v: float) -> None:
        """Set the attribute."""
        setattr(self._obj, self._name, v)


class HyperFile:
    r"""A text file of hyper-parameters that a person may edit during a training.

    Each line is `name: number`. Spaces, empty lines, comments after `#` and a byte-order mark are
    ignored. The last line may be incomplete if it has no line end: it is used when the file has not
    changed since the previous reading. The content is never evaluated as code.

    Args:
        path: The file, which need not exist.

    Examples:
        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> file = HyperFile(os.path.join(folder.name, "hyper.txt"))
        >>> with open(file.path, "w", encoding="utf-8") as written:
        ...     _ = written.write("learning_rate : 1e-3\nmomentum 0.9\nweight_decay: 0.0")
        >>> file.read()
        ({'learning_rate': 0.001}, ["line 2 is no 'name: number': 'momentum 0.9'"])
        >>> file.read()
        ({'learning_rate': 0.001, 'weight_decay': 0.0}, [])
        >>> folder.cleanup()
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._previous_text = ""
        self._problems: list[str] = []

    def read(self, name: str | None = None) -> tuple[dict[str, float], list[str]]:
        """Return the numbers by name, and the problems that the previous reading did not have.

        The last of several numbers with the same name is used.

        Args:
            name: A name without which a file that has numbers is a problem; None for none.
        """
        text, problems, values = "", list[str](), dict[str, float]()
        try:
            with open(
                self.path, encoding="utf-8-sig", errors="replace", opener=open_regular_file
            ) as file:
                text = file.read()
        except FileNotFoundError:
            pass
        except OSError as error:
            problems.append(f"it cannot be read: {error.strerror}")
        for number, line in enumerate(text.splitlines(keepends=True), start=1):
            content = line.partition("#")[0].strip()
            if content and (line.endswith("\n") or text == self._previous_text):
                key, value = _parse_line(content)
                if key and math.isfinite(value):
                    values[key] = value
                else:
                    shown = content[:_MAX_CHARACTERS]
                    problems.append(f"line {number} is no 'name: number': {shown!r}")
        problems = problems[:_MAX_LINES]
        if name is not None and values and name not in values:
            others = ", ".join(repr(key[:_MAX_CHARACTERS]) for key in [*values][:_MAX_LINES])
            problems.append(f"there is no line for {name!r}, only for {others}")
        new_problems = [problem for problem in problems if problem not in self._problems]
        self._previous_text, self._problems = text, problems
        return values, new_problems


def _parse_line(line: str) -> tuple[str, float]:
    """Return the name and the number of a line; an empty name if there is no number."""
    name, _, value = line.partition(":")
    try:
        return name.strip(), float(value)
    except ValueError:
        return "", math.nan


@check_arguments
class HyperParamSetter(StatefulMixin, Callback):
    """Base class of callbacks that set a hyper-parameter, before training and after each epoch.

    A subclass overrides `_get_value_to_set`, which returns the value, or None to keep the old one.

    Args:
        param: The hyper-parameter; a str is the name of a parameter.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> class Decay(HyperParamSetter):
        ...     def _get_value_to_set(self) -> float:
        ...         return self.get_current_value() / self.epoch_num if self.epoch_num else 0.5
        >>> train(Decay("learning_rate"))
        After 6 steps, learning_rate changes from 0.5 to 0.25.

    Source: tensorpack's `callbacks.HyperParamSetter`.
    """

    chief_only: bool = False
    _enable_before_train = True

    def __init__(self, param: HyperParam | str) -> None:
        self.param: HyperParam = GraphVarParam(param) if isinstance(param, str) else param
        self._last_logged_epoch = -1

    @abstractmethod
    def _get_value_to_set(self) -> float | None:
        """Return the value to set; None to leave the hyper-parameter unchanged."""

    def get_current_value(self) -> float:
        """Return the current value of the hyper-parameter."""
        return self.param.get_value()

    def _setup_graph(self) -> None:
        self.param.setup_graph(self.trainer)

    def _before_train(self) -> None:
        self._last_logged_epoch = -1
        if self._enable_before_train:
            self._set(self._get_value_to_set())

    def _trigger(self) -> None:
        self._set(self._get_value_to_set())

    def _set(self, value: float | None) -> None:
        if value is None:
            return
        before = self.get_current_value()
        self.param.set_value(value)
        if before != value and self._last_logged_epoch != self.epoch_num:
            self._last_logged_epoch = self.epoch_num
            logger.info(
                f"After {self.global_step} steps, {self.param.readable_name} changes from "
                f"{before:.6g} to {value:.6g}."
            )

    def state_dict(self) -> dict[str, object]:
        """Return the state with the value, which need not be in the checkpoint of the model."""
        return {"value": self.get_current_value()} | super().state_dict()

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Restore the state and the value.

        Raises:
            ValueError: The state is invalid.
        """
        value = read_field(state, "value", float)
        super().load_state_dict(state)
        self.param.set_value(value)


@check_arguments
class HumanHyperParamSetter(HyperParamSetter):
    r"""Set a hyper-parameter to its value in a file, which is read each time; see `HyperFile`.

    A line that cannot be read, and a file of other names only, are logged once.

    Args:
        param: The hyper-parameter.
        file_name: The file, in the logger's folder.

    Examples:
        >>> from pathlib import Path
        >>> from minispore.tensorpack.example_training import train
        >>> def write(callback):
        ...     file = Path(logger.get_logger_dir(), "hyper.txt")
        ...     _ = file.write_text("learning_rate: 0.125\n", "utf-8")
        >>> from minispore.tensorpack import CallbackFactory
        >>> _ = train(CallbackFactory(trigger=write), HumanHyperParamSetter("learning_rate"))
        After 3 steps, learning_rate changes from 0.5 to 0.125.

    Source: tensorpack's `callbacks.HumanHyperParamSetter`.
    """

    def __init__(self, param: HyperParam | str, file_name: str = "hyper.txt") -> None:
        super().__init__(param)
        self._file_name = file_name

    def _setup_graph(self) -> None:
        super()._setup_graph()
        self._file = HyperFile(os.path.join(logger.folder_for(None, self), self._file_name))

    def _get_value_to_set(self) -> float | None:
        name = self.param.readable_name
        values, problems = self._file.read(name)
        for problem in problems:
            logger.warn(f"In '{self._file.path}', {problem}.")
        return values.get(name)


@check_arguments
class ScheduledHyperParamSetter(HyperParamSetter):
    """Set a hyper-parameter by a schedule.

    Args:
        param: The hyper-parameter.
        schedule: Pairs (n, value): the value is set after n epochs; 0 is the beginning.
        interp: None, or "linear" to interpolate between the pairs.
        step_based: Whether the schedule counts steps instead of epochs.
        set_at_beginning: Whether a training that starts at a later epoch starts with the value that
            the schedule has set by then; otherwise a different value is only logged.

    Raises:
        TypeError: `schedule` contains something other than pairs of numbers.
        ValueError: `schedule` is empty or has two values at one point, or `interp` is invalid.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> train(ScheduledHyperParamSetter("learning_rate", [(1, 0.25), (2, 0.125)]))
        After 3 steps, learning_rate changes from 0.5 to 0.25.
        After 6 steps, learning_rate changes from 0.25 to 0.125.

    Source: tensorpack's `callbacks.ScheduledHyperParamSetter`.
    """

    def __init__(
        self,
        param: HyperParam | str,
        schedule: Sequence[tuple[int, float]],
        interp: str | None = None,
        step_based: bool = False,
        set_at_beginning: bool = True,
    ) -> None:
        super().__init__(param)
        check_one_of(interp, (None, "linear"), "interp")
        if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in schedule):
            raise TypeError(
                f"For '{caller()}', 'schedule' must be pairs, but got {describe_value(schedule)}."
            )
        self.schedule: list[tuple[int, float]] = sorted(
            (check_int(e, "schedule", low=0), check_number(v, "schedule")) for e, v in schedule
        )
        if not self.schedule or len({e for e, _ in self.schedule}) < len(self.schedule):
            raise ValueError(
                f"For '{caller()}', 'schedule' must not be empty nor have two values at one point, "
                f"but got {describe_value(schedule)}."
            )
        self.interp: str | None = interp
        self._step_based, self._set_at_beginning = step_based, set_at_beginning

    def _point(self) -> int:
        return self.global_step if self._step_based else self.epoch_num

    def _get_value_to_set(self) -> float | None:
        """Return the value of the schedule at the current epoch or step; None if there is none."""
        point, points = self._point(), [e for e, _ in self.schedule]
        if point in points or (self.interp and points[0] < point < points[-1]):
            return float(np.interp(point, points, [v for _, v in self.schedule]))
        return None

    def _before_train(self) -> None:
        super()._before_train()
        passed = [v for e, v in self.schedule if e <= self._point()]
        current = self.get_current_value()
        if not passed or self._get_value_to_set() is not None or np.isclose(passed[-1], current):
            return
        if self._set_at_beginning:
            self._set(passed[-1])
        else:
            logger.warn(
                f"The schedule has {self.param.readable_name} {passed[-1]:.6g} at this point, but "
                f"the current value is {current:.6g}."
            )

    def _trigger_epoch(self) -> None:
        if not self._step_based:
            self.trigger()

    def _trigger_step(self) -> None:
        if self._step_based:
            self.trigger()


@check_arguments
class HyperParamSetterWithFunc(HyperParamSetter):
    """Set a hyper-parameter to the result of a function.

    Args:
        param: The hyper-parameter.
        func: A function of the epoch and the current value that returns the new value, or None to
            leave it unchanged.
        at_begin: Whether to call it before training as well, with the epoch before the first.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> train(HyperParamSetterWithFunc("learning_rate", lambda epoch, rate: rate / epoch))
        After 6 steps, learning_rate changes from 0.5 to 0.25.

    Source: tensorpack's `callbacks.HyperParamSetterWithFunc`.
    """

    def __init__(
        self,
        param: HyperParam | str,
        func: Callable[[int, float], float | None],
        at_begin: bool = False,
    ) -> None:
        super().__init__(param)
        self._func = func
        self._enable_before_train = at_begin

    def _get_value_to_set(self) -> float | None:
        return self._func(self.epoch_num, self.get_current_value())


@check_arguments
class StatMonitorParamSetter(HyperParamSetter):
    """Change a hyper-parameter when a monitored number no longer improves.

    Args:
        param: The hyper-parameter.
        stat_name: The name of the number.
        value_func: A function of the current value that returns the new value.
        threshold: The minimum improvement within the last `last_k` values of the number.
        last_k: The number of values to compare; after a change, so many new ones.
        reverse: Whether greater is better.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> halve = lambda rate: rate / 2
        >>> train(StatMonitorParamSetter("learning_rate", "loss", halve, threshold=0.9, last_k=2))
        After 6 steps, learning_rate changes from 0.5 to 0.25.

    Source: tensorpack's `callbacks.StatMonitorParamSetter`.
    """

    _enable_before_train = False
    _seen = StateField(int, -1)  # the step of the last value that was used
    _values = StateField(list[float])

    def __init__(
        self,
        param: HyperParam | str,
        stat_name: str,
        value_func: Callable[[float], float],
        threshold: float,
        last_k: int,
        reverse: bool = False,
    ) -> None:
        super().__init__(param)
        self.stat_name: str = stat_name
        self.value_func: Callable[[float], float] = value_func
        self.threshold: float = check_number(threshold, "threshold")
        self.last_k: int = check_int(last_k, "last_k", low=1)
        self.reverse: bool = reverse

    def consumes(self) -> Collection[str]:
        """Return the name of the number."""
        return (self.stat_name,)

    def _get_value_to_set(self) -> float | None:
        history = self.trainer.monitors.get_history(self.stat_name)
        if not history or history[-1][0] == self._seen:
            logger.warn(f"StatMonitorParamSetter: there is no new value of '{self.stat_name}'.")
            return None
        self._seen, value = history[-1]
        self._values = [*self._values, -value if self.reverse else value]
        if len(self._values) < self.last_k:
            return None
        if min(self._values) < self._values[0] - self.threshold:
            self._values = self._values[1:]
            return None
        self._values = []
        return self.value_func(self.get_current_value())
