"""Random calls of operations: operands of valid shapes, and the other arguments."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from minispore.ops import operations
from minispore.testing import strategies as mst

Array: TypeAlias = NDArray[Any]
Shape: TypeAlias = tuple[int, ...]
# MindSpore's 1.x form of operations.
PRIMITIVES = [
    name
    for name in dir(operations)
    if not name.endswith("Summary") and name not in {"GradOperation", "MultitypeFuncGraph"}
]
generators = st.integers(0, 9999).map(np.random.default_rng)


@dataclass(frozen=True)
class Call:
    """The arguments of a call.

    Attributes:
        operands: The operands, which become tensors; floats are differentiated.
        args: The arguments after them.
        as_list: Whether the operands are passed as one list.
    """

    operands: tuple[Array, ...]
    args: tuple[object, ...] = ()
    as_list: bool = False


def numbers(rng: np.random.Generator, shape: Shape) -> Array:
    """Return distinct numbers of both signs, at which no operation has a kink."""
    size = int(np.prod(shape))
    grid = rng.permutation(size) - size // 2 + 0.25
    return np.asarray(grid.reshape(shape) * (4.0 / max(size, 1)), np.float64)


def divisors(rng: np.random.Generator, shape: Shape) -> Array:
    """Return numbers of which no quotient with one of `numbers` is near an integer."""
    return np.asarray(numbers(rng, shape) * 0.5**0.5, np.float64)


def positive(rng: np.random.Generator, shape: Shape) -> Array:
    return np.abs(numbers(rng, shape)) + 0.25


def within_one(rng: np.random.Generator, shape: Shape) -> Array:
    """Numbers between -1 and 1, where inverse functions of sines are differentiable."""
    return 0.9 * np.tanh(numbers(rng, shape))


def above_one(rng: np.random.Generator, shape: Shape) -> Array:
    return positive(rng, shape) + 1.0


def whole(rng: np.random.Generator, shape: Shape) -> Array:
    return np.asarray(rng.integers(-9, 10, shape))


def truths(rng: np.random.Generator, shape: Shape) -> Array:
    return np.asarray(rng.random(shape) < 0.5)


Fill: TypeAlias = Callable[[np.random.Generator, Shape], Array]


@st.composite
def of_one(draw: st.DrawFn, fill: Fill = numbers, *args: st.SearchStrategy[object]) -> Call:
    drawn = tuple(draw(strategy) for strategy in args)
    return Call((fill(draw(generators), draw(mst.shapes())),), drawn)


@st.composite
def of_several(draw: st.DrawFn, *fills: Fill) -> Call:
    """Draw operands that broadcast together."""
    drawn = draw(hnp.mutually_broadcastable_shapes(num_shapes=len(fills), max_dims=3, max_side=3))
    rng = draw(generators)
    pairs = zip(fills, drawn.input_shapes, strict=True)
    return Call(tuple(fill(rng, shape) for fill, shape in pairs))


@st.composite
def of_lengths(draw: st.DrawFn, *shapes: str, fill: Fill = numbers) -> Call:
    """Draw operands whose lengths are equal where the letters in their shapes are."""
    lengths = {letter: draw(st.integers(1, 3)) for letter in sorted({*"".join(shapes)})}
    rng = draw(generators)
    return Call(tuple(fill(rng, tuple(lengths[letter] for letter in shape)) for shape in shapes))


def reversed_arguments(call: Call) -> Call:
    return Call(call.operands, call.args[::-1])


def without_last(call: Call) -> Call:
    return Call(call.operands[:-1], call.args)


@st.composite
def diagonals(draw: st.DrawFn) -> Call:
    shape = draw(mst.shapes(2, 4, 1))
    first, second, *_ = draw(st.permutations(range(len(shape))))
    return Call(
        (numbers(draw(generators), shape),),
        (draw(st.integers(-3, 3)), first - len(shape) * draw(st.integers(0, 1)), second),
    )


@st.composite
def scattered(draw: st.DrawFn) -> Call:
    """Draw an operand, indices that differ along an axis, and the elements to put there."""
    rng, shape = draw(generators), draw(mst.shapes(1, 3, 1))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    index = rng.random(shape).argsort(axis)
    return Call((numbers(rng, shape), index, numbers(rng, shape)), (axis,))


@st.composite
def along(
    draw: st.DrawFn, *more: st.SearchStrategy[object], fill: Fill = numbers, beyond: int = 0
) -> Call:
    """Draw an operand, an axis, counted from either end, and the arguments after it."""
    shape = draw(mst.shapes(1 - beyond, 3, 1))
    axis = draw(st.integers(-len(shape) - beyond, len(shape) + beyond - 1))
    return Call((fill(draw(generators), shape),), (axis, *(draw(strategy) for strategy in more)))


@st.composite
def over(draw: st.DrawFn, fill: Fill = numbers) -> Call:
    """Draw an operand; no axis, one, or several; and `keepdims`."""
    shape = draw(mst.shapes(1, 3, 1))
    some = st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True)
    axes = some.map(lambda listed: tuple(i - len(shape) * (i % 2) for i in listed))
    axis = draw(st.none() | axes.map(lambda listed: listed[0]) | axes)
    return Call((fill(draw(generators), shape),), (axis, draw(st.booleans())))


@st.composite
def reshaped(draw: st.DrawFn) -> Call:
    shape = draw(mst.shapes(0, 3, 1))
    others: list[Shape] = [shape[::-1], (-1,), (1, -1), (*shape, 1)]
    return Call((numbers(draw(generators), shape),), (draw(st.sampled_from(others)),))


@st.composite
def permuted(draw: st.DrawFn) -> Call:
    shape = draw(mst.shapes(1, 3))
    order = draw(st.permutations(range(len(shape))))
    signs = draw(st.lists(st.booleans(), min_size=len(shape), max_size=len(shape)))
    axes = tuple(i - len(shape) * sign for i, sign in zip(order, signs, strict=True))
    return Call((numbers(draw(generators), shape),), (axes,))


@st.composite
def broadcast(draw: st.DrawFn) -> Call:
    drawn = draw(hnp.mutually_broadcastable_shapes(num_shapes=1, max_dims=3, max_side=3))
    shape, target = drawn.input_shapes[0], drawn.result_shape
    new = tuple(-1 if n == m and draw(st.booleans()) else m for n, m in _from_behind(shape, target))
    return Call((numbers(draw(generators), shape),), (new,))


def _from_behind(shape: Shape, target: Shape) -> list[tuple[int, int]]:
    return list(zip((0,) * (len(target) - len(shape)) + shape, target, strict=True))


@st.composite
def squeezed(draw: st.DrawFn) -> Call:
    shape = draw(mst.shapes(0, 4, 1, 2))
    ones = [i for i, n in enumerate(shape) if n == 1]
    some = (
        st.lists(st.sampled_from(ones), min_size=1, unique=True).map(tuple) if ones else st.none()
    )
    axis = draw(st.none() | some)
    return Call((numbers(draw(generators), shape),), () if axis is None else (axis,))


@st.composite
def flattened(draw: st.DrawFn) -> Call:
    shape = draw(mst.shapes(2, 4))
    start, end = sorted(draw(st.tuples(*[st.integers(0, len(shape) - 1)] * 2)))
    return Call((numbers(draw(generators), shape),), (start, end - len(shape)))


@st.composite
def swapped(draw: st.DrawFn) -> Call:
    shape = draw(mst.shapes(1, 3))
    axes = st.integers(-len(shape), len(shape) - 1)
    return Call((numbers(draw(generators), shape),), (draw(axes), draw(axes)))


@st.composite
def joined(draw: st.DrawFn, *, stacked: bool = False) -> Call:
    shape = draw(mst.shapes(0 if stacked else 1, 3, 1))
    rng, count = draw(generators), draw(st.integers(1, 3))
    axis = draw(st.integers(-len(shape) - stacked, len(shape) - 1 + stacked))
    parts = tuple(numbers(rng, shape) for _ in range(count))
    return Call(parts, (axis,), as_list=True)


@st.composite
def cut(draw: st.DrawFn) -> Call:
    shape = draw(mst.shapes(1, 3, 1))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    first = draw(st.integers(0, shape[axis]))
    sizes = draw(st.integers(1, 3) | st.just([first, shape[axis] - first]))
    return Call((numbers(draw(generators), shape),), (sizes, axis))


@st.composite
def products(draw: st.DrawFn) -> Call:
    stacks = draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=3))
    m, k, n = draw(st.tuples(*[st.integers(1, 3)] * 3))
    before, after = stacks.input_shapes
    sides: list[tuple[Shape, Shape]] = [
        ((*before, m, k), (*after, k, n)),
        ((k,), (k, n)),
        ((m, k), (k,)),
        ((k,), (k,)),
    ]
    left, right = draw(st.sampled_from(sides))
    rng = draw(generators)
    return Call((numbers(rng, left), numbers(rng, right)))


@st.composite
def stacks_of_matrices(draw: st.DrawFn) -> Call:
    count, m, k, n = draw(st.tuples(*[st.integers(1, 3)] * 4))
    rng = draw(generators)
    return Call((numbers(rng, (count, m, k)), numbers(rng, (count, k, n))))


@st.composite
def neurons(draw: st.DrawFn) -> Call:
    rng, first = draw(generators), draw(mst.shapes(0, 2, 1))
    inputs, outputs = draw(st.tuples(*[st.integers(1, 3)] * 2))
    operands = [(*first, inputs), (outputs, inputs), (outputs,)]
    return Call(tuple(numbers(rng, shape) for shape in operands[: draw(st.integers(2, 3))]))


@st.composite
def gathered(draw: st.DrawFn, axes: int | None = None) -> Call:
    """Draw an operand, indices, with as many axes as required, and an axis."""
    rng, shape = draw(generators), draw(mst.shapes(1, 3, 1))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    index = rng.integers(0, shape[axis], draw(mst.shapes(axes or 0, axes or 2)))
    return Call((numbers(rng, shape), np.asarray(index)), (axis,))


@st.composite
def gathered_elements(draw: st.DrawFn) -> Call:
    rng, shape = draw(generators), draw(mst.shapes(1, 3, 1))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    sides = list(shape)
    sides[axis] = draw(st.integers(1, 4))
    return Call((numbers(rng, shape), np.asarray(rng.integers(0, shape[axis], sides))), (axis,))


@st.composite
def positions(draw: st.DrawFn) -> Call:
    """Draw an operand and the indices of some of its elements or slices."""
    rng, shape = draw(generators), draw(mst.shapes(1, 3, 1))
    axes = draw(st.integers(1, len(shape)))
    index = rng.integers(0, shape[:axes], (*draw(mst.shapes(0, 2, 1)), axes))
    return Call((numbers(rng, shape), index))


@st.composite
def segments(draw: st.DrawFn) -> Call:
    """Draw an operand, the number of the sum of each slice, and the number of sums."""
    rng, shape, count = draw(generators), draw(mst.shapes(1, 3, 1)), draw(st.integers(1, 4))
    return Call((numbers(rng, shape), np.asarray(rng.integers(0, count, shape[0]))), (count,))


@st.composite
def probabilities(draw: st.DrawFn, *more: st.SearchStrategy[object]) -> Call:
    """Draw two operands of one shape, of numbers between 0 and 1, and the other arguments."""
    rng, shape = draw(generators), draw(mst.shapes(1, 3, 1))
    both = 0.05 + 0.9 * rng.random((2, *shape))
    return Call((both[0], both[1]), tuple(draw(strategy) for strategy in more))


@st.composite
def classes(draw: st.DrawFn) -> Call:
    rng, depth = draw(generators), draw(st.integers(1, 4))
    return Call((np.asarray(rng.integers(0, depth, draw(mst.shapes(0, 2)))),), (depth,))


@st.composite
def shares(draw: st.DrawFn) -> Call:
    """Draw logits, their targets, two weights, and a reduction."""
    rng, shape = draw(generators), draw(mst.shapes(0, 3, 1))
    reduction = draw(st.sampled_from(["mean", "sum", "none"]))
    factors = positive(rng, shape), positive(rng, shape[1:])
    return Call((numbers(rng, shape), rng.random(shape), *factors), (reduction,))


@st.composite
def rows(draw: st.DrawFn) -> Call:
    rng, shape = draw(generators), (*draw(mst.shapes(0, 2, 1)), draw(st.integers(1, 4)))
    return Call((numbers(rng, shape), rng.dirichlet(np.ones(shape[-1]), shape[:-1])))


@st.composite
def two_alike(draw: st.DrawFn, *more: st.SearchStrategy[object]) -> Call:
    """Draw two operands of one shape whose elements all differ, and the other arguments."""
    rng, shape = draw(generators), draw(mst.shapes(0, 3, 1))
    both = numbers(rng, (2, *shape))
    return Call((both[0], both[1]), tuple(draw(strategy) for strategy in more))


@st.composite
def chosen(draw: st.DrawFn) -> Call:
    rng, shape = draw(generators), draw(mst.shapes(1, 3, 1))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    count = draw(st.integers(1, shape[axis]))
    fill = draw(st.sampled_from([numbers, distinct]))
    return Call((fill(rng, shape),), (count, axis, draw(st.booleans())))


def distinct(rng: np.random.Generator, shape: Shape) -> Array:
    return np.asarray(rng.permutation(int(np.prod(shape))).reshape(shape))


@st.composite
def spread(draw: st.DrawFn) -> Call:
    """Draw an operand; no axis, one, or several, with several elements; `ddof`; `keepdims`."""
    rng, shape = draw(generators), draw(mst.shapes(1, 3, 2))
    one = st.integers(-len(shape), len(shape) - 1)
    axis = draw(st.none() | one | st.just(tuple({0, len(shape) - 1})))
    return Call((numbers(rng, shape),), (axis, draw(st.integers(0, 1)), draw(st.booleans())))


@st.composite
def of_vectors(draw: st.DrawFn) -> Call:
    rng, shape = draw(generators), draw(mst.shapes(1, 3, 1))
    order = draw(st.sampled_from([None, 1, 2, 3, 0.5, -1, np.inf, -np.inf]))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    return Call((numbers(rng, shape),), (order, axis, draw(st.booleans())))


@st.composite
def of_matrices(draw: st.DrawFn) -> Call:
    """Draw an operand with an order of norms, of all elements or of matrices in two axes."""
    rng, shape = draw(generators), draw(mst.shapes(2, 3, 1))
    axes = draw(st.permutations(range(len(shape))))[:2]
    order = draw(st.sampled_from([None, "fro", "nuc", 1, -1, 2, np.inf, -np.inf]))
    everything = order is None and draw(st.booleans())
    return Call(
        (numbers(rng, shape),), (order, None if everything else tuple(axes), draw(st.booleans()))
    )


@st.composite
def masked(draw: st.DrawFn) -> Call:
    drawn = draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
    rng, (shape, other) = draw(generators), drawn.input_shapes
    return Call((numbers(rng, shape), truths(rng, other), numbers(rng, ())))


@st.composite
def matrices(draw: st.DrawFn) -> Call:
    rng, fill = draw(generators), draw(st.sampled_from([numbers, whole, truths]))
    return Call((fill(rng, draw(mst.shapes(2, 3, 1, 4))),), (draw(st.integers(-5, 5)),))


@st.composite
def tiled(draw: st.DrawFn) -> Call:
    counts = draw(st.lists(st.integers(0, 3), max_size=4).map(tuple))
    return Call((numbers(draw(generators), draw(mst.shapes(0, 3, 1))),), (counts,))


@st.composite
def flipped(draw: st.DrawFn) -> Call:
    shape = draw(mst.shapes(0, 3, 1))
    axes = draw(st.lists(st.integers(0, len(shape) - 1), unique=True)) if shape else []
    signed = tuple(i - len(shape) * draw(st.integers(0, 1)) for i in axes)
    return Call((numbers(draw(generators), shape),), (signed,))


@st.composite
def interleaved(draw: st.DrawFn) -> Call:
    shape = draw(mst.shapes(1, 3, 1))
    axis = draw(st.none() | st.integers(-len(shape), len(shape) - 1))
    length = int(np.prod(shape)) if axis is None else shape[axis]
    per_element = st.lists(st.integers(0, 3), min_size=length, max_size=length).map(tuple)
    return Call((numbers(draw(generators), shape),), (draw(st.integers(0, 3) | per_element), axis))


@st.composite
def of_equal_shapes(draw: st.DrawFn) -> Call:
    """Draw a list of operands of one shape, also without axes."""
    rng, shape, count = draw(generators), draw(mst.shapes(0, 3, 1)), draw(st.integers(1, 3))
    return Call(tuple(numbers(rng, shape) for _ in range(count)), as_list=True)


@st.composite
def full_rank(
    draw: st.DrawFn, *args: object, rows: int = 0, columns: int = 0, symmetric: bool = False
) -> Call:
    """Draw matrices with different singular values, far from singular ones."""
    side = draw(st.integers(1, 3))
    matrix = numbers(draw(generators), (*draw(mst.shapes(0, 1, 1)), rows or side, columns or side))
    larger = 0.25 * matrix
    if symmetric:
        larger = (larger + larger.mT) / 2
    diagonal = np.eye(*matrix.shape[-2:]) * np.arange(3.0, 3.0 + matrix.shape[-1])
    return Call((larger + diagonal,), args)


@st.composite
def triples(draw: st.DrawFn) -> Call:
    """Draw two operands that broadcast, with an axis of length 3, and the axis."""
    drawn = draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=3))
    rng, (x, y) = draw(generators), drawn.input_shapes
    return Call((numbers(rng, (*x, 3)), numbers(rng, (*y, 3))), (-1,))


@st.composite
def occurrences(draw: st.DrawFn) -> Call:
    """Draw whole numbers, a weight of each, and the least number of sums."""
    rng, count = draw(generators), draw(st.integers(1, 6))
    numbers_of = np.asarray(rng.integers(0, 4, count))
    return Call((numbers_of, numbers(rng, (count,))), (draw(st.integers(0, 6)),))


@st.composite
def embedded(draw: st.DrawFn) -> Call:
    shape = draw(mst.shapes(1, 3, 1))
    first, second, *_ = draw(st.permutations(range(-len(shape) - 1, 0)))
    return Call((numbers(draw(generators), shape),), (draw(st.integers(-2, 2)), first, second))


def extraordinary(rng: np.random.Generator, shape: Shape) -> Array:
    """Return numbers, some of which are NaN or infinite."""
    rest = rng.choice([np.nan, np.inf, -np.inf], shape)
    return np.where(rng.random(shape) < 0.3, rest, numbers(rng, shape))


@st.composite
def windows(draw: st.DrawFn) -> tuple[Shape, tuple[object, ...], int]:
    """Draw the size of images, the arguments for windows over them, and the number of windows."""
    kernel, stride, padding, spread = (
        draw(st.tuples(*[st.integers(low, high)] * 2))
        for low, high in ((1, 2), (1, 2), (0, 1), (1, 2))
    )
    size = draw(st.tuples(*[st.integers(3, 5)] * 2))
    counts = [
        (size[i] + 2 * padding[i] - spread[i] * (kernel[i] - 1) - 1) // stride[i] + 1
        for i in range(2)
    ]
    return size, (kernel, spread, padding, stride), counts[0] * counts[1]


@st.composite
def unfolded(draw: st.DrawFn) -> Call:
    size, arguments, _ = draw(windows())
    channels = draw(st.integers(1, 2))
    return Call((numbers(draw(generators), (2, channels, *size)),), arguments)


@st.composite
def folded(draw: st.DrawFn) -> Call:
    size, arguments, count = draw(windows())
    channels = draw(st.integers(1, 2))
    kernel = int(np.prod(np.asarray(arguments[0])))
    patches = numbers(draw(generators), (2, channels * kernel, count))
    return Call((patches,), (size, *arguments))


@st.composite
def pixels(draw: st.DrawFn, *, back: bool = False) -> Call:
    """Draw images whose channels, or sizes if `back`, are divisible, and a factor."""
    factor, (n, height, width) = draw(st.integers(1, 3)), draw(st.tuples(*[st.integers(1, 2)] * 3))
    shape = (n, height * factor, width * factor) if back else (n * factor**2, height, width)
    return Call((numbers(draw(generators), (*draw(mst.shapes(0, 1, 1)), *shape)),), (factor,))


@st.composite
def transposed_convolution(draw: st.DrawFn) -> Call:
    """Draw images, kernels and biases, and the arguments after them."""
    rng, groups = draw(generators), draw(st.integers(1, 2))
    inner, outer, n = draw(st.tuples(*[st.integers(1, 2)] * 3))
    height, width, rows, columns = draw(st.tuples(*[st.integers(2, 3)] * 4))
    stride, spread = draw(st.tuples(*[st.integers(1, 2)] * 2))
    padding = draw(st.integers(0, 1))
    more = draw(st.integers(0, max(stride, spread) - 1))
    batch = draw(st.sampled_from([(), (n,)]))
    return Call(
        (
            numbers(rng, (*batch, inner * groups, height, width)),
            numbers(rng, (inner * groups, outer, rows, columns)),
            numbers(rng, (outer * groups,)),
        ),
        (stride, padding, more, groups, spread),
    )


@st.composite
def placed(draw: st.DrawFn, *, into: bool = False) -> Call:
    """Draw positions and elements or slices to add there; before them an operand, or its shape."""
    found = draw(positions())
    x, index = found.operands
    if index.ndim < 2:
        index = index[None]
    rng, shape = draw(generators), (*index.shape[:-1], *x.shape[index.shape[-1] :])
    updates = numbers(rng, shape)
    return Call((x, index, updates)) if into else Call((index, updates), (x.shape,))


@st.composite
def in_sorted_rows(draw: st.DrawFn) -> Call:
    """Draw sorted numbers, of one row or several, the numbers to find in them, and the side."""
    rng, (n, m, k) = draw(generators), draw(st.tuples(*[st.integers(1, 4)] * 3))
    rows = (k, n) if draw(st.booleans()) else (n,)
    values = whole(rng, (k, m))
    return Call((np.sort(whole(rng, rows), -1), values), (draw(st.booleans()),))
