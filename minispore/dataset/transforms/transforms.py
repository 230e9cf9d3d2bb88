"""Transforms of any data: type conversion, one-hot encoding, composition and random choice."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from minispore.dataset._node import Array
from minispore.engine.dtypes import as_dtype
from minispore.ops.seed import generator
from minispore.utils.arrays import BoolArray, Float64Array
from minispore.utils.checks import as_tuple, caller, check_int, check_number, check_type

__all__ = [
    "Compose",
    "OneHot",
    "RandomApply",
    "RandomChoice",
    "RandomOrder",
    "TypeCast",
]

Function = Callable[..., object]


class Transform(ABC):
    """Base class of the package's transforms, which process a block of rows at once.

    The result for a block is bit for bit that for each of its rows.
    """

    _name_in_errors = "{kind}"

    @abstractmethod
    def batched(self, block: Array) -> Array:
        """Transform the rows of a block (n, ...), which may be overwritten.

        Raises:
            RuntimeError: If the shape or type of the rows is not supported.
        """

    def __call__(self, value: object) -> Array:
        """Transform one row, anything that numpy converts to an array; it is not modified."""
        return self.batched(np.array(value)[np.newaxis])[0, ...]


class TypeCast(Transform):
    """Convert to another type with C's rules: floats are truncated, integers wrap around.

    Args:
        data_type: A dtype of minispore or numpy.

    Examples:
        >>> import minispore
        >>> TypeCast(minispore.int32)(np.array([2.7, -1.0])).tolist()
        [2, -1]

    Source: MindSpore's `mindspore.dataset.transforms.TypeCast`.
    """

    def __init__(self, data_type: object) -> None:
        self.dtype: np.dtype[np.generic] = as_dtype(data_type, "data_type").numpy_dtype

    def batched(self, block: Array) -> Array:
        """Convert all rows."""
        if block.dtype.kind != "f":
            return block.astype(self.dtype, copy=False)
        with np.errstate(invalid="ignore", over="ignore"):
            if self.dtype.kind in "iu":
                # C leaves what does not fit undefined; through int64 it wraps on every machine.
                block = block.astype(np.int64)
            return block.astype(self.dtype, copy=False)


class OneHot(Transform):
    """Convert a class index to a one-hot vector of the index's dtype.

    Args:
        num_classes: The length of the vector.
        smoothing_rate: Label smoothing: the part of the 1 that is distributed evenly over all
            classes, in [0, 1]. Unless it is 0, the result is of float64.

    Raises:
        RuntimeError: On use, unless the input has integers in [0, `num_classes`).

    Examples:
        >>> OneHot(4)(np.array(2, np.int32)).tolist()
        [0, 0, 1, 0]
        >>> OneHot(4, smoothing_rate=0.2)(2).round(2).tolist()
        [0.05, 0.05, 0.85, 0.05]

    Source: MindSpore's `mindspore.dataset.transforms.OneHot`.
    """

    def __init__(self, num_classes: int, smoothing_rate: float = 0.0) -> None:
        self.num_classes: int = check_int(num_classes, "num_classes", low=1, high=2**31 - 1)
        self.smoothing_rate: float = check_number(
            smoothing_rate, "smoothing_rate", low=0.0, high=1.0
        )

    def batched(self, block: Array) -> Array:
        """Encode all rows: (n) to (n, classes), and (n, k) to (n, k, classes)."""
        if block.dtype.kind not in "iu":
            raise RuntimeError(
                f"For 'OneHot', the input must be of int type, but got {block.dtype}."
            )
        if np.any((block < 0) | (block >= self.num_classes)):
            raise RuntimeError(
                f"For 'OneHot', the input must be in [0, {self.num_classes - 1}], but it goes from "
                f"{block.min()} to {block.max()}."
            )
        hot: BoolArray = np.equal(block[..., np.newaxis], np.arange(self.num_classes))
        if not self.smoothing_rate:
            return hot.astype(block.dtype)
        off_value = self.smoothing_rate / self.num_classes
        return np.add(np.multiply(hot, 1.0 - self.smoothing_rate), off_value)


class RandomTransform(ABC):
    """Base class of random transforms: functions of a row and of `draws` random numbers.

    In a pipeline, the numbers depend only on the seed, the epoch and the row. So a run can be
    resumed in the middle of an epoch without transforming the rows before.
    """

    draws = 1

    @abstractmethod
    def transform(self, uniforms: Float64Array, *values: object) -> object:
        """Return the values of one row, transformed.

        Args:
            uniforms: `draws` random numbers in [0, 1).
            *values: The values.
        """

    @property
    def user_code(self) -> tuple[object, ...]:
        """The functions of the user that it calls."""
        return ()

    def __call__(self, *values: object) -> object:
        """Transform the values of one row with the next random numbers of the program."""
        return self.transform(generator("dataset").random(self.draws), *values)


class Compose(RandomTransform):
    """Apply several transforms and Python functions in order, as one.

    Args:
        transforms: A list or tuple of at least one callable.

    Examples:
        >>> import minispore
        >>> doubled = Compose([lambda x: x * 2, TypeCast(minispore.float32)])(np.array([1, 2]))
        >>> doubled.tolist(), str(doubled.dtype)
        ([2.0, 4.0], 'float32')

    Source: MindSpore's `mindspore.dataset.transforms.Compose`.
    """

    def __init__(self, transforms: Sequence[Function]) -> None:
        self.transforms: tuple[Function, ...] = check_transforms(transforms, "transforms")
        self.draws: int = sum(map(_draws_of, self.transforms)) + self._own_draws()

    def _own_draws(self) -> int:
        """Return the number of random numbers for this transform, after those for the others."""
        return 0

    def transform(self, uniforms: Float64Array, *values: object) -> object:
        """Apply the transforms to the values of one row; several results are a tuple."""
        return self._apply(range(len(self.transforms)), uniforms, *values)

    @property
    def user_code(self) -> tuple[object, ...]:
        """The functions among the transforms that are not the package's."""
        return tuple([code for transform in self.transforms for code in user_code_in(transform)])

    def _apply(self, order: Iterable[int], uniforms: Float64Array, *values: object) -> object:
        """Apply the transforms with the numbers `order`; each has random numbers of its own."""
        ends = np.cumsum([_draws_of(transform) for transform in self.transforms])
        for i in order:
            transform = self.transforms[i]
            if isinstance(transform, RandomTransform):
                numbers = uniforms[ends[i] - transform.draws : ends[i]]
                values = as_tuple(transform.transform(numbers, *values))
            else:
                values = as_tuple(transform(*values))
        return values[0] if len(values) == 1 else values


class RandomApply(Compose):
    """Apply several transforms and Python functions in order with a probability, or none of them.

    Args:
        transforms: A list or tuple of at least one callable.
        prob: The probability.

    Examples:
        >>> RandomApply([lambda x: x * 2, lambda x: x + 1], prob=1.0)(3)
        7

    Source: MindSpore's `mindspore.dataset.transforms.RandomApply`.
    """

    def __init__(self, transforms: Sequence[Function], prob: float = 0.5) -> None:
        super().__init__(transforms)
        self.prob: float = check_number(prob, "prob", low=0.0, high=1.0)

    def _own_draws(self) -> int:
        return 1

    def transform(self, uniforms: Float64Array, *values: object) -> object:
        """Apply all transforms, or none."""
        applied = range(len(self.transforms)) if uniforms[-1] < self.prob else ()
        return self._apply(applied, uniforms, *values)


class RandomChoice(Compose):
    """Apply one of several transforms and Python functions; all are equally likely.

    Args:
        transforms: A list or tuple of at least one callable.

    Examples:
        >>> RandomChoice([lambda x: x + 1, lambda x: x + 2])(3) in {4, 5}
        True

    Source: MindSpore's `mindspore.dataset.transforms.RandomChoice`.
    """

    def _own_draws(self) -> int:
        return 1

    def transform(self, uniforms: Float64Array, *values: object) -> object:
        """Apply one of the transforms."""
        return self._apply([int(uniforms[-1] * len(self.transforms))], uniforms, *values)


class RandomOrder(Compose):
    """Apply several transforms and Python functions in random order; all orders are equally likely.

    Args:
        transforms: A list or tuple of at least one callable.

    Examples:
        >>> RandomOrder([lambda x: x * 2, lambda x: x + 1])(3) in {7, 8}
        True

    Source: MindSpore's `mindspore.dataset.transforms.RandomOrder`.
    """

    def _own_draws(self) -> int:
        return len(self.transforms)

    def transform(self, uniforms: Float64Array, *values: object) -> object:
        """Apply the transforms in random order."""
        order = np.argsort(uniforms[-len(self.transforms) :])
        return self._apply(order.tolist(), uniforms, *values)


def user_code_in(function: Function) -> tuple[object, ...]:
    """Return the functions of the user that a transform calls, or the function if it is one."""
    if isinstance(function, RandomTransform):
        return function.user_code
    return () if isinstance(function, Transform) else (function,)


def _draws_of(function: Function) -> int:
    return function.draws if isinstance(function, RandomTransform) else 0


def flatten_transforms(operations: Sequence[Function], name: str) -> tuple[Function, ...]:
    """Return the operations with each Compose replaced by its transforms.

    Raises:
        TypeError: If one is not callable.
        ValueError: If the list is empty.
    """
    flat: list[Function] = []
    for operation in check_transforms(operations, name):
        if isinstance(operation, Compose) and type(operation) is Compose:
            flat += flatten_transforms(operation.transforms, name)
        else:
            flat.append(operation)
    return tuple(flat)


def check_transforms(operations: Sequence[Function], name: str) -> tuple[Function, ...]:
    """Return the operations; raise TypeError or ValueError unless they are several functions."""
    check_type(operations, (list, tuple), name)
    if not operations:
        raise ValueError(f"For '{caller()}', the argument '{name}' must not be empty.")
    for operation in operations:
        if not callable(operation) or isinstance(operation, type):
            raise TypeError(
                f"For '{caller()}', the argument '{name}' must hold transforms or functions, but "
                f"got {operation!r}."
            )
    return tuple(operations)
