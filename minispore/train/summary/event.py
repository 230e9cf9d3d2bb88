"""The content of event files: events, each with a time, a step and the values of that step."""

from typing import Final, NamedTuple, TypeAlias

from minispore.utils.arrays import AnyArray, Float64Array, Int64Array


class Histogram(NamedTuple):
    """The distribution of the elements of an array.

    Attributes:
        edges: The edges of the n buckets, of shape (n + 1,), or (0,) without buckets.
        counts: The number of elements in each bucket, of shape (n,).
        finite: The number of finite elements, which are the elements in all buckets.
        nan: The number of elements that are NaN.
        pos_inf: The number of elements that are infinite.
        neg_inf: The number of elements that are negative infinite.
        min: The smallest finite element; NaN if there is none.
        max: The largest finite element; NaN if there is none.
        sum: The sum of the finite elements.
        sum_squares: The sum of the squares of the finite elements.

    Examples:
        >>> import numpy as np
        >>> from minispore.train.summary.histogram import histogram
        >>> result = histogram(np.array([1.0, 2.0, 2.0, np.inf]))
        >>> result.counts.tolist(), result.edges.tolist(), result.elements
        ([1, 2], [1.0, 1.5, 2.0], 4)
    """

    edges: Float64Array
    counts: Int64Array
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
        """The number of elements, including those that are not finite."""
        return self.finite + self.nan + self.pos_inf + self.neg_inf


class Image(NamedTuple):
    """An image.

    Attributes:
        height: The number of rows of pixels.
        width: The number of columns of pixels.
        colorspace: The number of channels: 1 for grey, 3 for red, green and blue.
        png: The content of a PNG file.

    Examples:
        >>> import numpy as np
        >>> from minispore.train.summary.image import make_grid
        >>> image = make_grid(np.zeros((3, 1, 4, 5), np.uint8))
        >>> image.height, image.width, image.colorspace
        (4, 15, 1)
    """

    height: int
    width: int
    colorspace: int
    png: bytes


class Landscape(NamedTuple):
    """A loss landscape: the loss over a plane of parameters, and the path of a training in it.

    Attributes:
        x: The first coordinate of each column, of shape (n,).
        y: The second coordinate of each row, of shape (n,).
        z: The loss at each point, of shape (n, n).
        path_x: The first coordinate of each point of the path, of shape (m,), or (0,) without one.
        path_y: The second coordinate of each point of the path, of the same shape.
        path_z: The loss at each point of the path, of the same shape.
        intervals: The epochs or steps of the points of the path.
        end: The coordinates and the loss of the final parameters.
        decomposition: The method by which the plane was chosen: "PCA" or "Random".
        unit: The unit of `intervals`: "epoch" or "step".
        step_per_epoch: The number of steps in an epoch.

    Examples:
        >>> import numpy as np
        >>> x = y = np.array([-1.0, 0.0, 1.0])
        >>> z, empty = np.add.outer(y**2, x**2), np.zeros(0)
        >>> landscape = Landscape(
        ...     x, y, z, empty, empty, empty, (), (0.0, 0.0, 0.0), "Random", "epoch", 10
        ... )
        >>> float(landscape.z.min()), landscape.end
        (0.0, (0.0, 0.0, 0.0))
    """

    x: Float64Array
    y: Float64Array
    z: Float64Array
    path_x: Float64Array
    path_y: Float64Array
    path_z: Float64Array
    intervals: tuple[int, ...]
    end: tuple[float, float, float]
    decomposition: str
    unit: str
    step_per_epoch: int


Content: TypeAlias = float | Image | Histogram | AnyArray | Landscape


class Value(NamedTuple):
    """A value and its name.

    Attributes:
        tag: The name.
        content: The value; a float is a scalar, an array a tensor.

    Examples:
        >>> Value("loss", 0.5)
        Value(tag='loss', content=0.5)
    """

    tag: str
    content: Content


class Event(NamedTuple):
    """One event of an event file.

    Attributes:
        wall_time: The time of the event, in seconds since 1970.
        step: The step of the event.
        version: The version of the file; only the first event has one.
        graph: The graph of a network as the bytes of a GraphDef (in MindSpore's files, a
            GraphProto).
        values: The values of the step.
        restart: Whether a resumed run begins here: TensorBoard drops what it has read of this step
            and later ones. MindSpore's files have no such events.

    Examples:
        >>> Event(0.0, 7, values=(Value("loss", 0.5),)).step
        7
    """

    wall_time: float
    step: int = 0
    version: str | None = None
    graph: bytes | None = None
    values: tuple[Value, ...] = ()
    restart: bool = False


TENSORBOARD_VERSION: Final = "brain.Event:2"
MINDSPORE_VERSION: Final = "MindSpore.Event:1"
