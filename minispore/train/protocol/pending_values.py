"""Device values to read later.

Reading a value waits until the device has computed it, and leaves the device idle. Values that are
needed later, such as losses between two log lines, are transferred together, in one copy.
"""

from collections.abc import Sequence
from math import prod
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from minispore import ops
from minispore.common import Tensor
from minispore.engine.array import is_host

Array = npt.NDArray[np.generic]
Tag = TypeVar("Tag")

_MAX_PENDING = 1000  # each value takes some memory of the device


class PendingDeviceValues(Generic[Tag]):
    """Device tensors to transfer together later, each with a tag.

    Examples:
        >>> losses: PendingDeviceValues[int] = PendingDeviceValues()
        >>> for step in (1, 2):
        ...     losses.add(step, Tensor([0.5 / step]))
        >>> losses.fetch()
        [(1, array([0.5], dtype=float32)), (2, array([0.25], dtype=float32))]
    """

    def __init__(self) -> None:
        self._pending: list[tuple[Tag, Tensor]] = []

    @property
    def full(self) -> bool:
        """Whether there are so many values that they should be fetched."""
        return len(self._pending) >= _MAX_PENDING

    def add(self, tag: Tag, value: Tensor) -> None:
        """Add a value."""
        self._pending.append((tag, value))

    def clear(self) -> None:
        """Drop all values."""
        self._pending = []

    def fetch(self) -> list[tuple[Tag, Array]]:
        """Return the tags and the values as numpy arrays, in their order, and drop them."""
        pending, self._pending = self._pending, []
        arrays = _fetch([value for _, value in pending])
        return [(tag, array) for (tag, _), array in zip(pending, arrays, strict=True)]


def is_on_device(value: object) -> bool:
    """Return whether `value` is a device tensor, so that reading it synchronizes.

    Args:
        value: Any value.

    Returns:
        True for a tensor on a device; False for a tensor in the host's memory, or no tensor.

    Examples:
        >>> is_on_device(Tensor([1.0])), is_on_device(1.0)
        (False, False)
    """
    return isinstance(value, Tensor) and not is_host(value._data)


def _fetch(values: Sequence[Tensor]) -> list[Array]:
    if len({value.dtype for value in values}) != 1:
        return [value.asnumpy() for value in values]
    joined = ops.concat([value.reshape(-1) for value in values]).asnumpy()
    ends = np.cumsum([prod(value.shape) for value in values])
    parts = np.split(joined, ends[:-1])
    return [part.reshape(value.shape) for part, value in zip(parts, values, strict=True)]
