"""Values of a device that nobody has looked at yet.

To look at a value is to wait until the device has computed it, and then the device waits in turn.
What can wait itself is put aside, and looked at together with others, in one copy.
"""

from collections.abc import Sequence
from math import prod
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from minispore import ops
from minispore._array import is_host
from minispore.common import Tensor

Array = npt.NDArray[np.generic]
Tag = TypeVar("Tag")

# So many are kept at most: each takes some memory of the device.
_MOST = 1000


class Deferred(Generic[Tag]):
    """Tensors of a device, each with a tag that tells whose it is.

    Examples:
        >>> losses: Deferred[int] = Deferred()
        >>> for step in (1, 2):
        ...     losses.add(step, Tensor([0.5 / step]))
        >>> losses.fetch()
        [(1, array([0.5], dtype=float32)), (2, array([0.25], dtype=float32))]
    """

    def __init__(self) -> None:
        self._kept: list[tuple[Tag, Tensor]] = []

    @property
    def full(self) -> bool:
        """Whether they are so many that they should be fetched."""
        return len(self._kept) >= _MOST

    def add(self, tag: Tag, value: Tensor) -> None:
        """Put a value aside."""
        self._kept.append((tag, value))

    def clear(self) -> None:
        """Forget all of them."""
        self._kept = []

    def fetch(self) -> list[tuple[Tag, Array]]:
        """Return all as arrays of numpy, in their order, and forget them."""
        kept, self._kept = self._kept, []
        arrays = _fetched([value for _, value in kept])
        return [(tag, array) for (tag, _), array in zip(kept, arrays, strict=True)]


def is_far(value: object) -> bool:
    """Return whether `value` is a tensor of a device, to look at which is to wait."""
    return isinstance(value, Tensor) and not is_host(value._data)


def _fetched(values: Sequence[Tensor]) -> list[Array]:
    if len({value.dtype for value in values}) != 1:
        return [value.asnumpy() for value in values]
    joined = ops.concat([value.reshape(-1) for value in values]).asnumpy()
    ends = np.cumsum([prod(value.shape) for value in values])
    parts = np.split(joined, ends[:-1])
    return [part.reshape(value.shape) for part, value in zip(parts, values, strict=True)]
