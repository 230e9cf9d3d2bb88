"""Metric: what an evaluation asks of a measure of quality."""

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Concatenate, Protocol, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt

from minispore._checks import is_int_list
from minispore.common import Tensor

M = TypeVar("M", bound="Metric")
R_co = TypeVar("R_co", covariant=True)


class _Evaluated(Protocol[R_co]):
    """A metric by the type of its result."""

    def clear(self) -> None:
        """Forget all batches."""
        ...

    def update(self, *inputs: object) -> None:
        """Take in a batch."""
        ...

    def eval(self) -> R_co:
        """Return the result of the batches since `clear`."""
        ...


class Metric(metaclass=ABCMeta):
    """Base class of metrics: cleared, updated with every batch, evaluated at the end.

    Source: mindspore.train.Metric.

    Examples:
        >>> class Count(Metric):
        ...     def clear(self) -> None:
        ...         self.seen = 0
        ...     def update(self, *inputs: object) -> None:
        ...         self.seen += len(self._convert_data(inputs[0]))
        ...     def eval(self) -> int:
        ...         return self.seen
        >>> Count()([1, 2, 3])
        3
    """

    def __init__(self) -> None:
        self._indexes: list[int] | None = None

    @property
    def indexes(self) -> list[int] | None:
        """The places of the inputs that `update` is given, or None for all in their order."""
        return getattr(self, "_indexes", None)

    def set_indexes(self, indexes: list[int]) -> Self:
        """Choose and order the inputs of an `update` that is decorated by `rearrange_inputs`.

        Args:
            indexes: places among the inputs.

        Raises:
            ValueError: unless `indexes` is a list of int.
        """
        if not is_int_list(indexes):
            raise ValueError(
                "For 'set_indexes', the argument 'indexes' must be a list and all its elements "
                f"must be int, but got {indexes!r}."
            )
        self._indexes = indexes
        return self

    def __call__(self: _Evaluated[R_co], *inputs: object) -> R_co:
        """Return the result for `inputs` alone."""
        self.clear()
        self.update(*inputs)
        return self.eval()

    @abstractmethod
    def clear(self) -> None:
        """Forget what has been seen."""

    @abstractmethod
    def update(self, *inputs: object) -> None:
        """Take in one batch."""

    @abstractmethod
    def eval(self) -> object:
        """Return the result for all batches since `clear`."""

    def _convert_data(self, data: object) -> npt.NDArray[Any]:
        """Return a Tensor, a list or an array as an array; TypeError for anything else."""
        if isinstance(data, Tensor):
            return data.asnumpy()
        if isinstance(data, list | np.ndarray):
            return np.asarray(cast("npt.ArrayLike", data))
        raise TypeError(
            f"For '{type(self).__name__}', the input data type must be tensor, list or "
            f"numpy.ndarray, but got {type(data)}."
        )

    def _check_count(self, inputs: Sequence[object], expected: int, what: str) -> None:
        if len(inputs) != expected:
            hint = ": 'set_indexes' chooses among them" if len(inputs) > expected else ""
            raise ValueError(
                f"For '{type(self).__name__}.update', it needs {expected} input"
                f"{'s' * (expected > 1)} ({what}), but got {len(inputs)}{hint}."
            )

    def _predicted_and_true(
        self, inputs: Sequence[object]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the two inputs of most metrics as arrays."""
        self._check_count(inputs, 2, "predicted value, true value")
        return self._convert_data(inputs[0]), self._convert_data(inputs[1])

    def _no_samples(self) -> RuntimeError:
        name = type(self).__name__
        return RuntimeError(
            f"The '{name}' can not be calculated, because the number of samples is 0: "
            "'update' has not been called since 'clear', or only with empty inputs."
        )


def rearrange_inputs(
    func: Callable[Concatenate[M, ...], None],
) -> Callable[Concatenate[M, ...], None]:
    """Give `func`, a metric's `update`, only the inputs chosen by `set_indexes`, in that order.

    Source: mindspore.train.rearrange_inputs.
    """

    @wraps(func)
    def chosen(self: M, *inputs: object) -> None:
        func(self, *(inputs if self.indexes is None else _chosen(inputs, self)))

    return chosen


def _chosen(inputs: Sequence[object], metric: Metric) -> list[object]:
    indexes = metric.indexes or []
    try:
        return [inputs[index] for index in indexes]
    except IndexError:
        raise IndexError(
            f"For '{type(metric).__name__}.update', 'set_indexes' chose the inputs {indexes}, "
            f"but there are only {len(inputs)}."
        ) from None
