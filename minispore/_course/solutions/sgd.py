"""The step of lesson 7: stochastic gradient descent with momentum."""

import numpy as np
from numpy.typing import NDArray


def update(
    w: NDArray[np.float32],
    g: NDArray[np.float32],
    v: NDArray[np.float32],
    rate: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    nesterov: bool = False,
    is_first_step: bool = False,
) -> None:
    """Change the parameter w in place, by one step; g is its gradient, v its velocity."""
    direction = g
    if momentum:
        v[...] = g if is_first_step else momentum * v + (1 - dampening) * g
        direction = g + momentum * v if nesterov else v
    w -= rate * direction
