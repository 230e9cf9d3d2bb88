"""The rule of the angle of a point in the plane."""

from minispore.engine.array import A, namespace
from minispore.engine.rules import Binary
from minispore.engine.rules.broadcasting import unbroadcast


def atan2(y: A, x: A) -> Binary[A]:
    """Return the angle of (x, y) with the positive x axis, in radians; there is no slope at 0."""
    xp = namespace(y)

    def per_square(g: A, length: A) -> A:
        """Return g · length / (x² + y²), of which the squares may overflow."""
        # The size cancels, so it is a constant of the derivative.
        size = xp.stop_gradient(xp.maximum(xp.abs(x), xp.abs(y)))
        near, far = x / size, y / size
        return g * (length / size / (near * near + far * far) / size)

    return xp.atan2(y, x), (
        lambda g: unbroadcast(per_square(g, x), y.shape),
        lambda g: unbroadcast(per_square(g, -y), x.shape),
    )
