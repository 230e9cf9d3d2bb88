"""Each optimiser beside its formula in a few lines of numpy.

All numbers are such that float32, in which momentum and betas are kept, holds them exactly: so the
results are the same up to the rounding of float64.
"""

from collections.abc import Callable, Iterator
from math import sqrt
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from minispore import Parameter, Tensor, nn
from minispore.nn.optim import _blocks
from minispore.nn.optim.optimizer import Spare

from .optim_cases import gradients, two

Values: TypeAlias = NDArray[np.float64]
RATES = [0.5, 0.25, 0.125, 0.5]
# From the gradient of each step to what is subtracted from the weights, before the learning rate.
Formula: TypeAlias = Callable[[Values], Values]
Make: TypeAlias = Callable[..., nn.Optimizer]


def sgd(momentum: float = 0, dampening: float = 0, nesterov: bool = False) -> Formula:
    v: Values | None = None

    def step(g: Values) -> Values:
        nonlocal v
        if momentum == 0:
            return g
        v = g if v is None else momentum * v + (1 - dampening) * g
        return g + momentum * v if nesterov else v

    return step


def momentum(momentum: float, use_nesterov: bool = False) -> Formula:
    return sgd(momentum, nesterov=use_nesterov)


def adam(
    beta1: float, beta2: float, eps: float, use_nesterov: bool = False, use_amsgrad: bool = False
) -> Formula:
    m = v = most = np.zeros(())
    t = 0

    def step(g: Values) -> Values:
        nonlocal m, v, most, t
        t += 1
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        most = np.maximum(most, v)
        mean = beta1 * m + (1 - beta1) * g if use_nesterov else m
        correction = sqrt(1 - beta2**t) / (1 - beta1**t)
        return correction * mean / (np.sqrt(most if use_amsgrad else v) + eps)

    return step


def cases() -> Iterator[tuple[Make, Callable[..., Formula], dict[str, Any]]]:
    for options in (
        {},
        {"dampening": 0.25},
        {"momentum": 0.75},
        {"momentum": 1.0},
        {"momentum": 0.75, "dampening": 0.25},
        {"momentum": 0.5, "nesterov": True},
        {"momentum": 1.0, "nesterov": True},
    ):
        yield nn.SGD, sgd, options
    for factor in (0.0, 0.75):
        for ahead in (False, True):
            yield nn.Momentum, momentum, {"momentum": factor, "use_nesterov": ahead}
    betas = {"beta1": 0.75, "beta2": 0.5, "eps": 0.125}
    for ahead in (False, True):
        for most in (False, True):
            yield nn.Adam, adam, {**betas, "use_nesterov": ahead, "use_amsgrad": most}


@pytest.mark.parametrize(("decay", "scale"), [(0.0, 1.0), (0.25, 1.0), (0.0, 2.0), (0.5, 0.5)])
@pytest.mark.parametrize(
    ("make", "formula", "options"),
    [pytest.param(*case, id=f"{case[0].__name__}{i}") for i, case in enumerate(cases())],
)
def test_a_step_is_the_formula(
    make: Make,
    formula: Callable[..., Formula],
    options: dict[str, Any],
    decay: float,
    scale: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether the gradients are kept or not; in several blocks, with rates that change."""
    monkeypatch.setattr(_blocks, "BLOCK", 4)
    rng = np.random.default_rng(1)
    expected = [rng.standard_normal(shape) for shape in [(), (3, 2), (7,)]]
    given = [[rng.standard_normal(w.shape) for w in expected] for _ in RATES]
    ours: list[list[Parameter]] = []
    for kind in (tuple, Spare):
        ours.append([Parameter(Tensor(w), name=f"w{i}") for i, w in enumerate(expected)])
        optimizer = make(ours[-1], RATES, weight_decay=decay, loss_scale=scale, **options)
        for gradient in given:
            assert optimizer(kind(Tensor(g * scale) for g in gradient)) == (True,) * 3
        assert optimizer.global_step.tolist() == [len(RATES)]
    for i in range(len(expected)):
        step = formula(**options)
        for rate, gradient in zip(RATES, given, strict=True):
            expected[i] = expected[i] - rate * step(gradient[i] + decay * expected[i])
        for found in ours:
            difference = np.abs(np.asarray(found[i].asnumpy(), np.float64) - expected[i])
            assert np.max(difference) < 1e-12


@pytest.mark.parametrize(
    ("short", "full"),
    [
        (lambda p: nn.SGD(p), lambda p: nn.SGD(p, 0.1, 0.0, 0.0, 0.0, False, 1.0)),
        (
            lambda p: nn.Momentum(p, 0.1, 0.9),
            lambda p: nn.Momentum(p, 0.1, 0.9, 0.0, 1.0, False),
        ),
        (
            lambda p: nn.Adam(p),
            lambda p: nn.Adam(
                p, 1e-3, 0.9, 0.999, 1e-8, False, False, 0.0, 1.0, False, False, False
            ),
        ),
    ],
)
def test_what_is_left_out_is_what_mindspore_takes(
    short: Make,
    full: Make,
) -> None:
    found: list[list[bytes]] = []
    for make in (short, full):
        params = two()
        optimizer = make(params)
        for i in range(3):
            optimizer(gradients(i))
        found.append([p.asnumpy().tobytes() for p in optimizer.get_parameters()])
    assert found[0] == found[1]
