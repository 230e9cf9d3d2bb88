"""What a rule owes each of its operands: a gradient, and no look at its neighbours."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore._rules import linalg

from .cases import CASES, Case, Floats

seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
@given(data=st.data(), seed=seeds)
def test_only_a_condition_gets_no_gradient(case: Case, data: st.DataObject, seed: int) -> None:
    """A missing pullback is a gradient that is silently 0: no number may go without."""
    shapes, args = data.draw(case.drawn)
    operands = case.fill(shapes, np.random.default_rng(seed))
    _, pullbacks = case(operands, args)
    assert [p is None for p in pullbacks] == [x.dtype == np.bool_ for x in operands]


@pytest.mark.parametrize(
    ("name", "kept"),
    [("softmax.softmax", ()), ("softmax.log_softmax", ()), ("reduction.logsumexp", (True,))],
)
@given(seed=seeds, axis=st.sampled_from([0, 1, -1]), far=st.sampled_from([1.0, 1e3, 1e300]))
def test_rows_know_nothing_of_each_other(
    name: str, kept: tuple[bool, ...], seed: int, axis: int, far: float
) -> None:
    """However far apart two rows are, each has the values that it has alone."""

    def function(x: Floats) -> Floats:
        return CASES[name]([x], (axis, *kept))[0]

    x = np.random.default_rng(seed).normal(size=(3, 3)) * [[1.0], [far], [-far]]
    x = x if axis else x.T
    together = function(x)
    for i in range(3):
        row = x[i : i + 1] if axis else x[:, i : i + 1]
        alone = together[i : i + 1] if axis else together[:, i : i + 1]
        np.testing.assert_allclose(function(row), alone, rtol=1e-12)


@pytest.mark.parametrize("name", ["linalg.matmul", "linalg.dense"])
@given(data=st.data(), seed=seeds)
def test_watchers_are_told_the_factors_of_every_product(
    name: str, data: st.DataObject, seed: int
) -> None:
    """One forward and two back; multiplied they have the sum of what the rule gives."""
    case = CASES[name]
    shapes, args = data.draw(case.drawn)
    operands = case.fill(shapes, np.random.default_rng(seed))
    told: list[tuple[Floats, Floats]] = []

    def watch(x: object, y: object) -> None:
        assert isinstance(x, np.ndarray)
        assert isinstance(y, np.ndarray)
        told.append((x, y))

    linalg.watchers.append(watch)
    try:
        value, pullbacks = case(operands, args)
        backward = [pullback(value) for pullback in pullbacks[:2] if pullback is not None]
    finally:
        linalg.watchers.remove(watch)
    assert len(told) == 1 + len(backward) == 3
    value = value - operands[2] if name == "linalg.dense" else value
    # A product may be made transposed, and where an operand was repeated its gradient is summed.
    for (x, y), result in zip(told, (value, *backward), strict=True):
        assert np.sum(x @ y) == pytest.approx(np.sum(result), rel=1e-9, abs=1e-9)
