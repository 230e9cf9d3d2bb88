"""Refused arguments and inputs of metrics, which `refusals.txt` lists."""

from pathlib import Path

import numpy as np
import pytest

from minispore import train
from tests.helpers.refusals import Refusal, refusals

TABLE = Path(__file__).with_name("refusals.txt").read_text("utf-8")
NAMES: dict[str, object] = {name: getattr(train, name) for name in dir(train)}


@pytest.mark.parametrize("refusal", refusals(TABLE))
def test_errors_name_the_metric_the_argument_and_what_was_given(refusal: Refusal) -> None:
    refusal.check(NAMES | {"np": np, "scores": [[0.1, 0.9], [0.8, 0.2]]})
