"""Values handed out of the middle of a network: what `SummaryRecord` writes besides its own.

A `construct` has no way to return an intermediate value. It calls one of these operations with a
name and the value instead, and whoever listens at that moment gets a copy. Nobody listening, the
call costs next to nothing.
"""

from collections.abc import Callable
from threading import local
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minispore._checks import check_type
from minispore.common.tensor import Tensor

# Gets the kind of a value, its name, and a copy of it.
Listener: TypeAlias = Callable[[str, str, NDArray[np.generic]], None]

_heard_in: Final = local()


def listeners() -> list[Listener]:
    """Everybody who listens to the networks of this thread: trainings in others have their own."""
    found: list[Listener] = _heard_in.__dict__.setdefault("listeners", [])
    return found


class _Summary:
    """What the four operations share."""

    _kind = ""

    def __call__(self, name: str, value: Tensor) -> None:
        """Hand `value` out under `name`.

        Raises:
            TypeError: `name` is no str, or `value` no Tensor.
            ValueError: `name` is empty or no valid Unicode, or `value` is of a shape that does not
                fit.
        """
        owner = type(self).__name__
        check_type(name, str, "name", owner)
        if not name:
            raise ValueError(f"For '{owner}', the name should be valid string, but got ''.")
        check_unicode(name, owner)
        check_type(value, Tensor, "value", owner)
        check_shape(self._kind, name, value.shape, owner)
        hearing = listeners()
        if hearing:
            array = np.array(value.asnumpy())
            for listener in tuple(hearing):
                listener(self._kind, name, array)

    def __repr__(self) -> str:
        return f"Prim[{type(self).__name__}]"


class ScalarSummary(_Summary):
    """Hand out a single number.

    It is written by the `SummaryRecord` or `SummaryCollector` that is open at the time, for the
    steps that it records.

    Source: MindSpore's `mindspore.ops.ScalarSummary`.

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
    """

    _kind = "scalar"


class ImageSummary(_Summary):
    """Hand out images, of shape (n, 1 or 3, height, width).

    Source: MindSpore's `mindspore.ops.ImageSummary`. See `ScalarSummary` for an example.
    """

    _kind = "image"


class TensorSummary(_Summary):
    """Hand out a tensor of any shape with axes.

    Source: MindSpore's `mindspore.ops.TensorSummary`. See `ScalarSummary` for an example.
    """

    _kind = "tensor"


class HistogramSummary(_Summary):
    """Hand out a tensor with axes of which a histogram is written.

    Source: MindSpore's `mindspore.ops.HistogramSummary`. See `ScalarSummary` for an example.
    """

    _kind = "histogram"


def check_unicode(name: str, owner: str) -> None:
    """Raise ValueError unless `name` can be written into a file."""
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"For '{owner}', the name {name!r} is no valid Unicode: {error.reason}."
        ) from None


def check_shape(kind: str, name: str, shape: tuple[int, ...], owner: str) -> None:
    """Raise ValueError unless a value of `shape` can be written as a scalar, an image and so on."""
    if kind == "scalar":
        fits, wanted = shape in {(), (1,)}, "() or (1,)"
    elif kind == "image":
        fits = len(shape) == 4 and shape[1] in {1, 3} and 0 not in shape
        wanted = "(n, 1 or 3, height, width)"
    else:
        fits, wanted = len(shape) > 0, "with at least one axis"
    if not fits:
        raise ValueError(
            f"For '{owner}', the {kind} '{name}' must be of shape {wanted}, but got {shape}."
        )
