"""Refused arguments and states, which `refusals.txt` lists."""

from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import numpy as np
import pytest

from minispore import tensorpack
from minispore.train import Model
from tests.helpers.refusals import Refusal, refusals
from tests.helpers.stub_models import Batches, ConstantLoss

TABLE = Path(__file__).with_name("refusals.txt").read_text("utf-8")
NAMES: dict[str, object] = {
    **{name: getattr(tensorpack, name) for name in tensorpack.__all__},
    "Thread": Thread,
    "BOX": SimpleNamespace(rate="fast"),
    "DATA": Batches(2),
    "EMPTY": Batches(0),
    "MODEL": Model(ConstantLoss()),
    "NAN": float("nan"),
    "ONES": np.ones((2, 3, 2)),
    "PRINTER": tensorpack.ScalarPrinter(),
}


@pytest.mark.parametrize("refusal", refusals(TABLE))
def test_errors_name_the_callback_the_argument_and_what_was_given(refusal: Refusal) -> None:
    refusal.check(NAMES)
