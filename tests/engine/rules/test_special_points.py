"""Values, first and second derivatives of each rule at special points.

These are zeros, ones, equal elements, and tiny and huge numbers: in float64 against finite
differences, and in float32 against float64. A rule that is not smooth at one of them, or less
accurate, has a row in `ROWS`, which states the derivatives where none exists; the others have the
default row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import cast

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from minispore import Tensor, ops
from minispore.ops import grad
from tests.helpers.array_backends import to_numpy
from tests.helpers.rule_cases import CASES, Case, Floats, condition

# Those of linear rules are zero.
pytestmark = pytest.mark.filterwarnings("ignore:The gradients are all zero:UserWarning")
INF, NAN = float("inf"), float("nan")
STEP = 1e-4
# Near 1, derivatives such as 1 / sqrt(1 - x * x) lose digits.
BELOW = float(np.nextafter(np.float32(1), np.float32(0)))
MODERATE = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)
EXTREME = (
    1e-30,
    1e-20,
    1e-10,
    1e-4,
    0.01,
    0.9999,
    BELOW,
    2 - BELOW,
    6.0,
    20.0,
    80.0,
    1e4,
    1e10,
    1e20,
    1e30,
)
UNARY = (*MODERATE, *EXTREME, *(-x for x in EXTREME))
BINARY = (*MODERATE, 1e-12, -1e-10, 1e-4, 20.0, -1e10, 1e20)


# Of which the matrices, windows and rows of `CASES` are filled.
PATTERNS: dict[str, tuple[float, ...]] = {
    "zeros": (0.0,),
    "ones": (1.0,),
    "pairs": (1.0, 1.0, -2.0),
    "one zero": (0.7, 0.0, -0.3, 1.1),
    "tiny": (1e-30, 2e-30, 3e-30),
    "huge": (1e10, 2e10, 3e10, 1e10),
    "wide": (80.0, -80.0, 20.0, 1e-4),
}
SMOOTH = ("zeros", "ones", "pairs", "one zero")
Stated = dict[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True)
class Row:
    """What is particular about a rule.

    Attributes:
        args: The arguments after the operands, of a rule that is applied to each element.
        stated: The first and then the second derivatives where the rule has none: those by each
            operand in turn, and by each pair.
        undefined: Whether there is no derivative at a point, or none that float32 can compute.
        absolute: The error of the value, the first and the second derivatives in float32 that is
            accepted even if they are smaller than 1, in units of its precision.
        relative: The relative error in float32 that is accepted, in units of its precision.
        kink: Whether equal elements have no derivative.
    """

    args: tuple[object, ...] = ()
    stated: Stated = field(default_factory=Stated)
    undefined: Callable[..., bool] = lambda *_: False
    absolute: tuple[int, int, int] = (0, 0, 0)
    relative: int = 100
    kink: bool = False


ROWS: dict[str, Row] = {
    "arithmetic.divide": Row(
        stated={(1.0, 0.0): (INF, -INF), (-1.0, 0.0): (INF, INF), (0.0, 2.0): (0.5, 0.0)},
        undefined=lambda _, y: y == 0,
    ),
    "arithmetic.remainder": Row(
        stated={(4.0, 2.0): (1.0, -2.0, 0.0, 0.0, 0.0, 0.0)},
        undefined=lambda x, y: y == 0 or x % y == 0 or abs(x / y) > 1e6 or 0 < abs(x / y) < 1e-6,
    ),
    # By the limit where there is one: the derivative of 0ʸ by y is 0, and −∞ for y < 0.
    "arithmetic.pow": Row(
        stated={
            (0.0, 0.0): (0.0, 0.0),
            (0.0, 0.5): (INF, 0.0),
            (0.0, 1.0): (1.0, 0.0),
            (0.0, 2.0): (0.0, 0.0),
            (0.0, -1.0): (-INF, -INF),
            (-2.0, 2.0): (-4.0, NAN, 2.0),
            (-2.0, 3.0): (12.0, NAN, -12.0),
            (-2.0, 0.5): (NAN, NAN),
        },
        undefined=lambda x, _: x <= 0,
    ),
    "arithmetic.maximum": Row(
        stated={(1.0, 1.0): (0.5, 0.5, 0.0, 0.0, 0.0, 0.0)}, undefined=lambda x, y: x == y
    ),
    "arithmetic.minimum": Row(
        stated={(0.0, 0.0): (0.5, 0.5, 0.0, 0.0, 0.0, 0.0)}, undefined=lambda x, y: x == y
    ),
    "elementwise.integer_power of 4": Row(args=(4,)),
    "elementwise.integer_power of -3": Row(
        args=(-3,), stated={(0.0,): (-INF,)}, undefined=lambda x: x == 0
    ),
    "elementwise.log": Row(stated={(0.0,): (INF, -INF)}, undefined=lambda x: x <= 0),
    "elementwise.sqrt": Row(stated={(0.0,): (INF, -INF)}, undefined=lambda x: x <= 0),
    "elementwise.log1p": Row(stated={(-1.0,): (INF, -INF)}, undefined=lambda x: x <= -1),
    "elementwise.absolute": Row(stated={(0.0,): (0.0, 0.0)}, undefined=lambda x: x == 0),
    "elementwise.sign": Row(stated={(0.0,): (0.0, 0.0)}, undefined=lambda x: x == 0),
    "elementwise.relu": Row(stated={(0.0,): (0.0, 0.0)}, undefined=lambda x: x == 0),
    "elementwise.leaky_relu": Row(
        args=(0.2,), stated={(0.0,): (0.6, 0.0)}, undefined=lambda x: x == 0
    ),
    "elementwise.clip": Row(
        args=(-1.0, 1.0),
        stated={(-1.0,): (1.0, 0.0), (1.0,): (1.0, 0.0)},
        undefined=lambda x: abs(x) == 1,
    ),
    # Near 1, the difference 1 − x² has fewer digits than x.
    "elementwise.asin": Row(
        stated={(-1.0,): (INF, -INF), (1.0,): (INF, INF), (2.0,): (NAN, NAN)},
        undefined=lambda x: abs(x) >= 1,
        relative=1000,
    ),
    "elementwise.acos": Row(
        stated={(-1.0,): (-INF, INF), (1.0,): (-INF, -INF), (2.0,): (NAN, NAN)},
        undefined=lambda x: abs(x) >= 1,
        relative=1000,
    ),
    "elementwise.acosh": Row(
        stated={(1.0,): (INF,), (0.5,): (NAN, NAN), (-2.0,): (NAN, NAN)},
        undefined=lambda x: x <= 1,
    ),
    "elementwise.asinh": Row(stated={(-INF,): (0.0,), (INF,): (0.0,)}),
    "elementwise.atanh": Row(
        stated={(-1.0,): (INF, -INF), (1.0,): (INF, INF)},
        undefined=lambda x: abs(x) >= 1,
        relative=1000,
    ),
    # What is small is the difference of two larger numbers, so that it is fast.
    "elementwise.tanh": Row(absolute=(0, 0, 1)),
    "elementwise.sigmoid": Row(absolute=(0, 0, 1)),
    "elementwise.softplus": Row(absolute=(0, 0, 1)),
    "elementwise.softsign": Row(stated={(0.0,): (1.0, 0.0)}, undefined=lambda x: x == 0),
    # The weights, 80, multiply the rounding errors of each step before.
    "recurrent.rnn_tanh": Row(relative=20_000),
    "recurrent.rnn_relu": Row(relative=20_000, kink=True),
    "recurrent.gru": Row(relative=20_000),
    "recurrent.lstm": Row(relative=20_000),
    "reduction.max": Row(kink=True),
    "reduction.min": Row(kink=True),
    "unfold.max_over_window": Row(kink=True),
}


def rule_of(name: str) -> str:
    """Return the rule of a row: several rows of a rule have its name and more words."""
    return name.partition(" ")[0]


POINTWISE = [
    name
    for name in sorted({*ROWS, *(CASES.keys() - {rule_of(row) for row in ROWS})})
    if name.startswith(("arithmetic.", "elementwise.", "normal.")) and name != "arithmetic.where"
]
# They have no derivative at most of the patterns: these matrices are singular, and the angle of the
# point 0 is arbitrary. The rules are tested at other points.
SINGULAR = [name for name in CASES if name.startswith(("angles.", "decompositions."))]
ARRAYS = [name for name in CASES if name not in {*map(rule_of, POINTWISE), *SINGULAR}]


@dataclass(frozen=True)
class Application:
    """A rule with its arguments, at a point.

    Attributes:
        case: The rule.
        args: The arguments after the operands.
        operands: The point.
        pointwise: Whether it is applied to each element of operands of the same shape.
    """

    case: Case
    args: tuple[object, ...]
    operands: Sequence[Floats]
    pointwise: bool

    def moved(self, j: int, step: Floats) -> "Application":
        point = [x + step if i == j else x for i, x in enumerate(self.operands)]
        return replace(self, operands=point)

    def weights(self, like: Floats) -> Floats:
        """Return the cotangent: ones, so that the gradients of a pointwise rule are derivatives."""
        ones = np.ones_like(like)
        return ones if self.pointwise else np.asarray(np.cos(np.cumsum(ones)).reshape(ones.shape))

    def by(self) -> list[int]:
        """Return the indices of the operands that have a gradient."""
        return [i for i, p in enumerate(self.case(self.operands, self.args)[1]) if p is not None]

    def value_and_gradients(self) -> list[Floats]:
        """Return the value, and the gradient of its weighted sum by each operand."""
        value, pullbacks = self.case(self.operands, self.args)
        seed = self.weights(value)
        return [to_numpy(value), *[to_numpy(p(seed)) for p in pullbacks if p is not None]]

    def second_derivatives(self) -> list[Floats]:
        """Return the gradients of the weighted sum of each gradient."""
        value, *gradients = self.value_and_gradients()
        second: list[Floats] = []
        for i, gradient in zip(self.by(), gradients, strict=True):

            def total(*tensors: Tensor, i: int = i, gradient: Floats = gradient) -> Tensor:
                pullback = self.case(tensors, self.args)[1][i]
                assert pullback is not None
                back = pullback(cast("Floats", Tensor(self.weights(value))))
                return ops.sum(cast("Tensor", back) * Tensor(self.weights(gradient)))

            tensors = [Tensor(x) for x in self.operands]
            second += [to_numpy(grad(total, j)(*tensors).asnumpy()) for j in self.by()]
        return second

    def differences(self) -> list[Floats]:
        """Return what the gradients and the second derivatives are, by finite differences."""
        changes = [self._changes(j) for j in self.by()]
        return [change for by_result in zip(*changes, strict=True) for change in by_result]

    def _changes(self, j: int) -> list[Floats]:
        """Return the derivatives of the value and the gradients by one operand."""
        x = self.operands[j]
        if self.pointwise:
            return self._extrapolated(j, np.ones_like(x))
        units = np.eye(x.size).reshape(x.size, *x.shape)
        rows = [self._extrapolated(j, unit) for unit in units]
        sums = [[np.sum(y * self.weights(y)) for y in row] for row in rows]
        count = 1 + len(self.by())
        return [np.reshape([row[i] for row in sums], x.shape) for i in range(count)]

    def _extrapolated(self, j: int, direction: Floats) -> list[Floats]:
        whole, half = (self._central(j, step * direction) for step in (STEP, STEP / 2))
        return [(4 * y - x) / (3 * STEP) for x, y in zip(whole, half, strict=True)]

    def _central(self, j: int, step: Floats) -> list[Floats]:
        ahead = self.moved(j, step).value_and_gradients()
        behind = self.moved(j, -step).value_and_gradients()
        size = float(np.max(np.abs(step))) / STEP
        return [(x - y) / (2 * size) for x, y in zip(ahead, behind, strict=True)]


def assert_derivatives_are_differences(point: Application, defined: Floats) -> None:
    """Assert it for the elements of a pointwise rule that are defined, or for all elements."""
    derivatives = [*point.value_and_gradients()[1:], *point.second_derivatives()]
    for actual, expected in zip(derivatives, point.differences(), strict=True):
        where = np.broadcast_to(defined, actual.shape)
        scale = 1 + np.abs(expected[where])
        np.testing.assert_array_less(np.abs(actual[where] - expected[where]) / scale, 1e-8)


def assert_float32_is_accurate(point: Application, defined: Floats, row: Row) -> None:
    """Assert that float32 gives what float64 does, if the value is in the range of float32."""
    info = np.finfo(np.float32)
    single = replace(point, operands=[as_float32(x) for x in point.operands])
    value, *first = point.value_and_gradients()
    actual, *their_first = single.value_and_gradients()
    size = np.abs(value)
    if point.pointwise:
        defined = defined & ((size == 0) | (size > info.tiny)) & (size < info.max)
    orders = (
        ([actual], [value]),
        (their_first, first),
        (single.second_derivatives(), point.second_derivatives()),
    )
    for (actuals, expecteds), units in zip(orders, row.absolute, strict=True):
        for x, y in zip(actuals, expecteds, strict=True):
            where = np.broadcast_to(defined, x.shape)
            assert x.dtype == np.float32
            scale = np.abs(y) if point.pointwise else np.max(np.abs(y), initial=1.0)
            allowed = info.eps * (row.relative * scale + units) + info.tiny
            in_range = np.where(np.abs(y) > info.max, np.sign(y) * np.inf, y)
            same = (x == in_range) | (np.abs(x.astype(np.float64) - in_range) <= allowed)
            wrong = where & ~(same | (np.isnan(x) & np.isnan(y)))
            assert not wrong.any(), (np.argwhere(wrong), x[wrong], y[wrong])


def as_float32(x: Floats) -> Floats:
    return x if x.dtype == np.bool_ else x.astype(np.float32)


def pointwise(name: str, points: Sequence[tuple[float, ...]]) -> tuple[Application, Floats]:
    """Return a rule at points, whose coordinates float32 has, and where it has derivatives."""
    row = ROWS.get(name, Row())
    rounded = [tuple(float(np.float32(x)) for x in point) for point in points]
    operands = [np.array(column) for column in zip(*rounded, strict=True)]
    defined = np.array([not row.undefined(*point) for point in rounded])
    return Application(CASES[rule_of(name)], row.args, operands, pointwise=True), defined


def all_points(
    name: str, of_one: Sequence[float], of_two: Sequence[float]
) -> list[tuple[float, ...]]:
    two = name.startswith("arithmetic.") and name != "arithmetic.negative"
    return list(product(*(of_two,) * 2)) if two else [(x,) for x in of_one]


def is_defined_at_zero(name: str) -> bool:
    return bool(pointwise(name, all_points(name, [0.0], [0.0]))[1].all())


@pytest.mark.parametrize("name", POINTWISE)
@np.errstate(all="ignore")
def test_derivatives_are_those_of_finite_differences(name: str) -> None:
    assert_derivatives_are_differences(*pointwise(name, all_points(name, MODERATE, MODERATE)))


@pytest.mark.parametrize("name", POINTWISE)
@np.errstate(all="ignore")
def test_float32_is_accurate(name: str) -> None:
    row = ROWS.get(name, Row())
    assert_float32_is_accurate(*pointwise(name, all_points(name, UNARY, BINARY)), row)


@pytest.mark.parametrize("name", [name for name in POINTWISE if is_defined_at_zero(name)])
@np.errstate(all="ignore")
def test_derivatives_next_to_zero_are_those_at_zero(name: str) -> None:
    """Unlike finite differences, they show an error in a range that is smaller than a step."""
    (at, _), (near, _) = (pointwise(name, all_points(name, [x], [x])) for x in (0.0, 1e-30))
    for x, y in zip(
        at.value_and_gradients() + at.second_derivatives(),
        near.value_and_gradients() + near.second_derivatives(),
        strict=True,
    ):
        np.testing.assert_allclose(x, y, rtol=1e-15, atol=1e-15)


STATED = [(name, at) for name, row in ROWS.items() for at in row.stated]


@pytest.mark.parametrize(("name", "at"), STATED)
@np.errstate(all="ignore")
def test_derivatives_where_none_exist_are_those_stated(name: str, at: tuple[float, ...]) -> None:
    point, _ = pointwise(name, [at])
    stated = ROWS[name].stated[at]
    actual = [*point.value_and_gradients()[1:], *point.second_derivatives()]
    assert [x.item() for x in actual][: len(stated)] == pytest.approx(stated, nan_ok=True)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("name", ARRAYS)
@np.errstate(all="ignore")
@given(data=st.data())
@settings(max_examples=5, phases=[Phase.explicit, Phase.generate])
def test_derivatives_of_special_arrays(name: str, pattern: str, data: st.DataObject) -> None:
    case = CASES[name]
    shapes, args = data.draw(case.drawn)
    operands: list[Floats] = []
    for i, shape in enumerate(shapes):
        filled = np.resize(np.array(PATTERNS[pattern]), shape)
        is_condition = case.domains[min(i, len(case.domains) - 1)] is condition
        operands.append(filled > 0.5 if is_condition else as_float32(filled).astype(np.float64))
    point = Application(case, args, operands, pointwise=False)
    row = ROWS.get(name, Row())
    everywhere = np.array(True)
    assert_float32_is_accurate(point, everywhere, row)
    if pattern in SMOOTH and not row.kink:
        assert_derivatives_are_differences(point, everywhere)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("reduction.max", [0.0, 0.5, 0.5]),
        ("reduction.min", [1.0, 0.0, 0.0]),
        ("unfold.max_over_window", [0.0, 1.0, 0.0]),
    ],
)
def test_gradient_of_equal_elements_is_that_stated(name: str, expected: list[float]) -> None:
    """Reductions divide it; the first element of a window receives it all."""
    args = (0,) if name.startswith("unfold") else (0, False)
    _, (pullback,) = CASES[name]([np.array([1.0, 3.0, 3.0])], args)
    assert pullback is not None
    assert pullback(np.array(1.0)).tolist() == expected


def test_each_row_is_that_of_a_rule() -> None:
    """All rules are tested; those that are not in the table have the default row."""
    assert {rule_of(name) for name in [*POINTWISE, *ROWS, *ARRAYS, *SINGULAR]} == CASES.keys()
    kinks = {name for name, row in ROWS.items() if row.kink}
    assert kinks <= set(ARRAYS)
