"""Rules on a device: values and gradients are bitwise those of numpy."""

from typing import cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minispore.utils.checks import as_items
from tests.helpers.rule_cases import CASES, Case, Floats, expected_of
from tests.strict_device.strict_backend import StrictArray, TransferCounter, strict_array

once = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def on_device(arg: object) -> object:
    """Return an argument with its index arrays on the device."""
    items = as_items(arg)
    if items is not None and not isinstance(arg, np.ndarray):
        return tuple(on_device(item) for item in items)
    return strict_array(arg) if isinstance(arg, np.ndarray) else arg


def bits(x: object) -> tuple[object, ...]:
    array = x._values if isinstance(x, StrictArray) else np.asarray(x)
    return array.dtype, array.shape, array.tobytes()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.slow)])
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
@settings(once, max_examples=5)
def test_rules_equal_numpy_without_transfers(
    gpu: TransferCounter, case: Case, dtype: type[np.floating], data: st.DataObject, seed: int
) -> None:
    drawn = data.draw(case.drawn)
    operands, gradient, expected = expected_of(case, drawn, dtype, np.random.default_rng(seed))
    gpu.clear()
    theirs, their_pullbacks = case(
        [strict_array(x) for x in operands], tuple(map(on_device, drawn[1]))
    )
    seed_there = cast("Floats", strict_array(gradient))
    found = [theirs, *[None if p is None else p(seed_there) for p in their_pullbacks]]
    assert gpu.to_device == gpu.to_host == 0
    for mine, numpys in zip(found, expected, strict=True):
        assert (mine is None) == (numpys is None)
        if numpys is not None:
            assert isinstance(mine, StrictArray)
            assert bits(mine) == bits(numpys)
