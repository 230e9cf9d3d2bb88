"""What cannot be drawn, as `refusals.txt` lists it."""

import math
from pathlib import Path

import numpy as np
import pytest

from minispore import Tensor, drawing, nn, ops
from minispore.testing import Event
from tests.drawing.test_graph import Part, X, long
from tests.helpers.refusals import Refusal, refusals

NAMES: dict[str, object] = {
    **{name: getattr(drawing, name) for name in dir(drawing)},
    "Event": Event,
    "Part": Part,
    "Tensor": Tensor,
    "X": X,
    "long": long,
    "many": nn.CellList([nn.ReLU() for _ in range(200)]),
    "math": math,
    "np": np,
    "ops": ops,
}


@pytest.mark.parametrize(
    "refusal", refusals(Path(__file__).with_name("refusals.txt").read_text("utf-8"))
)
def test_errors_name_the_argument_what_is_expected_and_what_was_given(refusal: Refusal) -> None:
    refusal.check(NAMES)
