"""Windows along an axis, as a view of the memory; and their transpose, which adds them up again.

Written once for numpy and for CuPy, which have what is used here under the same names: `library` is
either of the modules.
"""

from math import prod
from types import ModuleType
from typing import cast

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.generic]


def windows(library: ModuleType, x: Values, axis: int, size: int, step: int, spread: int) -> Values:
    """As `Namespace.windows`. Nothing is copied of what is laid out in the order of its axes."""
    x = cast("Values", library.ascontiguousarray(x))
    own, strides = x.shape, x.strides
    count = (own[axis] - spread * (size - 1) - 1) // step + 1
    view: Values = library.lib.stride_tricks.as_strided(
        x,
        (*own[:axis], count, size, *own[axis + 1 :]),
        (*strides[:axis], strides[axis] * step, strides[axis] * spread, *strides[axis + 1 :]),
    )
    return view


def fold(library: ModuleType, x: Values, axis: int, length: int, step: int, spread: int) -> Values:
    """As `Namespace.fold`: one addition for each place in a window."""
    count, size = x.shape[axis : axis + 2]
    shape = (*x.shape[:axis], length, *x.shape[axis + 2 :])
    if size == step and spread == 1 and prod(shape) == x.size:
        # Windows side by side: each element is in one of them.
        return x.reshape(shape)
    out: Values = library.zeros(shape, x.dtype)
    before = (slice(None),) * axis
    for i in range(size):
        first = i * spread
        places = (*before, slice(first, first + step * (count - 1) + 1, step))
        part = x[cast("tuple[slice, ...]", (*before, slice(None), i))]
        library.add(out[places], part, out=out[places])
    return out
