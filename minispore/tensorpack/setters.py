"""Setting hyper-parameters: by a schedule, a function, a file, or a number that stands still."""

import os
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from minispore._checks import check_int, check_number, check_one_of, described
from minispore.tensorpack import logger
from minispore.tensorpack.adapter import Callback
from minispore.tensorpack.checked import checked
from minispore.tensorpack.hyper_params import GraphVarParam, HyperFile, HyperParam
from minispore.tensorpack.states import Kept, Remembering
from minispore.train._protocol.states import entry


@checked
class HyperParamSetter(Remembering, Callback):
    """Base class of what sets a hyper-parameter, by default before training and after each epoch.

    A subclass says by `_get_value_to_set` to what, or None to leave it.

    Source: tensorpack.callbacks.HyperParamSetter.

    Args:
        param: The hyper-parameter; a text for the parameter of that name.

    Examples:
        >>> from minispore.tensorpack._examples import train
        >>> class Less(HyperParamSetter):
        ...     def _get_value_to_set(self) -> float:
        ...         return self.get_current_value() / self.epoch_num if self.epoch_num else 0.5
        >>> train(Less("learning_rate"))
        After 6 steps, learning_rate changes from 0.5 to 0.25.
    """

    chief_only: bool = False
    _enable_before_train = True

    def __init__(self, param: HyperParam | str) -> None:
        self.param: HyperParam = GraphVarParam(param) if isinstance(param, str) else param
        self._told_in = -1

    @abstractmethod
    def _get_value_to_set(self) -> float | None:
        """Return the value that it shall have; None to leave it."""

    def get_current_value(self) -> float:
        """Return the value that it has."""
        return self.param.get_value()

    def _setup_graph(self) -> None:
        self.param.setup_graph(self.trainer)

    def _before_train(self) -> None:
        self._told_in = -1
        if self._enable_before_train:
            self._set(self._get_value_to_set())

    def _trigger(self) -> None:
        self._set(self._get_value_to_set())

    def _set(self, value: float | None) -> None:
        if value is None:
            return
        before = self.get_current_value()
        self.param.set_value(value)
        if before != value and self._told_in != self.epoch_num:
            self._told_in = self.epoch_num
            logger.info(
                f"After {self.global_step} steps, {self.param.readable_name} changes from "
                f"{before:.6g} to {value:.6g}."
            )

    def state_dict(self) -> dict[str, object]:
        """Return the value as well, which may be kept where no checkpoint reaches."""
        return {"value": self.get_current_value()} | super().state_dict()

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Set it to that.

        Raises:
            ValueError: It is no such state.
        """
        value = entry(state, "value", float, type(self).__name__)
        super().load_state_dict(state)
        self.param.set_value(value)


@checked
class HumanHyperParamSetter(HyperParamSetter):
    r"""Set it to what a file says, which is read again each time; see `HyperFile`.

    Source: tensorpack.callbacks.HumanHyperParamSetter.

    Args:
        param: The hyper-parameter.
        file_name: The file, in the logger's folder.

    Examples:
        >>> from pathlib import Path
        >>> from minispore.tensorpack._examples import train
        >>> def write(callback):
        ...     file = Path(logger.get_logger_dir(), "hyper.txt")
        ...     _ = file.write_text("learning_rate: 0.125\n", "utf-8")
        >>> from minispore.tensorpack import CallbackFactory
        >>> _ = train(CallbackFactory(trigger=write), HumanHyperParamSetter("learning_rate"))
        After 3 steps, learning_rate changes from 0.5 to 0.125.
    """

    def __init__(self, param: HyperParam | str, file_name: str = "hyper.txt") -> None:
        super().__init__(param)
        self._file_name = file_name

    def _setup_graph(self) -> None:
        super()._setup_graph()
        self._file = HyperFile(os.path.join(logger.folder_for(None, self), self._file_name))

    def _get_value_to_set(self) -> float | None:
        values, wrong = self._file.read()
        for each in wrong:
            logger.warn(f"In '{self._file.path}', {each}.")
        return values.get(self.param.readable_name)


@checked
class ScheduledHyperParamSetter(HyperParamSetter):
    """Set it by a schedule.

    Source: tensorpack.callbacks.ScheduledHyperParamSetter.

    Args:
        param: The hyper-parameter.
        schedule: Pairs of a number of epochs and the value after so many; 0 for the beginning.
        interp: None, or "linear" for values on the way from one pair to the next.
        step_based: Whether the schedule counts steps.
        set_at_beginning: Whether a training that begins further on begins with the value that it
            would have; otherwise that it has another is only told.

    Raises:
        TypeError: `schedule` holds something else than pairs of numbers.
        ValueError: There is nothing in it, or a point twice, or `interp` is another.

    Examples:
        >>> from minispore.tensorpack._examples import train
        >>> train(ScheduledHyperParamSetter("learning_rate", [(1, 0.25), (2, 0.125)]))
        After 3 steps, learning_rate changes from 0.5 to 0.25.
        After 6 steps, learning_rate changes from 0.25 to 0.125.
    """

    def __init__(
        self,
        param: HyperParam | str,
        schedule: Sequence[tuple[int, float]],
        interp: str | None = None,
        step_based: bool = False,
        set_at_beginning: bool = True,
    ) -> None:
        owner = "ScheduledHyperParamSetter"
        super().__init__(param)
        check_one_of(interp, (None, "linear"), "interp", owner)
        if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in schedule):
            raise TypeError(
                f"For '{owner}', 'schedule' must be pairs, but got {described(schedule)}."
            )
        self.schedule: list[tuple[int, float]] = sorted(
            (check_int(e, "schedule", owner, low=0), check_number(v, "schedule", owner))
            for e, v in schedule
        )
        if not self.schedule or len({e for e, _ in self.schedule}) < len(self.schedule):
            raise ValueError(
                f"For '{owner}', 'schedule' must not be empty nor have two values at one point, "
                f"but got {described(schedule)}."
            )
        self.interp: str | None = interp
        self._step_based, self._set_at_beginning = step_based, set_at_beginning

    def _point(self) -> int:
        return self.global_step if self._step_based else self.epoch_num

    def _get_value_to_set(self) -> float | None:
        """The value that is set after so many epochs or steps, None where none is."""
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
                f"By its schedule {self.param.readable_name} is to be {passed[-1]:.6g} at this "
                f"point, and it is {current:.6g}."
            )

    def _trigger_epoch(self) -> None:
        if not self._step_based:
            self.trigger()

    def _trigger_step(self) -> None:
        if self._step_based:
            self.trigger()


@checked
class HyperParamSetterWithFunc(HyperParamSetter):
    """Set it to what a function returns.

    Source: tensorpack.callbacks.HyperParamSetterWithFunc.

    Args:
        param: The hyper-parameter.
        func: Gets the epoch and the value; returns the new one, or None.
        at_begin: Whether it is called before training as well, with the epoch before the first.

    Examples:
        >>> from minispore.tensorpack._examples import train
        >>> train(HyperParamSetterWithFunc("learning_rate", lambda epoch, rate: rate / epoch))
        After 6 steps, learning_rate changes from 0.5 to 0.25.
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


@checked
class StatMonitorParamSetter(HyperParamSetter):
    """Change it when a number has not become smaller (or greater) for some time.

    Source: tensorpack.callbacks.StatMonitorParamSetter.

    Args:
        param: The hyper-parameter.
        stat_name: The name of the number.
        value_func: Makes the new value of the old.
        threshold: By how much the number must improve within the last `last_k` of its values.
        last_k: How many of its values are looked at; after a change, so many new ones.
        reverse: Whether greater is better.

    Examples:
        >>> from minispore.tensorpack._examples import train
        >>> halve = lambda rate: rate / 2
        >>> train(StatMonitorParamSetter("learning_rate", "loss", halve, threshold=0.9, last_k=2))
        After 6 steps, learning_rate changes from 0.5 to 0.25.
    """

    _enable_before_train = False
    _seen = Kept(int, -1)  # the step of the last value
    _values = Kept(list[float])

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
        self.threshold: float = threshold
        self.last_k: int = check_int(last_k, "last_k", "StatMonitorParamSetter", low=1)
        self.reverse: bool = reverse

    def consumes(self) -> Collection[str]:
        """Return the number's name."""
        return (self.stat_name,)

    def _get_value_to_set(self) -> float | None:
        history = self.trainer.monitors.get_history(self.stat_name)
        if not history or history[-1][0] == self._seen:
            logger.warn(f"StatMonitorParamSetter: there is no new value of '{self.stat_name}'.")
            return None
        self._seen, value = history[-1]
        self._values = [*self._values, -value if self.reverse else value]
        first, least = self._values[0], min(self._values)
        if len(self._values) < self.last_k:
            return None
        if least < first - self.threshold:
            self._values = self._values[1:]
            return None
        self._values = []
        return self.value_func(self.get_current_value())
