"""Planes of loss landscapes: two directions in the space of the parameters of a network.

Source: Li et al., Visualizing the Loss Landscape of Neural Nets, NeurIPS 2018.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from minispore.utils.arrays import AnyArray, Float64Array

Parameters = Mapping[str, AnyArray]

# The distance by which the plane extends beyond the trajectory, relative to its length.
_MARGIN: Final = 0.2


class Plane(NamedTuple):
    """A point and two directions in the space of all parameters.

    Attributes:
        origin: The point, of shape (n,).
        first: The first direction, of shape (n,).
        second: The second direction, of shape (n,).
    """

    origin: Float64Array
    first: Float64Array
    second: Float64Array

    def at(self, x: float, y: float) -> Float64Array:
        """Return the point with these coordinates."""
        point: Float64Array = self.origin + x * self.first + y * self.second
        return point


def ravel(parameters: Parameters) -> Float64Array:
    """Return all parameters as one vector."""
    return np.concatenate([array.reshape(-1).astype(np.float64) for array in parameters.values()])


def unravel(vector: Float64Array, like: Parameters) -> dict[str, AnyArray]:
    """Return the parameters in a vector, with the names, shapes and dtypes of `like`."""
    ends = np.cumsum([array.size for array in like.values()])
    parts = np.split(vector, ends[:-1])
    return {
        name: part.reshape(array.shape).astype(array.dtype)
        for (name, array), part in zip(like.items(), parts, strict=True)
    }


def pca_plane(trajectory: Sequence[Float64Array]) -> tuple[Plane, Float64Array, Float64Array]:
    """Return the plane of the first two principal components of a trajectory, around its end.

    Returns:
        The plane, and the first and the second coordinates of the points of the trajectory.
    """
    end = trajectory[-1]
    steps = np.stack([point - end for point in trajectory])
    _, _, directions = np.linalg.svd(steps, full_matrices=False)
    first, second = directions[0], directions[1]
    # The sign of a direction is arbitrary: the trajectory begins with positive coordinates.
    first, second = (d if steps[0] @ d >= 0.0 else -d for d in (first, second))
    return Plane(end, first, second), steps @ first, steps @ second


def random_plane(parameters: Parameters, generator: np.random.Generator) -> Plane:
    """Return a plane of two random directions, normalized filter by filter.

    Each filter of a direction has the norm of the corresponding filter of the parameters.
    Parameters with one axis, such as biases, are constant.
    """
    directions: list[Float64Array] = []
    for _ in range(2):
        parts: list[Float64Array] = []
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
    return Plane(ravel(parameters), *directions)


def axis(coordinates: Float64Array, size: int) -> Float64Array:
    """Return `size` coordinates from a little below the smallest to a little above the largest."""
    low, high = float(coordinates.min()), float(coordinates.max())
    margin = _MARGIN * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, size)


def evaluate_grid(
    plane: Plane, x: Float64Array, y: Float64Array, loss: Callable[[Float64Array], float]
) -> Float64Array:
    """Return the loss at each point of a grid, of shape (len(y), len(x)); print the progress.

    Args:
        plane: The plane of the grid.
        x: The first coordinates, of the columns.
        y: The second coordinates, of the rows.
        loss: A function that returns the loss for a vector of parameters.
    """
    z = np.zeros((len(y), len(x)))
    for row, b in enumerate(y):
        print(f"Drawing landscape total progress: {row + 1}/{len(y)}.")
        for column, a in enumerate(x):
            z[row, column] = value = loss(plane.at(float(a), float(b)))
            print(
                f"Current local landscape progress is {column + 1}/{len(x)}, "
                f"landscape loss is {value}."
            )
    return z
