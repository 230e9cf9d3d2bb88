"""Transforms of any data: change the type, one-hot encode, and several in one."""

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from minispore._checks import check_int, check_number, check_type
from minispore.common.dtype import as_dtype
from minispore.dataset._block import Array, as_tuple
from minispore.dataset._transform import Transform

__all__ = ["Compose", "OneHot", "TypeCast"]


class TypeCast(Transform):
    """Convert to another type, as C does: floats lose their fraction, integers wrap around.

    Source: https://www.mindspore.cn/docs/en/master/api_python/dataset_transforms/mindspore.dataset.transforms.TypeCast.html

    Args:
        data_type: A type of minispore or of numpy.

    Raises:
        TypeError: If it is neither.

    Examples:
        >>> import minispore
        >>> TypeCast(minispore.int32)(np.array([2.7, -1.0]))
        array([ 2, -1], dtype=int32)
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
    """Turn a class number into a vector with 1 at its place, of the number's type.

    Source: https://www.mindspore.cn/docs/en/master/api_python/dataset_transforms/mindspore.dataset.transforms.OneHot.html

    Args:
        num_classes: The length of the vector.
        smoothing_rate: How much of the 1 is spread evenly over all classes; the result is then of
            float64.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If `num_classes` is below 1 or `smoothing_rate` outside [0, 1].
        RuntimeError: On use, for numbers that are no integers in [0, `num_classes`).

    Examples:
        >>> OneHot(4)(np.array(2, np.int32))
        array([0, 0, 1, 0], dtype=int32)
        >>> OneHot(4, smoothing_rate=0.2)(2)
        array([0.05, 0.05, 0.85, 0.05])
    """

    def __init__(self, num_classes: int, smoothing_rate: float = 0.0) -> None:
        self.num_classes: int = check_int(num_classes, "num_classes", "OneHot", low=1)
        self.smoothing_rate: float = check_number(
            smoothing_rate, "smoothing_rate", "OneHot", low=0.0, high=1.0
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
        share = self.smoothing_rate / self.num_classes
        return np.add(np.multiply(hot, 1.0 - self.smoothing_rate), share)


class Compose:
    """Several transforms and Python functions as one, applied in order.

    Source: https://www.mindspore.cn/docs/en/master/api_python/dataset_transforms/mindspore.dataset.transforms.Compose.html

    Args:
        transforms: At least one.

    Raises:
        TypeError: If it is no list or tuple of callables.
        ValueError: If it is empty.

    Examples:
        >>> import minispore
        >>> Compose([lambda x: x * 2, TypeCast(minispore.float32)])(np.array([1, 2]))
        array([2., 4.], dtype=float32)
    """

    def __init__(self, transforms: Sequence[Callable[..., object]]) -> None:
        self.transforms: tuple[Callable[..., object], ...] = flattened(
            transforms, "Compose", "transforms"
        )

    def __call__(self, *values: object) -> object:
        """Apply the transforms to the values of one row; several results are a tuple."""
        for transform in self.transforms:
            values = as_tuple(transform(*values))
        return values[0] if len(values) == 1 else values


def flattened(
    operations: Sequence[Callable[..., object]], owner: str, name: str
) -> tuple[Callable[..., object], ...]:
    """Return the operations with each Compose replaced by what it holds.

    Raises:
        TypeError: If one is not callable.
        ValueError: If there is none.
    """
    check_type(operations, (list, tuple), name, owner)
    if not operations:
        raise ValueError(f"For '{owner}', the argument '{name}' must not be empty.")
    flat: list[Callable[..., object]] = []
    for operation in operations:
        if isinstance(operation, Compose):
            flat += operation.transforms
        elif callable(operation) and not isinstance(operation, type):
            flat.append(operation)
        else:
            raise TypeError(
                f"For '{owner}', the argument '{name}' must hold transforms or functions, but got "
                f"{operation!r}."
            )
    return tuple(flat)
