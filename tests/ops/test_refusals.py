"""Refused calls of operations and gradient functions, which `refusals.txt` lists."""

from pathlib import Path

import pytest

from minispore import Tensor, grad, ops
from tests.helpers.refusals import Refusal, refusals
from tests.ops.test_gradients import cube, square

X = ops.ones((2, 3))
NAMES: dict[str, object] = {
    "Tensor": Tensor,
    "cube": cube,
    "cube_of_first": lambda x, _: cube(x),
    "grad": grad,
    "ops": ops,
    "square": square,
    "HOST": X.to("CPU"),  # on a GPU the classes are not checked
    "LABELS": Tensor([2, 0]),
    "ONE": Tensor(1.0),
    "V": Tensor([1.0, 1.0]),
    "X": X,
}


@pytest.mark.parametrize(
    "refusal", refusals(Path(__file__).with_name("refusals.txt").read_text("utf-8"))
)
def test_errors_name_the_operation_the_argument_and_what_was_given(refusal: Refusal) -> None:
    refusal.check(NAMES)
