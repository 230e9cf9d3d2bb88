"""Undoing a broadcast: what was repeated on the way forward is summed on the way back."""

from minispore._array import A, Shape, namespace


def unbroadcast(g: A, shape: Shape) -> A:
    """Sum `g` over the axes along which an operand of `shape` was repeated.

    >>> import numpy as np
    >>> unbroadcast(np.ones((2, 3)), (3,))
    array([2., 2., 2.])
    """
    if g.shape == shape:
        return g
    xp = namespace(g)
    added = g.ndim - len(shape)
    stretched = (i + added for i, n in enumerate(shape) if n == 1 and g.shape[i + added] != 1)
    return xp.reshape(xp.sum(g, axis=(*range(added), *stretched)), shape)
