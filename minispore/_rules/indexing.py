"""Rules of indexing: taking elements out, and its transpose, adding them in.

The two are each other's pullback, so they close differentiation between them.
"""

from minispore._array import A, Shape, namespace
from minispore._rules._types import Unary

Index = tuple[object, ...]


def getitem(x: A, index: Index) -> Unary[A]:
    """x[index], for integers, slices, None, Ellipsis, and arrays of integers or booleans."""
    xp = namespace(x)
    own = x.shape
    return x[index], (lambda g: xp.scatter(g, index=index, shape=own),)


def scatter(values: A, index: Index, shape: Shape) -> Unary[A]:
    """Zeros of `shape` with `values` added at `index`."""
    return namespace(values).scatter(values, index=index, shape=shape), (lambda g: g[index],)
