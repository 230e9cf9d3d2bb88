"""The outputs of a step: the loss among them, and its value.

Reading a value waits until the device has computed it, and leaves the device idle. Values that are
needed later, such as losses between two log lines, are transferred together, in one copy.
"""

import math
from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np

from minispore import ops
from minispore.engine.array import NUMPY_TYPES, is_host
from minispore.nn.cell import Cell
from minispore.ops.tensors import Tensor
from minispore.utils.arrays import AnyArray
from minispore.utils.checks import as_items

Tag = TypeVar("Tag")

_MAX_PENDING = 1000  # each value takes some memory of the device


def first_output(net_outputs: object) -> object:
    """Return the first of several outputs of a network, or its only one.

    Args:
        net_outputs: What the network has returned.

    Returns:
        The first item of a list or tuple; `net_outputs` itself if it is neither, or empty.

    Examples:
        >>> first_output((0.5, "logits")), first_output(0.5)
        (0.5, 0.5)
    """
    items = as_items(net_outputs)
    return items[0] if items else net_outputs


def as_array(value: object) -> AnyArray | None:
    """Return a tensor, an array or a number as a numpy array.

    Args:
        value: The value.

    Returns:
        An array of the value's shape and dtype; None for a value of another type.

    Examples:
        >>> as_array(Tensor([1.0, 2.0])), as_array("a")
        (array([1., 2.], dtype=float32), None)
    """
    if isinstance(value, Tensor):
        return value.asnumpy()
    if isinstance(value, (*NUMPY_TYPES, int, float)):
        return np.asarray(value)
    return None


def is_finite(value: object) -> bool:
    """Return whether a loss is finite.

    Args:
        value: The loss.

    Returns:
        False if an element of a tensor or an array, or a number, is NaN or infinite.

    Examples:
        >>> is_finite(Tensor([1.0, float("nan")])), is_finite(float("inf")), is_finite("a")
        (False, False, True)
    """
    array = as_array(value)
    if array is None or array.dtype.kind != "f":
        return True
    if array.ndim:
        return bool(np.isfinite(array).all())
    return math.isfinite(array.item())  # much faster than numpy's function


def shortest_float(number: np.generic) -> float:
    """Return the float with the fewest digits that identifies `number` in its type.

    Args:
        number: A numpy scalar, such as a float32.

    Returns:
        The float whose repr is the text of `number`.

    Examples:
        >>> shortest_float(np.float32(0.1)), float(np.float32(0.1))
        (0.1, 0.10000000149011612)
    """
    return float(str(number))


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


def has_finite_weights(network: Cell) -> bool:
    """Return whether all trainable parameters are finite.

    Args:
        network: The network.

    Examples:
        >>> from minispore import nn
        >>> has_finite_weights(nn.Dense(1, 1, Tensor([[float("inf")]])))
        False
    """
    checks = [ops.isfinite(parameter).all() for parameter in network.trainable_params()]
    return not checks or bool(ops.stack(checks).all())  # read once from a device


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

    def fetch(self) -> list[tuple[Tag, AnyArray]]:
        """Return the tags and the values as numpy arrays, in their order, and drop them."""
        pending, self._pending = self._pending, []
        arrays = _fetch([value for _, value in pending])
        return [(tag, array) for (tag, _), array in zip(pending, arrays, strict=True)]


def _fetch(values: Sequence[Tensor]) -> list[AnyArray]:
    if len({value.dtype for value in values}) != 1:
        return [value.asnumpy() for value in values]
    joined = ops.concat([value.reshape(-1) for value in values]).asnumpy()
    ends = np.cumsum([math.prod(value.shape) for value in values])
    parts = np.split(joined, ends[:-1])
    return [part.reshape(value.shape) for part, value in zip(parts, values, strict=True)]
