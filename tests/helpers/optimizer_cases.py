"""Parameters, gradients and optimizers for tests."""

from collections.abc import Callable

import pytest

from minispore import Parameter, Tensor, nn
from minispore.nn.optim.optimizer import InPlaceOptimizer

Parameters = list[Parameter]


def two() -> Parameters:
    return [
        Parameter(Tensor([[1.0, -2.0], [0.5, 3.0]]), name="weight"),
        Parameter(Tensor([0.25, -1.5]), name="beta"),
    ]


def gradients(i: int) -> tuple[Tensor, Tensor]:
    return (
        Tensor([[0.3 * (i + 1), -0.7 + 0.4 * i], [0.05, -1.0]]),
        Tensor([0.5 - 0.25 * i, 2.0]),
    )


def optimizer_classes() -> list[type[InPlaceOptimizer]]:
    """Return the public optimizers."""
    public = [getattr(nn, name) for name in dir(nn)]
    classes = [value for value in public if isinstance(value, type)]
    return [c for c in classes if issubclass(c, InPlaceOptimizer)]


def optimizers(params: Parameters) -> list[InPlaceOptimizer]:
    """Return an optimizer of each class, and of some for several settings."""
    listed: list[InPlaceOptimizer] = [
        nn.SGD(params, 0.1),
        nn.SGD(params, 0.1, weight_decay=0.1, loss_scale=2.0),
        nn.SGD(params, 0.1, 0.9, 0.5, 0.1, loss_scale=2.0),
        nn.SGD(params, 0.1, 0.9, nesterov=True),
        nn.Momentum(params, 0.1, 0.9, 0.1, use_nesterov=True),
        nn.Adam(params, 0.1, use_nesterov=True, weight_decay=0.1),
        nn.Adam(params, 0.1, use_amsgrad=True),
        nn.AdamWeightDecay(params, 0.1, weight_decay=0.1),
        nn.AdaMax(params, 0.1, weight_decay=0.1),
        nn.RMSProp(params, 0.1, momentum=0.5, loss_scale=2.0),
        nn.RMSProp(params, 0.1, centered=True, weight_decay=0.1),
        nn.Adagrad(params, learning_rate=0.1, loss_scale=2.0),
    ]
    others = {*optimizer_classes()} - {*map(type, listed)}
    ordered = sorted(others, key=lambda c: c.__name__)
    return listed + [with_decay(make, params) for make in ordered]


def with_decay(make: Callable[..., InPlaceOptimizer], params: Parameters) -> InPlaceOptimizer:
    """Return an optimizer with a weight decay."""
    return make(params, learning_rate=0.1, weight_decay=0.1)


each_optimizer = pytest.mark.parametrize("which", range(len(optimizers(two()))))
