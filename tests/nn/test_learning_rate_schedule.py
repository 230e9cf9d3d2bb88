"""Learning-rate schedules and lists of learning rates equal their formulas."""

from collections.abc import Callable
from math import ceil, cos, exp, pi, pow
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore import Tensor, float32, nn
from minispore.common.dtype import DType
from minispore.nn.learning_rate_schedule import FormulaSchedule
from minispore.testing import strategies as mst

RATES = st.floats(1e-4, 1.0)


class Decay(NamedTuple):
    """A schedule, the function that lists its rates by epochs, and its formula of the step.

    Attributes:
        schedule: Takes `arguments`, of which one is the number of steps of the decay.
        listed: Takes the total step and the steps of an epoch before the latter.
        arguments: The arguments of `schedule`.
        place: The index of the number of steps in `arguments`.
        formula: The learning rate of a step.
    """

    schedule: Callable[..., FormulaSchedule]
    listed: Callable[..., list[float]]
    arguments: tuple[float, ...]
    place: int
    formula: Callable[[float], float]


@st.composite
def decays(draw: st.DrawFn) -> Decay:
    low, more, time = draw(RATES), draw(RATES), draw(st.integers(1, 7))
    power, switch = draw(st.floats(0.5, 3.0)), draw(st.booleans())
    high = low + more

    def periods(step: float) -> float:
        return step // time if switch else step / time

    def polynomial(step: float) -> float:
        end = time * max(1, ceil(step / time)) if switch else time
        return low + more * pow(1 - min(step, end) / end, power)

    arguments = high, low, time, switch
    cases: list[Decay] = [
        Decay(
            nn.WarmUpLR,
            nn.warmup_lr,
            (high, time),
            1,
            lambda step: high * min(1, step / time),
        ),
        Decay(
            nn.ExponentialDecayLR,
            nn.exponential_decay_lr,
            arguments,
            2,
            lambda step: high * low ** periods(step),
        ),
        Decay(
            nn.InverseDecayLR,
            nn.inverse_decay_lr,
            arguments,
            2,
            lambda step: high / (1 + low * periods(step)),
        ),
        Decay(
            nn.NaturalExpDecayLR,
            nn.natural_exp_decay_lr,
            arguments,
            2,
            lambda step: high * exp(-low * (step // time * time if switch else step)),
        ),
        Decay(
            nn.CosineDecayLR,
            nn.cosine_decay_lr,
            (low, high, time),
            2,
            lambda step: low + more * (1 + cos(pi * min(1, step / time))) / 2,
        ),
        Decay(
            nn.PolynomialDecayLR,
            nn.polynomial_decay_lr,
            (high, low, time, power, switch),
            2,
            polynomial,
        ),
    ]
    case: Decay = draw(st.sampled_from(cases))
    return case


def steps_of(dtype: DType) -> st.SearchStrategy[npt.NDArray[np.generic]]:
    """Return arrays of steps, of any shape."""
    kind = dtype.numpy_dtype.kind
    elements = {"f": st.floats(0, 30, width=16), "b": st.booleans()}.get(kind, st.integers(0, 30))
    shapes = hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3)
    return hnp.arrays(dtype.numpy_dtype, shapes, elements=elements)


@given(decays(), mst.dtypes().flatmap(steps_of))
def test_schedule_equals_its_formula(decay: Decay, steps: npt.NDArray[np.generic]) -> None:
    """For a number, and for each element of a tensor, whose shape the result has."""
    schedule = decay.schedule(*decay.arguments)
    rates = schedule(Tensor(steps))
    assert (rates.shape, rates.dtype) == (steps.shape, float32)
    numbers = cast("list[float]", steps.ravel().tolist())
    expected = [decay.formula(step) for step in numbers]
    assert rates.ravel().tolist() == pytest.approx(expected, rel=1e-6)
    for kind in (int, float):
        whole = [step for step in numbers if kind(step) == step]
        expected = [decay.formula(step) for step in whole]
        actual = [schedule(kind(step)).item() for step in whole]
        assert actual == pytest.approx(expected, rel=1e-6)


@given(decays(), st.integers(1, 30), st.integers(1, 7))
def test_listed_rates_are_those_of_the_epochs(decay: Decay, total: int, per_epoch: int) -> None:
    before, after = decay.arguments[: decay.place], decay.arguments[decay.place :]
    rates = decay.listed(*before, total, per_epoch, *after)
    expected = [decay.formula(step // per_epoch) for step in range(total)]
    assert rates == pytest.approx(expected, rel=1e-6)


@given(st.lists(st.tuples(st.integers(0, 3), RATES), min_size=1, max_size=5))
def test_piecewise_constant_rates_change_at_the_milestones(parts: list[tuple[int, float]]) -> None:
    """A part of no steps is left out."""
    parts[0] = (parts[0][0] + 1, parts[0][1])
    ends = np.cumsum([length for length, _ in parts]).tolist()
    expected = [rate for length, rate in parts for _ in range(length)]
    assert nn.piecewise_constant_lr(ends, [rate for _, rate in parts]) == expected
