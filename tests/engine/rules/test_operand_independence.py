"""Rules: the rows of an operand are independent, and products are observed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.engine.rules import linalg
from tests.helpers.rule_cases import CASES, Floats

seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize(
    ("name", "kept"),
    [("reduction.softmax", ()), ("reduction.log_softmax", ()), ("reduction.logsumexp", (True,))],
)
@given(seed=seeds, axis=st.sampled_from([0, 1, -1]), far=st.sampled_from([1.0, 1e3, 1e300]))
def test_rows_are_independent(
    name: str, kept: tuple[bool, ...], seed: int, axis: int, far: float
) -> None:
    """Each row has the values that it has without the others, however different they are."""

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
def test_gemm_observers_receive_the_operands_of_every_product(
    name: str, data: st.DataObject, seed: int
) -> None:
    """The products of one forward and two backward computations."""
    case = CASES[name]
    shapes, args = data.draw(case.drawn)
    operands = case.fill(shapes, np.random.default_rng(seed))
    observed: list[tuple[Floats, Floats]] = []

    def watch(x: object, y: object) -> None:
        assert isinstance(x, np.ndarray)
        assert isinstance(y, np.ndarray)
        observed.append((x, y))

    linalg.gemm_observers.append(watch)
    try:
        value, pullbacks = case(operands, args)
        backward = [pullback(value) for pullback in pullbacks[:2] if pullback is not None]
    finally:
        linalg.gemm_observers.remove(watch)
    assert len(observed) == 1 + len(backward) == 3
    value = value - operands[2] if name == "linalg.dense" else value
    # A product may be made transposed, and where an operand was repeated its gradient is summed.
    for (x, y), result in zip(observed, (value, *backward), strict=True):
        assert np.sum(x @ y) == pytest.approx(np.sum(result), rel=1e-9, abs=1e-9)
