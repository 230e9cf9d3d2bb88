"""What the tools for tests refuse, as `refusals.txt` lists it."""

from pathlib import Path

import numpy as np
import pytest

from minispore import Tensor, ops, testing
from minispore.train import Callback
from tests.helpers.refusals import Refusal, refusals

NAMES: dict[str, object] = {
    **{name: getattr(testing, name) for name in dir(testing)},
    "Callback": Callback,
    "Tensor": Tensor,
    "X": Tensor(np.ones(2)),
    "ops": ops,
}


@pytest.mark.parametrize(
    "refusal", refusals(Path(__file__).with_name("refusals.txt").read_text("utf-8"))
)
def test_errors_name_the_argument_and_what_was_given(refusal: Refusal) -> None:
    refusal.check(NAMES)
