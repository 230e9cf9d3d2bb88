"""Tensors as arrays whose type is known."""

import numpy as np
from numpy.typing import NDArray

from minispore import Tensor

Floats = NDArray[np.float64]


def floats(x: Tensor) -> Floats:
    """Return the elements of a tensor as float64."""
    return np.asarray(x.asnumpy(), np.float64)
