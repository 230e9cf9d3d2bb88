"""What an event file holds: events, each with a time, a step and the values of that step."""

from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray


class Histogram(NamedTuple):
    """How the elements of an array are distributed.

    Attributes:
        edges: The borders of the buckets, one more than there are buckets; none if there are none.
        counts: The number of elements in each bucket.
        finite: The number of elements in all buckets.
        nan: The number of elements that are no number,
        pos_inf: infinite,
        neg_inf: and negatively infinite; they are in no bucket.
        min: The smallest finite element; NaN if there is none.
        max: The greatest.
        sum: The sum of the finite elements,
        sum_squares: and of their squares.
    """

    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    finite: int
    nan: int
    pos_inf: int
    neg_inf: int
    min: float
    max: float
    sum: float
    sum_squares: float

    @property
    def elements(self) -> int:
        """The number of all elements."""
        return self.finite + self.nan + self.pos_inf + self.neg_inf


class Image(NamedTuple):
    """A picture.

    Attributes:
        height: Its rows of pixels.
        width: Its columns.
        colorspace: The numbers of a pixel: 1 for grey, 3 for red, green and blue.
        png: The PNG file.
    """

    height: int
    width: int
    colorspace: int
    png: bytes


class Landscape(NamedTuple):
    """A loss landscape: the loss over a plane of parameters, and the way of a training in it.

    Attributes:
        x: The plane's first coordinate at each column, of shape (n,).
        y: Its second at each row, of shape (n,).
        z: The loss at each point, of shape (n, n).
        path_x: The way's first coordinate at each interval,
        path_y: its second,
        path_z: and the loss there. All three are empty where there is no way.
        intervals: The epochs or steps of the way.
        end: The last parameters' coordinates and loss.
        decomposition: How the plane was chosen: "PCA" or "Random".
        unit: What `intervals` count: "epoch" or "step".
        step_per_epoch: The steps of an epoch.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    z: NDArray[np.float64]
    path_x: NDArray[np.float64]
    path_y: NDArray[np.float64]
    path_z: NDArray[np.float64]
    intervals: tuple[int, ...]
    end: tuple[float, float, float]
    decomposition: str
    unit: str
    step_per_epoch: int


# A float is a scalar.
Content: TypeAlias = float | Image | Histogram | NDArray[np.generic] | Landscape


class Value(NamedTuple):
    """One value under its name."""

    tag: str
    content: Content


class Event(NamedTuple):
    """One record of an event file.

    Attributes:
        wall_time: When it was made, in seconds since 1970.
        step: The step that it belongs to.
        version: The file's version; only the first event has one.
        graph: A network's graph as the bytes of a GraphDef (of a GraphProto in MindSpore's files).
        values: The step's values.
    """

    wall_time: float
    step: int = 0
    version: str | None = None
    graph: bytes | None = None
    values: tuple[Value, ...] = ()


TENSORBOARD_VERSION: Final = "brain.Event:2"
MINDSPORE_VERSION: Final = "MindSpore.Event:1"
