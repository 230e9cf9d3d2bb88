"""The learning rates of an optimizer: numbers, lists and schedules, as parameters and cells."""

from collections.abc import Iterable
from typing import cast

import numpy as np

from minispore import nn
from minispore.engine.array import device_namespace, to_host
from minispore.engine.dtypes import DType, float32
from minispore.nn.cell import Cell
from minispore.ops.parameter import Parameter, ParameterTuple, parameter_from_memory
from minispore.ops.tensors import Tensor, tensor_of
from minispore.utils.checks import caller, check_number, type_error


class LearningRateSchedule(Cell):
    """Base class of learning-rate schedules; a subclass defines `construct(global_step)`.

    Examples:
        >>> from minispore import Tensor, nn
        >>> class Halving(nn.LearningRateSchedule):
        ...     def construct(self, global_step: Tensor) -> Tensor:
        ...         return 0.5 ** (global_step + 1.0)
        >>> optimizer = nn.SGD(nn.Dense(1, 1).trainable_params(), learning_rate=Halving())

    Source: MindSpore's `mindspore.nn.LearningRateSchedule`.
    """

    def construct(self, global_step: Tensor) -> Tensor:
        """Return the learning rate of step `global_step`, counted from 0."""
        raise NotImplementedError(
            f"For '{type(self).__name__}', the method 'construct' is not defined."
        )


def as_learning_rate(value: object, name: str) -> Parameter | LearningRateSchedule:
    """Return the argument `learning_rate` as a parameter or schedule."""
    if isinstance(value, LearningRateSchedule):
        return value
    if isinstance(value, Tensor):
        if value.ndim > 1:
            raise ValueError(
                f"For '{caller()}', a Tensor as 'learning_rate' must have at most 1 axis, "
                f"but got the shape {value.shape}."
            )
        value = value.tolist() if value.ndim else float(scalar_value(value))
    if isinstance(value, Iterable) and not isinstance(value, str):
        rates = list(cast("Iterable[float]", value))
        if not rates:
            raise ValueError(f"For '{caller()}', the list 'learning_rate' must not be empty.")
        checked = [
            check_number(
                float(rate) if isinstance(rate, np.floating) else rate,
                f"learning_rate[{i}]",
                low=0.0,
            )
            for i, rate in enumerate(rates)
        ]
        return _ListedLearningRate(checked, name)
    if not isinstance(value, int | float):
        raise type_error(
            value, "learning_rate", "be a number, a Tensor, a list or a LearningRateSchedule"
        )
    return host_parameter(check_number(value, "learning_rate", low=0.0), float32, name)


def combined(rates: list[Parameter | LearningRateSchedule]) -> ParameterTuple | Cell:
    fixed = [rate for rate in rates if isinstance(rate, Parameter)]
    if len(fixed) == len(rates):
        return ParameterTuple(fixed)
    return nn.CellList(
        [_FixedLearningRate(rate) if isinstance(rate, Parameter) else rate for rate in rates],
        auto_prefix=False,
    )


def initial_value(rate: Parameter | LearningRateSchedule) -> object:
    value = rate.learning_rate if isinstance(rate, _ListedLearningRate) else rate
    return value.asnumpy().copy()[()] if isinstance(value, Parameter) else value


class _ListedLearningRate(LearningRateSchedule):
    """A schedule that lists the learning rate of each step."""

    def __init__(self, rates: list[float], name: str) -> None:
        super().__init__()
        self.learning_rate = host_parameter(rates, float32, name)

    def construct(self, global_step: Tensor) -> Tensor:
        """Return the learning rate of a step.

        Raises:
            RuntimeError: The list has no value for this step.
        """
        step = int(scalar_value(global_step))
        if step >= len(self.learning_rate):
            raise RuntimeError(
                f"There is no learning rate for step {step}: '{self.learning_rate.name}' lists "
                f"{len(self.learning_rate)}."
            )
        return self.learning_rate[step]


class _FixedLearningRate(LearningRateSchedule):
    """A constant schedule, for a group whose learning rate does not change."""

    def __init__(self, rate: Parameter) -> None:
        super().__init__()
        self.learning_rate = rate

    def construct(self, global_step: Tensor) -> Tensor:
        """Return the learning rate."""
        return self.learning_rate


def host_parameter(values: object, dtype: DType, name: str) -> Parameter:
    """Return a parameter on the host, whatever the device, since it is read in each step."""
    return parameter_from_memory(tensor_of(np.array(values, dtype.numpy_dtype)), name)


def scalar_value(x: Tensor) -> float:
    """Return the only element of `x`; 0.0 for −0.0, so that equal numbers give equal steps."""
    return float(to_host(x._data).item()) + 0.0


def is_set(x: Tensor) -> bool:
    """Return whether a tensor of equal numbers is not 0."""
    on_host = to_host(x._data)
    return on_host.size > 0 and bool(on_host.flat[0] != 0)


def store(x: Tensor, value: float) -> None:
    """Set all elements of `x`."""
    device_namespace(x._data).copyto(x._data, value)
