"""Optimizers compared with their formulas in numpy.

Momentum and betas are exactly representable in float32, the dtype in which they are stored, so that
the results agree up to the rounding of float64.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from inspect import signature
from math import sqrt
from typing import Any, ParamSpec, TypeAlias

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from minispore import Parameter, Tensor, nn
from minispore.nn.optim import optimizer as optimizer_module
from minispore.nn.optim.optimizer import DonatedGradients
from tests.helpers.floats import floats
from tests.helpers.optimizer_cases import optimizer_classes

P = ParamSpec("P")
Values: TypeAlias = NDArray[np.float64]
RATES = [0.5, 0.25, 0.125, 0.5]
# Maps the gradient of each step to the update of the weights, before the learning rate.
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
    beta1: float,
    beta2: float,
    eps: float,
    use_nesterov: bool = False,
    use_amsgrad: bool = False,
    corrects_bias: bool = True,
) -> Formula:
    m = v = v_max = np.zeros(())
    t = 0

    def step(g: Values) -> Values:
        nonlocal m, v, v_max, t
        t += 1
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        v_max = np.maximum(v_max, v)
        mean = beta1 * m + (1 - beta1) * g if use_nesterov else m
        correction = sqrt(1 - beta2**t) / (1 - beta1**t) if corrects_bias else 1.0
        return correction * mean / (np.sqrt(v_max if use_amsgrad else v) + eps)

    return step


def rmsprop(decay: float, epsilon: float, centered: bool) -> Formula:
    """Without momentum, which accumulates updates with their learning rates."""
    mean = square = np.zeros(())
    t = 0

    def step(g: Values) -> Values:
        nonlocal mean, square, t
        t += 1
        mean = decay * mean + (1 - decay) * g
        square = decay * square + (1 - decay) * g**2
        variance = decay**t + square - mean**2 * centered
        return np.asarray(g / np.sqrt(variance + epsilon))

    return step


def adagrad(accum: float, update_slots: bool) -> Formula:
    total = np.asarray(accum)

    def step(g: Values) -> Values:
        nonlocal total
        total = total + g**2 * update_slots
        return np.asarray(g / np.sqrt(total))

    return step


def adadelta(rho: float, epsilon: float) -> Formula:
    square = change = np.zeros(())

    def step(g: Values) -> Values:
        nonlocal square, change
        square = rho * square + (1 - rho) * g**2
        update = np.sqrt((change + epsilon) / (square + epsilon)) * g
        change = rho * change + (1 - rho) * update**2
        return update

    return step


def adamax(beta1: float, beta2: float, eps: float) -> Formula:
    m = largest = np.zeros(())
    t = 0

    def step(g: Values) -> Values:
        nonlocal m, largest, t
        t += 1
        m = beta1 * m + (1 - beta1) * g
        largest = np.maximum(beta2 * largest, np.abs(g))
        return m / (1 - beta1**t) / (largest + eps)

    return step


Case: TypeAlias = tuple[Make, Callable[..., Formula], dict[str, Any]]
# Each parameter's own learning rate and weight decay, if it has them.
Group: TypeAlias = tuple[float | list[float] | None, float | None]
EIGHTHS = st.integers(1, 7).map(lambda n: n / 8)
SWITCH = st.booleans()
DECAYS = st.sampled_from([0.0, 0.25, 0.5])
SCALES = st.integers(-8, 12).map(lambda exponent: 2.0**exponent)
# Without groups, the last two have no weight decay.
SHAPES = {"weight": (), "kernel": (3, 2), "norm.gamma": (7,), "norm.beta1": (7,)}


BETAS: dict[str, st.SearchStrategy[Any]] = dict.fromkeys(("beta1", "beta2", "eps"), EIGHTHS)
FORMULAS: dict[Make, tuple[Callable[..., Formula], dict[str, st.SearchStrategy[Any]]]] = {
    nn.Momentum: (momentum, {"momentum": st.just(0.0) | EIGHTHS, "use_nesterov": SWITCH}),
    nn.Adam: (adam, BETAS | {"use_nesterov": SWITCH, "use_amsgrad": SWITCH}),
    nn.AdamWeightDecay: (partial(adam, corrects_bias=False), BETAS),
    nn.AdaMax: (adamax, BETAS),
    nn.RMSProp: (rmsprop, {"decay": EIGHTHS, "epsilon": EIGHTHS, "centered": SWITCH}),
    nn.Adagrad: (adagrad, {"accum": EIGHTHS, "update_slots": SWITCH}),
    nn.Adadelta: (adadelta, {"rho": EIGHTHS, "epsilon": EIGHTHS}),
}


def test_every_optimizer_has_a_formula() -> None:
    assert {nn.SGD, *FORMULAS} == {*optimizer_classes()}


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw an optimizer, its formula, and the arguments of both."""
    make = draw(st.sampled_from([nn.SGD, *FORMULAS]))
    if make is not nn.SGD:
        formula, options = FORMULAS[make]
        return make, formula, draw(st.fixed_dictionaries(options))
    factor = draw(st.just(0.0) | EIGHTHS | st.just(1.0))
    nesterov = factor > 0 and draw(SWITCH)
    dampening = 0.0 if nesterov else draw(st.just(0.0) | EIGHTHS)
    return nn.SGD, sgd, {"momentum": factor, "dampening": dampening, "nesterov": nesterov}


def branches() -> Iterator[Case]:
    """Yield each optimizer without and with each of its switches."""
    for make, (formula, options) in FORMULAS.items():
        numbers = {name: 0.5 for name, values in options.items() if values is not SWITCH}
        for on in (None, *(options.keys() - numbers)):
            switches = {name: name == on for name in options.keys() - numbers}
            yield make, formula, numbers | switches
    for given_options in ({}, {"dampening": 0.25}, {"nesterov": True}):
        yield nn.SGD, sgd, {"momentum": 0.5, **given_options}


def parameters(start: list[Values]) -> list[Parameter]:
    return [Parameter(Tensor(w), name=name) for w, name in zip(start, SHAPES, strict=True)]


def normal(seed: int) -> list[Values]:
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.standard_normal(shape)) for shape in SHAPES.values()]


def as_groups(params: list[Parameter], groups: list[Group]) -> list[dict[str, object]]:
    dicts: list[dict[str, object]] = [{"params": [parameter]} for parameter in params]
    for group, (rate, decay) in zip(dicts, groups, strict=True):
        options = {"lr": rate, "weight_decay": decay}
        group.update({key: value for key, value in options.items() if value is not None})
    return dicts


def examples(
    listed: Iterable[Case], *others: object
) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Return a decorator that adds an example for each case."""

    def decorate(test: Callable[P, None]) -> Callable[P, None]:
        for case in listed:
            test = example(case, *others)(test)
        return test

    return decorate


@given(
    case=cases(),
    decay=DECAYS,
    scale=SCALES,
    groups=st.none()
    | st.lists(
        st.tuples(st.sampled_from([None, 0.125, RATES[::-1]]), st.none() | DECAYS),
        min_size=len(SHAPES),
        max_size=len(SHAPES),
    ),
    donated=SWITCH,
)
@examples(
    branches(), 0.5, 2.0, [(None, None), (0.125, 0.25), (RATES[::-1], 0.0), (None, 0.25)], True
)
@examples([(nn.SGD, sgd, {"momentum": 0.0})], 0.5, 2.0, None, False)
def test_step_equals_formula(
    case: Case, decay: float, scale: float, groups: list[Group] | None, donated: bool
) -> None:
    """With loss scale, decay, groups, several tiles, and changing learning rates."""
    make, formula, options = case
    expected = normal(0)
    params = parameters(expected)
    given_parameters = params if groups is None else as_groups(params, groups)
    takes_scale = "loss_scale" in signature(make).parameters
    scale = scale if takes_scale else 1.0
    scaling = {"loss_scale": scale} if takes_scale else {}
    optimizer = make(
        given_parameters, learning_rate=RATES, weight_decay=decay, **scaling, **options
    )
    decouples_decay = make is nn.AdamWeightDecay
    kind = DonatedGradients if donated else tuple
    grads = [normal(seed) for seed in range(1, 1 + len(RATES))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimizer_module, "TILE", 4)
        for gradient in grads:
            assert optimizer(kind(Tensor(g * scale) for g in gradient)) == (True,) * len(SHAPES)
    assert optimizer.global_step.tolist() == [len(RATES)]
    for i, (name, parameter) in enumerate(zip(SHAPES, params, strict=True)):
        rate, group_decay = (None, None) if groups is None else groups[i]
        default = 0.0 if groups is None and name.startswith("norm") else decay
        step, w = formula(**options), expected[i]
        for t, gradient in enumerate(grads):
            at = RATES[t] if rate is None else rate[t] if isinstance(rate, list) else rate
            decayed = (default if group_decay is None else group_decay) * w
            g = gradient[i]
            w = w - at * (step(g) + decayed if decouples_decay else step(g + decayed))
        assert np.max(np.abs(floats(parameter) - w)) < 1e-12


DEFAULTS: dict[Make, list[object]] = {
    nn.SGD: [0.1, 0.0, 0.0, 0.0, False, 1.0],
    nn.Momentum: [0.0, 1.0, False],
    nn.Adam: [1e-3, 0.9, 0.999, 1e-8, False, False, 0.0, 1.0, False, False, False],
}


@pytest.mark.parametrize("make", DEFAULTS)
def test_default_arguments_are_mindspores(make: Make) -> None:
    parameters = signature(make).parameters.values()
    assert [p.default for p in parameters if p.default is not p.empty] == DEFAULTS[make]
