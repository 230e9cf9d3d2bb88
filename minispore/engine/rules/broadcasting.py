"""The transpose of broadcasting: gradients are summed over the axes that were repeated."""

from minispore.engine.array import A, Shape, namespace


def unbroadcast(g: A, shape: Shape) -> A:
    """Sum `g` over the axes along which an operand of `shape` was repeated.

    Args:
        g: The gradient of the result.
        shape: The shape of the operand.

    Returns:
        The gradient of the operand, of the shape `shape`.

    Examples:
        >>> import numpy as np
        >>> unbroadcast(np.ones((2, 3)), (3,)).tolist()
        [2.0, 2.0, 2.0]
    """
    if g.shape == shape:
        return g
    xp = namespace(g)
    added = g.ndim - len(shape)
    stretched = (i + added for i, n in enumerate(shape) if n == 1 and g.shape[i + added] != 1)
    return xp.reshape(xp.sum(g, axis=(*range(added), *stretched)), shape)
