"""Refused arguments, inputs and usual mistakes: `refusals.txt` and `mistakes.txt`."""

from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

import minispore as ms
from minispore import Tensor, nn, ops
from tests.helpers.refusals import Refusal, refusals

TABLE = Path(__file__).with_name("refusals.txt").read_text("utf-8")
# A type checker would report most of these.
MISTAKES = Path(__file__).with_name("mistakes.txt").read_text("utf-8")


class Forward(nn.Cell):
    def forward(self, x: Tensor) -> Tensor:
        return x


class Forgetful(nn.Cell):
    def __init__(self) -> None:
        self.dense = nn.Dense(1, 1)


class Silent(nn.Cell):
    def construct(self, x: Tensor) -> None:
        ops.relu(x)


def summed_by_numpy(x: Tensor) -> object:
    return np.sum(x.asnumpy())


def net() -> nn.Dense:
    return nn.Dense(2, 1)


def sgd(cell: nn.Cell) -> nn.SGD:
    return nn.SGD(cell.trainable_params())


NAMES: dict[str, object] = {
    **{name: getattr(nn, name) for name in dir(nn)},
    "OrderedDict": OrderedDict[str, object],
    **{made.__name__: made for made in (Forgetful, Forward, Silent, summed_by_numpy)},
    "Tensor": Tensor,
    "ms": ms,
    "nn": nn,
    "np": np,
    "ops": ops,
    "dense": net,
    "grad": ms.grad,
    "net": net,
    "sgd": sgd,
    "DENSE": nn.Dense(3, 2),
    "ROW": ops.ones((1, 3)),
    "X": Tensor([[1.0, 2.0, 0.5], [0.1, -1.0, 3.0]]),
    "Y": Tensor([[1.0], [0.0]]),
    "LABELS": Tensor([1, 2]),
    "SURE": Tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    "UNSURE": Tensor([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]),
}


@pytest.mark.parametrize("refusal", refusals(TABLE))
def test_errors_name_the_argument_what_is_expected_and_what_was_given(refusal: Refusal) -> None:
    refusal.check(NAMES)


@pytest.mark.parametrize("refusal", refusals(MISTAKES))
def test_common_mistakes_have_helpful_messages(refusal: Refusal) -> None:
    refusal.check(NAMES)
