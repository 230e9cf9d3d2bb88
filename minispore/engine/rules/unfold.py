"""Rules of sliding windows along an axis: `unfold`, its transpose `fold`, and their maximum.

`unfold` and `fold` are each other's pullback, so the set of rules is closed under differentiation.
Windows in two dimensions are unfolded along one axis after the other. A convolution is `unfold` and
a matrix product; a pooling is `unfold` and a mean or a maximum.
"""

from functools import reduce
from math import prod

from minispore.engine.array import A, namespace
from minispore.engine.rules import Binary, Unary
from minispore.engine.rules.linalg import count_product, gemm, gemm_observers

# The elements of the channels that are convolved together, so that they stay in the cache.
_BLOCK = 1 << 16


def unfold(x: A, axis: int, kernel_size: int, stride: int, dilation: int) -> Unary[A]:
    """Return the windows along `axis`, as two axes (count, kernel_size) in its place."""
    xp = namespace(x)
    length = x.shape[axis]
    value = xp.unfold(x, axis=axis, kernel_size=kernel_size, stride=stride, dilation=dilation)
    return value, (
        lambda g: xp.fold(g, axis=axis, length=length, stride=stride, dilation=dilation),
    )


def fold(x: A, axis: int, length: int, stride: int, dilation: int) -> Unary[A]:
    """Return the sum of the windows (count, kernel_size) at `axis`, in an axis of `length`.

    The windows must be all that fit into the length.
    """
    xp = namespace(x)
    kernel_size = x.shape[axis + 1]
    value = xp.fold(x, axis=axis, length=length, stride=stride, dilation=dilation)

    def pullback(g: A) -> A:
        return xp.unfold(g, axis=axis, kernel_size=kernel_size, stride=stride, dilation=dilation)

    return value, (pullback,)


def depthwise(x: A, w: A, dilations: tuple[int, int]) -> Binary[A]:
    """Return the convolution of each channel with a kernel of its own, at every position.

    Args:
        x: Padded images, of shape (C, N, H, W).
        w: The kernels, of shape (C, rows, columns).
        dilations: The distances between the elements of a kernel.

    Returns:
        An array of shape (C, N, H', W'), and the pullbacks.
    """
    xp = namespace(x)
    (channels, _, height, width), (_, rows, columns) = x.shape, w.shape
    down, right = dilations[0] * (rows - 1), dilations[1] * (columns - 1)
    # Long vectors are fast: the images of a channel, one after the other. What a kernel computes
    # across the borders of images is cut off.
    inside = (..., slice(height - down), slice(width - right))
    size, kernels = prod(x.shape[1:]), xp.reshape(w, (channels, rows * columns))
    after = xp.broadcast_to(xp.zeros_like(kernels[:, :1]), (channels, down * width + right))
    images = xp.concat([xp.reshape(x, (channels, size)), after], axis=1)
    # For each element of a kernel the elements of the images with which it is multiplied.
    parts = [
        slice(start, start + size)
        for i in range(0, down + 1, dilations[0])
        for start in range(i * width, i * width + right + 1, dilations[1])
    ]
    count = max(1, _BLOCK // max(1, size))

    def convolved(first: int) -> A:
        block = (slice(first, min(first + count, channels)), ...)
        vectors, factors = images[block], kernels[block]
        products = (vectors[:, part] * factors[:, k, None] for k, part in enumerate(parts))
        total = next(products)
        for product in products:
            total += product  # in place, since it is a new array
        return total

    def to_x(g: A) -> A:
        # A convolution with the turned kernel, with zeros around the gradients.
        index = (..., slice(down, height), slice(right, width))
        shape = (*x.shape[:2], height + down, width + right)
        spread = xp.scatter_add(g, index=index, shape=shape)
        return depthwise(spread, w[:, ::-1, ::-1], dilations)[0]

    def to_w(g: A) -> A:
        spread = xp.reshape(xp.scatter_add(g, index=inside, shape=x.shape), (channels, size, 1))
        return xp.reshape(
            xp.concat([gemm(images[:, None, part], spread) for part in parts], axis=1), w.shape
        )

    everywhere = xp.concat([convolved(i) for i in range(0, channels, count)], axis=0)
    value = xp.reshape(everywhere, x.shape)[inside]
    if gemm_observers:
        # The product of the kernels and the windows, of which only the shapes count.
        one, elements = kernels[:, :1, None], len(parts)
        windows = xp.broadcast_to(one, (channels, elements, prod(value.shape[1:])))
        count_product(xp.broadcast_to(one, (channels, 1, elements)), windows)
    return value, (to_x, to_w)


def max_over_window(x: A, axis: int) -> Unary[A]:
    """Return the largest element along `axis`; the first of equal ones receives the gradient.

    PyTorch and MindSpore pool in this way. `reduction.max` divides the gradient between them.
    """
    xp = namespace(x)
    before = (slice(None),) * axis
    parts = [x[(*before, i, ...)] for i in range(x.shape[axis])]
    value = reduce(xp.maximum, parts)

    def pullback(g: A) -> A:
        contributions: list[A] = []
        for part in parts[:-1]:
            # Each part takes what the parts before it have left; the last one takes the rest.
            contribution = g * xp.astype(xp.equal(part, value), g.dtype)
            g = g - contribution
            contributions.append(contribution)
        return xp.stack([*contributions, g], axis=axis)

    return value, (pullback,)
