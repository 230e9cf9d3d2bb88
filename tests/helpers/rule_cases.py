"""The table of all rules with strategies for their arguments.

All elements of operands differ from each other and from 0, so that rules are differentiable there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from inspect import getmembers, isfunction, signature
from math import prod
from pkgutil import iter_modules
from typing import TypeAlias, cast, get_origin

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

import minispore.engine.rules
from minispore.engine.array import Array, HostArray
from minispore.engine.rules import (
    angles,
    arithmetic,
    decompositions,
    elementwise,
    indexing,
    linalg,
    losses,
    normalization,
    pooling,
    recurrent,
    reduction,
    shape,
    unfold,
)
from minispore.utils.checks import as_tuple

Floats: TypeAlias = HostArray
Shape: TypeAlias = tuple[int, ...]
# The operands' shapes, and the rule's other arguments.
Drawn: TypeAlias = tuple[tuple[Shape, ...], tuple[object, ...]]
Outcome: TypeAlias = tuple[Floats, Sequence[Callable[[Floats], Floats] | None]]
Domain: TypeAlias = Callable[[Floats], NDArray[np.generic]]


def anything(x: Floats) -> Floats:
    return x


def away_from_zero(x: Floats) -> Floats:
    return x + 0.5 * np.sign(x)


def positive(x: Floats) -> Floats:
    return np.abs(x) + 0.25


def near_zero(x: Floats) -> Floats:
    return np.tanh(x)


def within_one(x: Floats) -> Floats:
    """Numbers far from -1 and 1, where some derivatives are infinite."""
    return 0.75 * np.tanh(x)


def above_one(x: Floats) -> Floats:
    return np.abs(x) + 1.25


def halves(x: Floats) -> Floats:
    """Numbers that are not multiples of integers."""
    below: Floats = np.floor(8 * x)
    return below + 0.5


def nonzero_integers(x: Floats) -> Floats:
    size: Floats = 1 + np.floor(3 * np.abs(x))
    return np.sign(x) * size


def of_full_rank(x: Floats) -> Floats:
    """Return matrices that are far from singular ones, with different singular values."""
    rows, columns = x.shape[-2:]
    diagonal = np.zeros((rows, columns))
    np.fill_diagonal(diagonal, 3.0 + 2.0 * np.arange(min(rows, columns)))
    return 0.25 * x + diagonal


def definite(x: Floats) -> Floats:
    """Return symmetric positive definite matrices."""
    matrices = of_full_rank(x)
    return (matrices + matrices.mT) / 2.0


def condition(x: Floats) -> NDArray[np.bool_]:
    return x > 0


def of_steps(states: int) -> tuple[Domain, ...]:
    """Inputs, weight and bias, a number of states, and perhaps a mask."""
    return (anything,) * (3 + states) + (condition,)


def all_rules() -> dict[str, Callable[..., object]]:
    """Return all functions of the package that return a value and pullbacks, by name."""
    rules: dict[str, Callable[..., object]] = {}
    for module in iter_modules(minispore.engine.rules.__path__):
        for name, function in getmembers(
            import_module(f"minispore.engine.rules.{module.name}"), isfunction
        ):
            returns_pair = get_origin(signature(function).return_annotation) is tuple
            private = name.startswith("_")
            if returns_pair and not private and function.__module__.endswith(module.name):
                rules[f"{module.name}.{name}"] = function
    return rules


@st.composite
def shapes(draw: st.DrawFn, low: int = 0, axes: int = 0) -> Shape:
    """Draw a shape of at least `axes` axes of lengths of at least `low`."""
    return draw(hnp.array_shapes(min_dims=axes, max_dims=3, min_side=low, max_side=3))


@st.composite
def one(draw: st.DrawFn) -> Drawn:
    return (draw(shapes()),), ()


@st.composite
def broadcasting(draw: st.DrawFn, operands: int = 2) -> Drawn:
    drawn = draw(
        hnp.mutually_broadcastable_shapes(
            num_shapes=operands, min_dims=0, max_dims=3, min_side=0, max_side=3
        )
    )
    return drawn.input_shapes, ()


@st.composite
def reduced(draw: st.DrawFn, low: int = 1) -> Drawn:
    dims = draw(shapes(low))
    places = st.lists(
        st.integers(0, len(dims) - 1).flatmap(lambda i: st.sampled_from([i, i - len(dims)])),
        min_size=1,
        unique_by=lambda i: i % len(dims),
    )
    some = st.one_of(places.map(tuple), places.map(lambda axes: axes[0])) if dims else st.none()
    return (dims,), (draw(st.none() | some), draw(st.booleans()))


@st.composite
def along_axis(draw: st.DrawFn) -> Drawn:
    dims = draw(shapes(1, 1))
    return (dims,), (draw(st.integers(-len(dims), len(dims) - 1)),)


@st.composite
def rows(draw: st.DrawFn) -> Drawn:
    dims = draw(shapes(1, 1))
    return (dims, dims), ()


@st.composite
def classified(draw: st.DrawFn) -> Drawn:
    """Logits, the index of one class of each row, and a reduction."""
    dims = draw(shapes(1, 1))
    reduction = draw(st.sampled_from(["mean", "sum", "none"]))
    classes = st.integers(0, dims[-1] - 1)
    if len(dims) == 1:
        return (dims,), ((draw(classes),), reduction)
    labels = draw(hnp.arrays(np.int64, dims[:-1], elements=classes))
    return (dims,), ((*np.indices(dims[:-1], sparse=True), labels), reduction)


@st.composite
def clipped(draw: st.DrawFn) -> Drawn:
    bounds = (draw(st.sampled_from([None, -0.5123])), draw(st.sampled_from([None, 0.7131])))
    return (draw(shapes()),), bounds


@st.composite
def powers(draw: st.DrawFn) -> Drawn:
    exponents = st.integers(-4, 8).filter(lambda n: n not in {0, 1})
    return (draw(shapes()),), (draw(exponents),)


@st.composite
def reshaped(draw: st.DrawFn) -> Drawn:
    dims = draw(shapes())
    size = prod(dims)
    other = draw(st.sampled_from([dims[::-1], (size,), (1, size), (*dims, 1)]))
    return (dims,), (other,)


@st.composite
def permuted(draw: st.DrawFn) -> Drawn:
    dims = draw(shapes())
    axes = draw(st.permutations(range(len(dims))))
    # Some are negative.
    return (dims,), (tuple(i - len(dims) * draw(st.integers(0, 1)) for i in axes),)


@st.composite
def repeated(draw: st.DrawFn) -> Drawn:
    drawn = draw(hnp.mutually_broadcastable_shapes(num_shapes=1, max_dims=3, max_side=3))
    return drawn.input_shapes, (drawn.result_shape,)


@st.composite
def expanded(draw: st.DrawFn) -> Drawn:
    dims = draw(shapes())
    return (dims,), (draw(st.integers(-len(dims) - 1, len(dims))),)


@st.composite
def squeezed(draw: st.DrawFn) -> Drawn:
    dims = draw(shapes())
    ones = [i for i, n in enumerate(dims) if n == 1]
    some = st.lists(st.sampled_from(ones), unique=True).map(tuple) if ones else st.just(())
    return (dims,), (draw(st.none() | some),)


@st.composite
def joined(draw: st.DrawFn) -> Drawn:
    dims = draw(shapes(axes=1))
    axis = draw(st.integers(-len(dims), len(dims) - 1))
    lengths = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    place = axis % len(dims)
    return tuple((*dims[:place], n, *dims[place + 1 :]) for n in lengths), (axis,)


@st.composite
def stacked(draw: st.DrawFn) -> Drawn:
    dims = draw(shapes())
    return (dims,) * draw(st.integers(1, 3)), (draw(st.integers(-len(dims) - 1, len(dims))),)


@st.composite
def multiplied(draw: st.DrawFn) -> Drawn:
    stacks = draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=3))
    m, k, n = draw(st.tuples(*[st.integers(0, 3)] * 3))
    left, right = stacks.input_shapes
    return ((*left, m, k), (*right, k, n)), ()


@st.composite
def matrices(draw: st.DrawFn, *, square: bool = False, tall: bool = False) -> Drawn:
    """Draw the shape of stacked matrices."""
    rows, columns = draw(st.tuples(*[st.integers(1, 3)] * 2))
    if square or (tall and rows < columns):
        columns = rows
    return ((*draw(shapes(0))[:1], rows, columns),), ()


@st.composite
def neurons(draw: st.DrawFn) -> Drawn:
    n, inputs, outputs = draw(st.tuples(*[st.integers(0, 3)] * 3))
    return ((n, inputs), (outputs, inputs), (outputs,)), ()


@st.composite
def basic_indices(draw: st.DrawFn, dims: Shape) -> tuple[object, ...]:
    """Draw an integer or a slice within bounds for each axis, and maybe new axes between them."""
    items: list[object] = []
    for n in dims:
        if draw(st.integers(0, 5)) == 0:
            items.append(None)
        if n and draw(st.booleans()):
            items.append(draw(st.integers(-n, n - 1)))
        else:
            start, stop = sorted(draw(st.tuples(st.integers(0, n), st.integers(0, n))))
            items.append(slice(start, stop, draw(st.integers(1, 2))))
    return tuple(items)


@st.composite
def indices(draw: st.DrawFn, dims: Shape) -> tuple[object, ...]:
    if dims and 0 not in dims and draw(st.booleans()):
        return draw(hnp.integer_array_indices(dims, result_shape=shapes()))
    if draw(st.integers(0, 3)) == 0:
        return (draw(hnp.arrays(np.bool_, dims)),)
    return draw(basic_indices(dims))


@st.composite
def taken(draw: st.DrawFn) -> Drawn:
    dims = draw(shapes())
    return (dims,), (draw(indices(dims)),)


@st.composite
def scattered(draw: st.DrawFn) -> Drawn:
    dims = draw(shapes())
    index = draw(indices(dims))
    part = np.zeros(dims)[cast("tuple[slice, ...]", index)]
    return (part.shape,), (index, dims)


@st.composite
def windowed(draw: st.DrawFn) -> tuple[Shape, Shape, tuple[int, int, int]]:
    """Draw a shape, the shape of its windows along axis 1, and kernel size, stride and dilation."""
    size, stride, dilation = draw(
        st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 2))
    )
    effective = dilation * (size - 1) + 1
    n, length, m = draw(st.tuples(st.integers(0, 2), st.integers(effective, 6), st.integers(0, 2)))
    count = (length - effective) // stride + 1
    return (n, length, m), (n, count, size, m), (size, stride, dilation)


def unfold_arguments(drawn: tuple[Shape, Shape, tuple[int, int, int]]) -> Drawn:
    dims, _, settings = drawn
    return (dims,), (1, *settings)


def fold_arguments(drawn: tuple[Shape, Shape, tuple[int, int, int]]) -> Drawn:
    dims, parts, (_, stride, dilation) = drawn
    return (parts,), (1, dims[1], stride, dilation)


@st.composite
def depthwise_arguments(draw: st.DrawFn) -> Drawn:
    (channels, height, _), _, (rows, _, down) = draw(windowed())
    (images, width, _), _, (columns, _, right) = draw(windowed())
    channels += 1
    return ((channels, images, height, width), (channels, rows, columns)), ((down, right),)


@st.composite
def steps(draw: st.DrawFn, vectors: int = 1, states: int = 1) -> Drawn:
    """Sequences, with a mask or without."""
    count, n, hidden = draw(st.tuples(*[st.integers(1, 3)] * 3))
    rows = vectors * hidden
    masks = draw(st.sampled_from([(), ((count, n, 1),)]))
    operands = (count, n, rows), (rows, hidden), (rows,)
    return (*operands, *[(n, hidden)] * states, *masks), ()


@st.composite
def along_front_axis(draw: st.DrawFn) -> Drawn:
    dims = draw(shapes(1, 1))
    return (dims,), (draw(st.integers(0, len(dims) - 1)),)


@st.composite
def standardized(draw: st.DrawFn) -> Drawn:
    dims = draw(shapes(1, 1))
    axes = st.lists(st.integers(0, len(dims) - 1), min_size=1, unique=True).map(tuple)
    return (dims,), (draw(axes), 0.125)


@st.composite
def batch_normalized(draw: st.DrawFn) -> Drawn:
    (dims,), (axes, epsilon) = draw(standardized())
    by_channel = tuple(1 if i in as_tuple(axes) else n for i, n in enumerate(dims))
    return (dims, by_channel, by_channel), (axes, epsilon, list)


@st.composite
def layer_normalized(draw: st.DrawFn) -> Drawn:
    dims = draw(shapes(1, 1))
    first, of_weight = draw(st.tuples(*[st.integers(0, len(dims) - 1)] * 2))
    return (dims, dims[of_weight:], dims[of_weight:]), (first, 0.125)


@st.composite
def leaking(draw: st.DrawFn) -> Drawn:
    return (draw(shapes()),), (draw(st.sampled_from([-0.5, 0.0, 0.25, 1.0, 3.0])),)


@dataclass(frozen=True)
class Case:
    """A rule and the strategies for its arguments.

    Attributes:
        rule: The rule.
        drawn: A strategy for the operands' shapes and the other arguments.
        domains: For each operand, a function from numbers between −2 and 2 to valid elements; the
            last one applies to all further operands.
        as_sequence: Whether the rule takes its operands as one sequence.
        dtypes: The types of its operands.
    """

    rule: Callable[..., object]
    drawn: st.SearchStrategy[Drawn] = field(default_factory=one)
    domains: tuple[Domain, ...] = (anything,)
    as_sequence: bool = False
    dtypes: tuple[type[np.floating], ...] = (np.float16, np.float32, np.float64)

    def __call__(self, operands: Sequence[object], args: Sequence[object]) -> Outcome:
        """Return the rule's value and pullbacks, typed as functions of numpy's arrays."""
        first = (tuple(operands),) if self.as_sequence else tuple(operands)
        return cast("Outcome", self.rule(*first, *args))

    def fill(self, operands: Sequence[Shape], rng: np.random.Generator) -> list[Floats]:
        """Return operands whose elements all differ."""
        total = sum(prod(dims) for dims in operands)
        grid = (rng.permutation(total) - total // 2 + 0.25) * (4.0 / max(total, 1))
        filled: list[Floats] = []
        start = 0
        for i, dims in enumerate(operands):
            part = grid[start : start + prod(dims)].reshape(dims)
            domain = self.domains[min(i, len(self.domains) - 1)]
            filled.append(np.asarray(domain(part.astype(np.float64))))
            start += prod(dims)
        return filled


def expected_of(
    case: Case,
    drawn: Drawn,
    dtype: type[np.floating],
    rng: np.random.Generator,
) -> tuple[list[Floats], Floats, list[Floats | None]]:
    """Return operands of a type, a gradient for the value, and numpy's results.

    The results are the value and each operand's gradient, None for an operand without one.
    """
    shapes, args = drawn
    operands = [x if x.dtype == bool else x.astype(dtype) for x in case.fill(shapes, rng)]
    with np.errstate(all="ignore"):
        value, pullbacks = case(operands, args)
        gradient = rng.normal(size=np.shape(value)).astype(dtype)
        expected = [value, *[None if p is None else p(gradient) for p in pullbacks]]
    return operands, gradient, expected


def cast_like(x: Array) -> object:
    """Return the rule `cast` to the operand's own dtype; others lose too many digits."""
    return elementwise.cast(x, x.dtype)


# numpy decomposes matrices in these types alone; operations apply rules of float16 in float32.
WIDE = (np.float32, np.float64)
CASES: dict[str, Case] = {
    "angles.atan2": Case(angles.atan2, broadcasting(), (anything, away_from_zero)),
    "arithmetic.add": Case(arithmetic.add, broadcasting()),
    "arithmetic.subtract": Case(arithmetic.subtract, broadcasting()),
    "arithmetic.multiply": Case(arithmetic.multiply, broadcasting()),
    "arithmetic.divide": Case(arithmetic.divide, broadcasting(), (anything, away_from_zero)),
    "arithmetic.remainder": Case(arithmetic.remainder, broadcasting(), (halves, nonzero_integers)),
    "arithmetic.pow": Case(arithmetic.pow, broadcasting(), (positive, anything)),
    "arithmetic.maximum": Case(arithmetic.maximum, broadcasting()),
    "arithmetic.minimum": Case(arithmetic.minimum, broadcasting()),
    "arithmetic.where": Case(arithmetic.where, broadcasting(3), (condition, anything)),
    "arithmetic.negative": Case(arithmetic.negative),
    "decompositions.inverse": Case(
        decompositions.inverse, matrices(square=True), (of_full_rank,), dtypes=WIDE
    ),
    "decompositions.det": Case(
        decompositions.det, matrices(square=True), (of_full_rank,), dtypes=WIDE
    ),
    "decompositions.slogdet": Case(
        decompositions.slogdet, matrices(square=True), (of_full_rank,), dtypes=WIDE
    ),
    "decompositions.cholesky": Case(
        decompositions.cholesky, matrices(square=True), (definite,), dtypes=WIDE
    ),
    "decompositions.qr": Case(decompositions.qr, matrices(tall=True), (of_full_rank,), dtypes=WIDE),
    "decompositions.singular_values": Case(
        decompositions.singular_values, matrices(), (of_full_rank,), dtypes=WIDE
    ),
    "decompositions.svd": Case(decompositions.svd, matrices(), (of_full_rank,), dtypes=WIDE),
    "elementwise.exp": Case(elementwise.exp),
    "elementwise.log": Case(elementwise.log, domains=(positive,)),
    "elementwise.log1p": Case(elementwise.log1p, domains=(positive,)),
    "elementwise.sqrt": Case(elementwise.sqrt, domains=(positive,)),
    "elementwise.square": Case(elementwise.square),
    "elementwise.integer_power": Case(elementwise.integer_power, powers(), (away_from_zero,)),
    "elementwise.absolute": Case(elementwise.absolute),
    "elementwise.sign": Case(elementwise.sign),
    "elementwise.tanh": Case(elementwise.tanh),
    "elementwise.sin": Case(elementwise.sin),
    "elementwise.cos": Case(elementwise.cos),
    "elementwise.tan": Case(elementwise.tan, domains=(near_zero,)),
    "elementwise.asin": Case(elementwise.asin, domains=(within_one,)),
    "elementwise.acos": Case(elementwise.acos, domains=(within_one,)),
    "elementwise.atan": Case(elementwise.atan),
    "elementwise.asinh": Case(elementwise.asinh),
    "elementwise.acosh": Case(elementwise.acosh, domains=(above_one,)),
    "elementwise.atanh": Case(elementwise.atanh, domains=(within_one,)),
    "elementwise.sigmoid": Case(elementwise.sigmoid),
    "elementwise.softplus": Case(elementwise.softplus),
    "elementwise.relu": Case(elementwise.relu),
    "elementwise.leaky_relu": Case(elementwise.leaky_relu, leaking()),
    "elementwise.clip": Case(elementwise.clip, clipped()),
    "elementwise.cast": Case(cast_like),
    "elementwise.copy": Case(elementwise.copy),
    "elementwise.identity": Case(elementwise.identity),
    "indexing.getitem": Case(indexing.getitem, taken()),
    "indexing.scatter_add": Case(indexing.scatter_add, scattered()),
    "linalg.matmul": Case(linalg.matmul, multiplied()),
    "linalg.dense": Case(linalg.dense, neurons()),
    "losses.cross_entropy": Case(losses.cross_entropy, classified()),
    "losses.softmax_cross_entropy": Case(losses.softmax_cross_entropy, rows()),
    "normalization.batch_norm": Case(normalization.batch_norm, batch_normalized()),
    "normalization.layer_norm": Case(normalization.layer_norm, layer_normalized()),
    "normalization.standardize": Case(normalization.standardize, standardized()),
    "recurrent.rnn_tanh": Case(recurrent.rnn_tanh, steps(), of_steps(1), as_sequence=True),
    "recurrent.rnn_relu": Case(recurrent.rnn_relu, steps(), of_steps(1), as_sequence=True),
    "recurrent.gru": Case(recurrent.gru, steps(3), of_steps(1), as_sequence=True),
    "recurrent.lstm": Case(recurrent.lstm, steps(4, 2), of_steps(2), as_sequence=True),
    "pooling.sum_over_window": Case(pooling.sum_over_window, along_front_axis()),
    "reduction.sum": Case(reduction.sum, reduced(0)),
    "reduction.cumsum": Case(reduction.cumsum, along_front_axis()),
    "reduction.mean": Case(reduction.mean, reduced()),
    "reduction.max": Case(reduction.max, reduced()),
    "reduction.min": Case(reduction.min, reduced()),
    "reduction.logsumexp": Case(reduction.logsumexp, reduced()),
    "reduction.softmax": Case(reduction.softmax, along_axis()),
    "reduction.log_softmax": Case(reduction.log_softmax, along_axis()),
    "shape.reshape": Case(shape.reshape, reshaped()),
    "shape.permute": Case(shape.permute, permuted()),
    "shape.broadcast_to": Case(shape.broadcast_to, repeated()),
    "shape.expand_dims": Case(shape.expand_dims, expanded()),
    "shape.squeeze": Case(shape.squeeze, squeezed()),
    "shape.concat": Case(shape.concat, joined(), as_sequence=True),
    "shape.stack": Case(shape.stack, stacked(), as_sequence=True),
    "unfold.unfold": Case(unfold.unfold, windowed().map(unfold_arguments)),
    "unfold.fold": Case(unfold.fold, windowed().map(fold_arguments)),
    "unfold.depthwise": Case(unfold.depthwise, depthwise_arguments()),
    "unfold.max_over_window": Case(unfold.max_over_window, along_front_axis()),
}
# The default for rules of one operand: any numbers.
CASES.update(
    (name, Case(rule))
    for name, rule in all_rules().items()
    if name.startswith(("elementwise.", "normal.")) and name not in CASES
)
