"""Refused arguments and inputs of layers, losses, wrappers and learning rates: `refusals.txt`."""

from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

import minispore as ms
from minispore import Tensor, nn, ops
from tests.helpers.refusals import Refusal, refusals

TABLE = Path(__file__).with_name("refusals.txt").read_text("utf-8")


def net() -> nn.Dense:
    return nn.Dense(2, 1)


def sgd(cell: nn.Cell) -> nn.SGD:
    return nn.SGD(cell.trainable_params())


NAMES: dict[str, object] = {
    **{name: getattr(nn, name) for name in dir(nn)},
    "OrderedDict": OrderedDict[str, object],
    "Tensor": Tensor,
    "ms": ms,
    "np": np,
    "ops": ops,
    "dense": net,
    "net": net,
    "sgd": sgd,
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
