"""Refused arguments and gradients of optimizers; `refusals.txt` lists the arguments."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minispore as ms
from minispore import Tensor, float32, nn
from tests.helpers.optimizer_cases import optimizers, two
from tests.helpers.refusals import Refusal, refusals

TABLE = Path(__file__).with_name("refusals.txt").read_text("utf-8")
GRADIENTS = """
(Tensor([1.0, 1.0]),)  # ValueError: For ' | a gradient for each of the 2 parameters | got 1
(ops.ones((2, 2)), ops.ones(3))  # ValueError: For ' | 'beta' | of its shape (2,) | got (3,)
(ops.ones((2, 2)), ops.ones(2, ms.float64))  # TypeError: For ' | 'beta' | float32 | got minispore
(ops.ones((2, 2)), 3.0)  # TypeError: For ' | 'beta' | must be a Tensor | got float
ops.ones((2, 2))  # TypeError: For ' | the gradients must be a tuple of Tensors | got Tensor
"""

# Untyped, since these tests make calls that type checkers reject.
wrong: Any = nn


@pytest.mark.parametrize("refusal", refusals(GRADIENTS))
def test_invalid_gradients_raise_and_update_nothing(refusal: Refusal) -> None:
    params = two()
    before = [p.tolist() for p in params]
    for optimizer in optimizers(params):
        names = {"optimizer": optimizer, "Tensor": Tensor, "ops": ms.ops, "ms": ms}
        message = refusal._replace(call=f"optimizer({refusal.call})").check(names)
        assert message.startswith(f"For '{type(optimizer).__name__}', ")
        assert optimizer.global_step.tolist() == [0]
    assert [p.tolist() for p in params] == before


@pytest.mark.parametrize("refusal", refusals(TABLE))
def test_errors_name_the_optimizer_the_argument_and_what_was_given(refusal: Refusal) -> None:
    names = {name: getattr(nn, name) for name in dir(nn)}
    numbers = {"np": np, "Tensor": Tensor, "nan": float("nan"), "inf": float("inf")}
    message = refusal.check(names | numbers | {"p": two()})
    assert message.startswith(f"For '{refusal.call.partition('(')[0]}', ")


def test_momentum_requires_learning_rate_and_momentum() -> None:
    with pytest.raises(TypeError, match="'learning_rate' and 'momentum'"):
        wrong.Momentum(two())


def test_parameters_may_be_any_iterable() -> None:
    params = two()
    assert nn.SGD(iter(params)).parameters == tuple(params)
    assert nn.SGD(tuple(params)).parameters == tuple(params)
    assert nn.Adam(params, use_locking=True, use_lazy=True).parameters == tuple(params)
    assert nn.SGD([{"params": iter(params)}]).parameters == tuple(params)
    assert float(nn.SGD(params, 1).learning_rate) == 1  # type: ignore[arg-type]
    assert float(nn.SGD(params, Tensor(0.5)).learning_rate) == 0.5  # type: ignore[arg-type]
    listed = nn.SGD(params, np.array([0.5, 0.25], np.float32))
    assert float(listed.get_lr()) == 0.5  # type: ignore[arg-type]
    assert ms.float32 is float32
