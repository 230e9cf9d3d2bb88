"""Rules of sliding windows along an axis: `unfold`, its transpose `fold`, and their maximum.

`unfold` and `fold` are each other's pullback, so the set of rules is closed under differentiation.
Windows in two dimensions are unfolded along one axis after the other. A convolution is `unfold` and
a matrix product; a pooling is `unfold` and a mean or a maximum.
"""

from functools import reduce
from math import prod

from minispore.engine.array import A, namespace
from minispore.engine.rules import Binary, Unary
from minispore.engine.rules.indexing import Index
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


def depthwise(x: A, w: A, strides: tuple[int, int], dilations: tuple[int, int]) -> Binary[A]:
    """Return the convolution of each channel with a kernel of its own.

    Args:
        x: Padded images, of shape (C, H, W, N).
        w: The kernels, of shape (C, rows, columns).
        strides: The distances between windows, vertically and horizontally.
        dilations: The distances between the elements of a kernel.

    Returns:
        An array of shape (C, H', W', N), and the pullbacks.
    """
    xp = namespace(x)
    reach = [(n - 1) * d for n, d in zip(w.shape[1:], dilations, strict=True)]
    channels = x.shape[0]
    count = max(1, _BLOCK // max(1, prod(x.shape[1:])))
    blocks = [(slice(i, min(i + count, channels)), ...) for i in range(0, channels, count)]
    # For each element of a kernel the elements of the images with which it is multiplied.
    rows, columns = (
        [slice(i, i + n - r, s) for i in range(0, r + 1, d)]
        for n, r, s, d in zip(x.shape[1:3], reach, strides, dilations, strict=True)
    )
    places = [
        (i, j, (slice(None), row, column, ...))
        for i, row in enumerate(rows)
        for j, column in enumerate(columns)
    ]

    def convolved(block: Index) -> A:
        images, kernels = x[block], w[block]
        products = (images[place] * kernels[:, i, j, None, None, None] for i, j, place in places)
        total = next(products)
        for product in products:
            total += product  # in place, since it is a new array
        return total

    def to_x(g: A) -> A:
        # A convolution with the turned kernel, with zeros between and around the gradients.
        axes = zip(reach, strides, g.shape[1:3], strict=True)
        index = (slice(None), *(slice(r, r + s * (n - 1) + 1, s) for r, s, n in axes))
        shape = (channels, x.shape[1] + reach[0], x.shape[2] + reach[1], x.shape[3])
        spread = xp.scatter_add(g, index=index, shape=shape)
        return depthwise(spread, w[:, ::-1, ::-1], (1, 1), dilations)[0]

    def to_w(g: A) -> A:
        vectors = xp.reshape(g, (channels, prod(g.shape[1:]), 1))

        def products(block: Index) -> A:
            images, vector = x[block], vectors[block]
            shape = (vector.shape[0], 1, vector.shape[1])
            parts = [gemm(xp.reshape(images[place], shape), vector) for *_, place in places]
            return xp.concat(parts, axis=1)

        return xp.reshape(xp.concat([products(block) for block in blocks], axis=0), w.shape)

    value = xp.concat([convolved(block) for block in blocks], axis=0)
    if gemm_observers:
        # The product of the kernels and the windows, of which only the shapes count.
        one, size = xp.reshape(w[:, 0, 0], (channels, 1, 1)), len(places)
        windows = xp.broadcast_to(one, (channels, size, prod(value.shape[1:])))
        count_product(xp.broadcast_to(one, (channels, 1, size)), windows)
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
