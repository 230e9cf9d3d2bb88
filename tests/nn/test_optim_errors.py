"""Optimisers: what they refuse."""

import re
from collections.abc import Callable
from typing import Any

import pytest

import minispore as ms
from minispore import Tensor, float32, float64, nn, ops

from .optim_cases import Parameters, optimizers, two

Make = Callable[[Parameters], nn.Optimizer]


# Without types: what a type checker would refuse is what is tried.
wrong: Any = nn


@pytest.mark.parametrize(
    ("bad", "error", "words"),
    [
        ((Tensor([1.0, 1.0]),), ValueError, "each of the 2 parameters, but got 1"),
        ((ops.ones((2, 2)), ops.ones(3)), ValueError, r"'beta' .* shape \(2,\), but got \(3,\)"),
        (
            (ops.ones((2, 2)), ops.ones(2, float64)),
            TypeError,
            "'beta' .* type minispore.float32, but got minispore.float64",
        ),
        ((ops.ones((2, 2)), 3.0), TypeError, "'beta' must be a Tensor, but got float"),
        (ops.ones((2, 2)), TypeError, "a tuple of Tensors, but got Tensor"),
    ],
)
def test_bad_gradients_change_nothing(bad: object, error: type[Exception], words: str) -> None:
    params = two()
    before = [p.tolist() for p in params]
    for optimizer in optimizers(params):
        with pytest.raises(error, match=f"^For '{type(optimizer).__name__}', .*{words}"):
            optimizer(bad)  # type: ignore[arg-type]
        assert optimizer.global_step.tolist() == [0]
    assert [p.tolist() for p in params] == before


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda p: wrong.SGD([]), ValueError, "empty"),
        (lambda p: wrong.SGD(None), TypeError, "params"),
        (lambda p: wrong.SGD(p[0]), TypeError, "params"),
        (lambda p: wrong.SGD(3), TypeError, "params"),
        (lambda p: wrong.SGD([3]), TypeError, "int"),
        (lambda p: wrong.SGD([p[0], {"params": p[1:]}]), TypeError, "all be dicts"),
        (lambda p: wrong.SGD(p + p), ValueError, "'weight'"),
        (lambda p: wrong.SGD([{"params": p}, {"params": p}]), ValueError, "'weight'"),
        (lambda p: wrong.SGD([{"params": p, "foo": 2}]), KeyError, "foo"),
        (lambda p: wrong.SGD([{"lr": 2}]), KeyError, "params"),
        (lambda p: wrong.SGD([{"params": []}]), ValueError, "empty"),
        (lambda p: wrong.SGD([{"params": p[0]}]), TypeError, "params"),
        (lambda p: wrong.SGD([{"params": p, "lr": -1.0}]), ValueError, "learning_rate"),
        (lambda p: wrong.SGD([{"params": p, "weight_decay": -1.0}]), ValueError, "weight_decay"),
        (lambda p: wrong.SGD([{"params": p, "grad_centralization": 3}]), TypeError, "centrali"),
        (
            lambda p: wrong.SGD([{"params": p, "grad_centralization": True}]),
            ValueError,
            "supported",
        ),
        (lambda p: wrong.SGD([{"params": p}, {"order_params": p[:1]}]), ValueError, "order_params"),
        (lambda p: wrong.SGD([{"order_params": p}]), ValueError, "order_params"),
        (lambda p: wrong.SGD(p, "a"), TypeError, "learning_rate"),
        (lambda p: wrong.SGD(p, -0.1), ValueError, "learning_rate"),
        (lambda p: wrong.SGD(p, True), TypeError, "learning_rate"),
        (lambda p: wrong.SGD(p, lambda s: 0.1), TypeError, "learning_rate"),
        (lambda p: wrong.SGD(p, []), ValueError, "empty"),
        (lambda p: wrong.SGD(p, [0.1, "a"]), TypeError, r"learning_rate\[1\]"),
        (lambda p: wrong.SGD(p, [0.1, -1.0]), ValueError, r"learning_rate\[1\]"),
        (lambda p: wrong.SGD(p, Tensor([[0.1]])), ValueError, "axis"),
        (lambda p: wrong.SGD(p, momentum=-1.0), ValueError, "momentum"),
        (lambda p: wrong.SGD(p, momentum="a"), TypeError, "momentum"),
        (lambda p: wrong.SGD(p, dampening=-1.0), ValueError, "dampening"),
        (lambda p: wrong.SGD(p, nesterov=True), ValueError, "nesterov"),
        (lambda p: wrong.SGD(p, 0.1, 0.9, 0.1, nesterov=True), ValueError, "nesterov"),
        (lambda p: wrong.SGD(p, 0.1, 0.9, nesterov=3), TypeError, "nesterov"),
        (lambda p: wrong.SGD(p, weight_decay=-1.0), ValueError, "weight_decay"),
        (lambda p: wrong.SGD(p, weight_decay="a"), TypeError, "weight_decay"),
        (lambda p: wrong.SGD(p, weight_decay=wrong.WarmUpLR(0.1, 3)), TypeError, "weight_decay"),
        (lambda p: wrong.SGD(p, loss_scale=0.0), ValueError, "loss_scale"),
        (lambda p: wrong.Momentum(p), TypeError, "learning_rate"),
        (lambda p: wrong.Momentum(p, 0.1, 1), TypeError, "momentum"),
        (lambda p: wrong.Momentum(p, 0.1, -1.0), ValueError, "momentum"),
        (lambda p: wrong.Momentum(p, 0.1, 0.9, use_nesterov=3), TypeError, "use_nesterov"),
        (lambda p: wrong.Adam(p, beta1=1.0), ValueError, "beta1"),
        (lambda p: wrong.Adam(p, beta2=0.0), ValueError, "beta2"),
        (lambda p: wrong.Adam(p, beta1=1), TypeError, "beta1"),
        (lambda p: wrong.Adam(p, eps=0.0), ValueError, "eps"),
        (lambda p: wrong.Adam(p, use_locking=3), TypeError, "use_locking"),
        (lambda p: wrong.Adam(p, use_offload=True), ValueError, "use_offload"),
    ],
)
def test_errors(make: Make, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as raised:
        make(two())
    said = raised.value.args[0]
    assert re.match(rf"(For '(SGD|Adam|Momentum)', |.*__init__).*{words}", said), said
    assert "\n" not in said


def test_iterables_of_parameters() -> None:
    params = two()
    assert nn.SGD(iter(params)).parameters == tuple(params)
    assert nn.SGD(tuple(params)).parameters == tuple(params)
    assert nn.Adam(params, use_locking=True, use_lazy=True).parameters == tuple(params)
    assert nn.SGD([{"params": iter(params)}]).parameters == tuple(params)
    assert float(nn.SGD(params, 1).learning_rate) == 1  # type: ignore[arg-type]
    assert float(nn.SGD(params, Tensor(0.5)).learning_rate) == 0.5  # type: ignore[arg-type]
    assert ms.float32 is float32
