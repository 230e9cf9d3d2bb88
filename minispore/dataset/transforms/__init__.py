"""Transforms of any data: type conversion, one-hot encoding, and composition."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from minispore.common.dtype import as_dtype
from minispore.dataset._node import Array, as_tuple
from minispore.utils.checks import check_int, check_number, check_type
from minispore.utils.unsupported import module_attributes

__all__ = ["Compose", "OneHot", "TypeCast"]
globals()["__getattr__"], globals()["__dir__"] = module_attributes(__name__)


class Transform(ABC):
    """Base class of the package's transforms, which process a block of rows at once.

    The result for a block is bit for bit that for each of its rows.
    """

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
        self.dtype: np.dtype[np.generic] = as_dtype(data_type, "TypeCast", "data_type").numpy_dtype

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
        numbers = cast(npt.NDArray[np.integer], block)
        if np.any((numbers < 0) | (numbers >= self.num_classes)):
            raise RuntimeError(
                f"For 'OneHot', the input must be in [0, {self.num_classes - 1}], but it goes from "
                f"{block.min()} to {block.max()}."
            )
        hot: npt.NDArray[np.bool_] = np.equal(numbers[..., np.newaxis], np.arange(self.num_classes))
        if not self.smoothing_rate:
            return hot.astype(block.dtype)
        off_value = self.smoothing_rate / self.num_classes
        return np.add(np.multiply(hot, 1.0 - self.smoothing_rate), off_value)


class Compose:
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

    def __init__(self, transforms: Sequence[Callable[..., object]]) -> None:
        self.transforms: tuple[Callable[..., object], ...] = flatten_transforms(
            transforms, "Compose", "transforms"
        )

    def __call__(self, *values: object) -> object:
        """Apply the transforms to the values of one row; several results are a tuple."""
        for transform in self.transforms:
            values = as_tuple(transform(*values))
        return values[0] if len(values) == 1 else values


def flatten_transforms(
    operations: Sequence[Callable[..., object]], caller: str, name: str
) -> tuple[Callable[..., object], ...]:
    """Return the operations with each Compose replaced by its transforms.

    Raises:
        TypeError: If one is not callable.
        ValueError: If the list is empty.
    """
    check_type(operations, (list, tuple), name, caller)
    if not operations:
        raise ValueError(f"For '{caller}', the argument '{name}' must not be empty.")
    flat: list[Callable[..., object]] = []
    for operation in operations:
        if isinstance(operation, Compose):
            flat += operation.transforms
        elif callable(operation) and not isinstance(operation, type):
            flat.append(operation)
        else:
            raise TypeError(
                f"For '{caller}', the argument '{name}' must hold transforms or functions, but got "
                f"{operation!r}."
            )
    return tuple(flat)
