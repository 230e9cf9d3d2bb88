"""The base classes of metrics, and `rearrange_inputs`."""

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Concatenate, Generic, Literal, Protocol, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt

from minispore.ops.tensors import Tensor
from minispore.utils.arrays import Float64Array, HostArray
from minispore.utils.checks import check_unmasked, is_int_list

__all__ = ["Metric", "rearrange_inputs"]

MetricName = Literal[
    "F1",
    "acc",
    "accuracy",
    "confusion_matrix_metric",
    "cosine_similarity",
    "dice",
    "loss",
    "mae",
    "mse",
    "perplexity",
    "precision",
    "recall",
    "roc",
    "top_1_accuracy",
    "top_5_accuracy",
]
"""The metrics that need no argument: the names that `Model` takes."""

M = TypeVar("M", bound="Metric")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
V = TypeVar("V", float, HostArray)


class _SupportsEval(Protocol[R_co]):
    """A metric by the type of its result."""

    def clear(self) -> None: ...
    def update(self, *inputs: object) -> object: ...
    def eval(self) -> R_co: ...


class Metric(metaclass=ABCMeta):
    """Base class of metrics: `clear` resets one, `update` adds a batch, `eval` returns the result.

    Examples:
        >>> class Count(Metric):
        ...     def clear(self) -> None:
        ...         self.count = 0
        ...     def update(self, *inputs: object) -> None:
        ...         self.count += len(self._convert_data(inputs[0]))
        ...     def eval(self) -> int:
        ...         return self.count
        >>> Count()([1, 2, 3])
        3

    Source: MindSpore's `mindspore.train.Metric`.
    """

    _name_in_errors = "{kind}.{method}"

    def __init__(self) -> None:
        self._indexes: list[int] | None = None

    @property
    def indexes(self) -> list[int] | None:
        """The indices of the inputs that `update` receives; None for all inputs in their order."""
        return getattr(self, "_indexes", None)

    def set_indexes(self, indexes: list[int]) -> Self:
        """Select and order the inputs of an `update` that is decorated by `rearrange_inputs`.

        Args:
            indexes: Indices of inputs.

        Raises:
            ValueError: `indexes` is not a list of int.
        """
        if not is_int_list(indexes):
            raise ValueError(
                "For 'set_indexes', the argument 'indexes' must be a list and all its elements "
                f"must be int, but got {indexes!r}."
            )
        self._indexes = indexes
        return self

    def __call__(self: _SupportsEval[R_co], *inputs: object) -> R_co:
        """Return the result for the single batch `inputs`; earlier batches are forgotten."""
        self.clear()
        self.update(*inputs)
        return self.eval()

    @abstractmethod
    def clear(self) -> None:
        """Forget all batches."""

    @abstractmethod
    def update(self, *inputs: object) -> object:
        """Add one batch."""

    @abstractmethod
    def eval(self) -> object:
        """Return the result for all batches since `clear`."""

    def _convert_data(self, data: object) -> HostArray:
        """Return a Tensor, a list or an array as an array; TypeError for anything else."""
        if isinstance(data, Tensor):
            return data.asnumpy()
        check_unmasked(data, f"For '{type(self).__name__}', an input")
        if isinstance(data, list | np.ndarray):
            return np.asarray(cast("npt.ArrayLike", data))
        raise TypeError(
            f"For '{type(self).__name__}', the input data type must be tensor, list or "
            f"numpy.ndarray, but got {type(data)}."
        )

    def _convert_inputs(self, inputs: Sequence[object], *names: str) -> list[HostArray]:
        """Return `inputs` as arrays; ValueError unless there is one for each of `names`."""
        expected = len(names)
        if len(inputs) != expected:
            hint = ": 'set_indexes' chooses among them" if len(inputs) > expected else ""
            raise ValueError(
                f"For '{type(self).__name__}.update', it needs {expected} input"
                f"{'s' * (expected > 1)} ({', '.join(names)}), but got {len(inputs)}{hint}."
            )
        return [self._convert_data(data) for data in inputs]

    def _convert_pair(self, inputs: Sequence[object]) -> tuple[HostArray, HostArray]:
        """Return the predicted and the true values, the two inputs of most metrics, as arrays."""
        predicted, true = self._convert_inputs(inputs, "predicted value", "true value")
        return predicted, true

    def _check_samples(self, count: int) -> None:
        """Raise RuntimeError if the number of samples is 0."""
        if count == 0:
            raise RuntimeError(
                f"The '{type(self).__name__}' can not be calculated, because the number of samples "
                "is 0: 'update' has not been called since 'clear', or only with empty inputs."
            )


class AccumulatingMetric(Metric, Generic[V]):
    """Base class of metrics that accumulate one value of each batch: their sum, or a list."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        """Forget all batches."""
        self._values: list[V] = []
        self._count = 0

    def _add(self, value: V, count: int, *, keep: bool = False) -> None:
        """Add the value of `count` samples to the sum; with `keep`, append it to the list."""
        if keep:
            self._values.append(value)
        else:
            self._values = [value + sum(self._values)]
        self._count += count

    def _accumulated(self) -> list[V]:
        """Return the sum, as a list of one, or the list; RuntimeError if there were no samples."""
        self._check_samples(self._count)
        return self._values


class MeanMetric(AccumulatingMetric[float]):
    """Base class of metrics that are the mean of one number per sample or batch."""

    def eval(self) -> float:
        """Return the mean; RuntimeError if there were no samples."""
        (total,) = self._accumulated()
        return total / self._count


def rearrange_inputs(
    func: Callable[Concatenate[M, ...], R],
) -> Callable[Concatenate[M, ...], R]:
    """Decorate a metric's `update` so that it receives the inputs chosen by `set_indexes`.

    Args:
        func: The method `update`.

    Returns:
        A method that calls `func` with the chosen inputs, in the chosen order, and returns its
        result.

    Examples:
        >>> class Last(Metric):
        ...     def clear(self) -> None:
        ...         self.last: object = None
        ...     @rearrange_inputs
        ...     def update(self, *inputs: object) -> None:
        ...         self.last = inputs
        ...     def eval(self) -> object:
        ...         return self.last
        >>> Last().set_indexes([2, 0])("loss", "prediction", "label")
        ('label', 'loss')

    Source: MindSpore's `mindspore.train.rearrange_inputs`.
    """

    @wraps(func)
    def update(self: M, *inputs: object) -> R:
        indexes = self.indexes
        if indexes is not None:
            try:
                inputs = tuple(inputs[index] for index in indexes)
            except IndexError:
                raise IndexError(
                    f"For '{type(self).__name__}.update', 'set_indexes' chose the inputs {indexes},"
                    f" but there are only {len(inputs)}."
                ) from None
        return func(self, *inputs)

    return update


def safe_divide(numerator: HostArray, denominator: HostArray) -> Float64Array:
    """Return `numerator / denominator` of the numerator's shape, 0 where the denominator is 0."""
    result = np.zeros(numerator.shape)
    np.divide(numerator, denominator, out=result, where=denominator != 0)
    return result
