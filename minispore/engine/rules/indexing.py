"""Rules of indexing, and of its transpose, which adds elements at indices.

Each is the pullback of the other, so they can be differentiated any number of times.
"""

from minispore.engine.array import A, Shape, namespace
from minispore.engine.rules import Unary

Index = tuple[object, ...]


def getitem(x: A, index: Index) -> Unary[A]:
    """Return x[index], for integers, slices, None, Ellipsis, and arrays of integers or booleans."""
    xp = namespace(x)
    shape = x.shape
    return xp.getitem(x, index=index), (lambda g: xp.scatter_add(g, index=index, shape=shape),)


def scatter_add(values: A, index: Index, shape: Shape) -> Unary[A]:
    """Return zeros of `shape` with `values` added at `index`; equal indices accumulate."""
    xp = namespace(values)
    value = xp.scatter_add(values, index=index, shape=shape)
    return value, (lambda g: xp.getitem(g, index=index),)
