"""Learning rates: the lists and the cells against each other, and errors."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, int32, nn

Rates = list[float]

# Without types: what a type checker would refuse is what is tried.
wrong: Any = nn
rate = st.floats(1e-4, 1.0)
unit = st.integers(1, 7)
steps = st.integers(1, 30)


def of_cell(cell: nn.LearningRateSchedule, total: int) -> Rates:
    return [float(cell(Tensor(step, int32))) for step in range(total)]


@given(rate, rate, steps, unit, st.booleans())
def test_the_decays_as_lists_are_the_decays_as_cells(
    start: float, decay: float, total: int, time: int, stair: bool
) -> None:
    lists: list[Callable[..., Rates]] = [
        nn.exponential_decay_lr,
        nn.natural_exp_decay_lr,
        nn.inverse_decay_lr,
    ]
    cells = [nn.ExponentialDecayLR, nn.NaturalExpDecayLR, nn.InverseDecayLR]
    for as_list, as_cell in zip(lists, cells, strict=True):
        listed = as_list(start, decay, total, 1, time, stair)
        assert of_cell(as_cell(start, decay, time, stair), total) == pytest.approx(listed, rel=1e-6)


@given(rate, rate, steps, unit, st.floats(0.5, 3.0), st.booleans())
def test_the_other_lists_are_the_other_cells(
    low: float, more: float, total: int, time: int, power: float, renew: bool
) -> None:
    high = low + more
    assert of_cell(nn.CosineDecayLR(low, high, time), total) == pytest.approx(
        nn.cosine_decay_lr(low, high, total, 1, time), rel=1e-6
    )
    assert of_cell(nn.PolynomialDecayLR(high, low, time, power, renew), total) == pytest.approx(
        nn.polynomial_decay_lr(high, low, total, 1, time, power, renew), rel=1e-6
    )
    assert of_cell(nn.WarmUpLR(high, time), total) == pytest.approx(
        nn.warmup_lr(high, total, 1, time), rel=1e-6
    )


@given(steps, unit)
def test_a_rate_stays_the_same_within_an_epoch(total: int, per_epoch: int) -> None:
    by_epoch = nn.exponential_decay_lr(0.1, 0.9, total, 1, 3)
    by_step = nn.exponential_decay_lr(0.1, 0.9, total, per_epoch, 3)
    assert by_step == [by_epoch[step // per_epoch] for step in range(total)]


def test_a_cell_keeps_the_shape_of_the_step() -> None:
    assert nn.WarmUpLR(0.5, 2)(Tensor([1], int32)).tolist() == [0.25]
    assert float(nn.WarmUpLR(0.5, 2)(1)) == 0.25


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: wrong.exponential_decay_lr(1, 0.9, 6, 2, 1), TypeError, "learning_rate"),
        (lambda: wrong.exponential_decay_lr(-0.1, 0.9, 6, 2, 1), ValueError, "learning_rate"),
        (lambda: wrong.exponential_decay_lr(0.0, 0.9, 6, 2, 1), ValueError, "above 0"),
        (
            lambda: wrong.exponential_decay_lr(float("nan"), 0.9, 6, 2, 1),
            ValueError,
            "learning_rate",
        ),
        (lambda: wrong.exponential_decay_lr(0.1, 0.9, 0, 2, 1), ValueError, "total_step"),
        (lambda: wrong.inverse_decay_lr(0.1, 0.9, 6, 2, 0), ValueError, "decay_epoch"),
        (lambda: wrong.natural_exp_decay_lr(0.1, True, 6, 2, 1), TypeError, "decay_rate"),
        (lambda: wrong.cosine_decay_lr(0.1, 0.01, 6, 2, 2), ValueError, "max_lr"),
        (lambda: wrong.cosine_decay_lr(0, 0.1, 6, 2, 2), TypeError, "min_lr"),
        (lambda: wrong.polynomial_decay_lr(0.1, 0.01, 6, 2, 2, -1.0), ValueError, "power"),
        (lambda: wrong.warmup_lr(0.1, 6, 2, 0), ValueError, "warmup_epoch"),
        (lambda: wrong.piecewise_constant_lr([2, 1], [0.1, 0.2]), ValueError, r"milestone\[1\]"),
        (lambda: wrong.piecewise_constant_lr([2], [0.1, 0.2]), ValueError, "same length"),
        (lambda: wrong.piecewise_constant_lr([0], [0.1]), ValueError, r"milestone\[0\]"),
        (lambda: wrong.piecewise_constant_lr([2], [1]), TypeError, r"learning_rates\[0\]"),
        (lambda: wrong.ExponentialDecayLR(0.1, 0.9, 0), ValueError, "decay_steps"),
        (lambda: wrong.InverseDecayLR(0.1, -1.0, 4), ValueError, "decay_rate"),
        (lambda: wrong.CosineDecayLR(0.1, 0.1, 4), ValueError, "CosineDecayLR"),
        (lambda: wrong.PolynomialDecayLR(0.1, 0.01, 4, 0.0), ValueError, "power"),
        (lambda: wrong.WarmUpLR(0.1, -1), ValueError, "warmup_steps"),
        (lambda: wrong.LearningRateSchedule()(Tensor(0)), NotImplementedError, "construct"),
    ],
)
def test_errors(make: Callable[[], object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()
