"""Summary operations: they publish intermediate values of a network, which `SummaryRecord` writes.

`construct` cannot return an intermediate value. It calls one of these operations with a name and
the value instead, and each subscriber receives a copy. Without a subscriber the call does nothing.
"""

from collections.abc import Callable
from threading import local
from typing import Final, TypeAlias

import numpy as np

from minispore.ops._primitive import Primitive
from minispore.ops.tensors import Tensor
from minispore.utils.arrays import AnyArray
from minispore.utils.checks import caller, check_type

__all__ = ["HistogramSummary", "ImageSummary", "ScalarSummary", "TensorSummary"]

# Receives the kind of a value, its name, and a copy of it.
SummarySubscriber: TypeAlias = Callable[[str, str, AnyArray], None]

_subscribers: Final = local()


def summary_subscribers() -> list[SummarySubscriber]:
    """Return the subscribers to summaries of this thread: each training has its own."""
    subscribers: list[SummarySubscriber] = _subscribers.__dict__.setdefault("all", [])
    return subscribers


class _Summary(Primitive):
    """The base of the four summary operations."""

    _kind = ""

    def __call__(self, name: str, value: Tensor) -> None:
        """Publish `value` as `name`: call each subscriber of this thread with a copy.

        Args:
            name: The name of the value, not empty.
            value: The value.

        Raises:
            TypeError: `name` is not a str, or `value` is not a Tensor.
            ValueError: `name` is empty or invalid Unicode, or the shape of `value` is invalid.
        """
        check_type(name, str, "name")
        if not name:
            raise ValueError(f"For '{caller()}', the name should be valid string, but got ''.")
        check_unicode(name)
        check_type(value, Tensor, "value")
        check_shape(self._kind, name, value.shape)
        if subscribers := tuple(summary_subscribers()):
            array = np.array(value.asnumpy())
            for subscriber in subscribers:
                subscriber(self._kind, name, array)


class ScalarSummary(_Summary):
    """An operation that publishes a scalar.

    The `SummaryRecord` or `SummaryCollector` that is open writes it in the steps that it records.

    Examples:
        >>> from minispore import nn, ops
        >>> class Noisy(nn.Cell):
        ...     def __init__(self) -> None:
        ...         super().__init__()
        ...         self.summary = ops.ScalarSummary()
        ...
        ...     def construct(self, x: Tensor) -> Tensor:
        ...         self.summary("mean", x.mean())
        ...         return x
        >>> Noisy()(Tensor([1.0, 2.0])).shape
        (2,)

    Source: MindSpore's `mindspore.ops.ScalarSummary`.
    """

    _kind = "scalar"


class ImageSummary(_Summary):
    """An operation that publishes images, of shape (n, 1 or 3, height, width).

    `ScalarSummary` shows its use in a network.

    Examples:
        >>> from minispore import ops
        >>> ops.ImageSummary()("images", ops.zeros((1, 3, 8, 8)))

    Source: MindSpore's `mindspore.ops.ImageSummary`.
    """

    _kind = "image"


class TensorSummary(_Summary):
    """An operation that publishes a tensor with at least one axis.

    `ScalarSummary` shows its use in a network.

    Examples:
        >>> from minispore import ops
        >>> ops.TensorSummary()("weights", ops.zeros((2, 3)))

    Source: MindSpore's `mindspore.ops.TensorSummary`.
    """

    _kind = "tensor"


class HistogramSummary(_Summary):
    """An operation that publishes a tensor, of which a histogram is written.

    `ScalarSummary` shows its use in a network.

    Examples:
        >>> from minispore import ops
        >>> ops.HistogramSummary()("weights", ops.zeros((2, 3)))

    Source: MindSpore's `mindspore.ops.HistogramSummary`.
    """

    _kind = "histogram"


def check_unicode(name: str) -> None:
    """Raise ValueError unless `name` can be written into a file."""
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"For '{caller()}', the name {name!r} is no valid Unicode: {error.reason}."
        ) from None


def check_shape(kind: str, name: str, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless a value of `shape` can be written as a summary of its kind."""
    if kind == "scalar":
        fits, expected = shape in {(), (1,)}, "() or (1,)"
    elif kind == "image":
        fits = len(shape) == 4 and shape[1] in {1, 3} and 0 not in shape
        expected = "(n, 1 or 3, height, width)"
    else:
        fits, expected = len(shape) > 0, "with at least one axis"
    if not fits:
        raise ValueError(
            f"For '{caller()}', the {kind} '{name}' must be of shape {expected}, but got {shape}."
        )
