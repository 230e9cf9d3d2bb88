"""The plane of a loss landscape: two directions in the space of a network's parameters.

Source: Li et al., Visualizing the Loss Landscape of Neural Nets, NeurIPS 2018.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Parameters = Mapping[str, NDArray[np.generic]]

# How far the plane goes beyond the way in it, as a part of the way.
_MARGIN: Final = 0.2


class Plane(NamedTuple):
    """A point in the space of all parameters in a row, and two directions.

    Attributes:
        origin: The point, of shape (n,).
        first: The first direction, of shape (n,).
        second: The second.
    """

    origin: Floats
    first: Floats
    second: Floats

    def at(self, x: float, y: float) -> Floats:
        """The point `x` in the first direction and `y` in the second."""
        point: Floats = self.origin + x * self.first + y * self.second
        return point


def flat(parameters: Parameters) -> Floats:
    """All parameters in a row."""
    return np.concatenate([array.reshape(-1).astype(np.float64) for array in parameters.values()])


def shaped(row: Floats, like: Parameters) -> dict[str, NDArray[np.generic]]:
    """The parameters that stand in a row."""
    found: dict[str, NDArray[np.generic]] = {}
    start = 0
    for name, array in like.items():
        found[name] = row[start : start + array.size].reshape(array.shape).astype(array.dtype)
        start += array.size
    return found


def principal(way: Sequence[Floats]) -> tuple[Plane, Floats, Floats]:
    """The plane in which a way to its last point shows most of itself, and the way in it.

    Returns:
        The plane around the last point, and both coordinates of each point of the way.
    """
    end = way[-1]
    steps = np.stack([point - end for point in way])
    _, _, directions = np.linalg.svd(steps, full_matrices=False)
    first, second = directions[0], directions[1]
    # A direction is as good as its opposite: let the way come from the positive side.
    first, second = (d if steps[0] @ d >= 0.0 else -d for d in (first, second))
    return Plane(end, first, second), steps @ first, steps @ second


def around(parameters: Parameters, generator: np.random.Generator) -> Plane:
    """A plane in two random directions, each filter as long as that of the parameters.

    What has one axis, as a bias, is left as it is.
    """
    directions: list[Floats] = []
    for _ in range(2):
        parts: list[Floats] = []
        for array in parameters.values():
            part = generator.standard_normal(array.shape)
            if array.ndim > 1:
                rows = part.reshape(len(part), -1)
                lengths = np.linalg.norm(array.reshape(len(array), -1).astype(np.float64), axis=1)
                rows *= (lengths / (np.linalg.norm(rows, axis=1) + 1e-10))[:, None]
            else:
                part *= 0.0
            parts.append(part.reshape(-1))
        directions.append(np.concatenate(parts))
    return Plane(flat(parameters), *directions)


def axis(coordinates: Floats, size: int) -> Floats:
    """`size` coordinates over the reach of a way and a little beyond it."""
    low, high = float(coordinates.min()), float(coordinates.max())
    margin = _MARGIN * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, size)


def heights(
    plane: Plane,
    x: Floats,
    y: Floats,
    loss: Callable[[Floats], float],
    told: Callable[[int, int, float], None],
) -> Floats:
    """The loss at each point of a grid, of shape (len(y), len(x)).

    Args:
        plane: Where the grid lies.
        x: Its columns.
        y: Its rows.
        loss: Gives the loss of parameters in a row.
        told: Gets row, column and loss of each point.
    """
    z = np.zeros((len(y), len(x)))
    for row, b in enumerate(y):
        for column, a in enumerate(x):
            z[row, column] = loss(plane.at(float(a), float(b)))
            told(row, column, float(z[row, column]))
    return z
