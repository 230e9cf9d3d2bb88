"""Each rule on a device: the bits of its value and its gradients are numpy's."""

from typing import cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minispore._checks import as_items

from ..rules.cases import CASES, Case, Floats, expected_of
from .library import GuardedArray, Traffic, guarded

once = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def on_device(arg: object) -> object:
    """An argument with the index arrays in it moved there."""
    items = as_items(arg)
    if items is not None and not isinstance(arg, np.ndarray):
        return tuple(on_device(item) for item in items)
    return guarded(arg) if isinstance(arg, np.ndarray) else arg


def bits(x: object) -> tuple[object, ...]:
    array = x._values if isinstance(x, GuardedArray) else np.asarray(x)
    return array.dtype, array.shape, array.tobytes()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.slow)])
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
@settings(once, max_examples=5)
def test_bits_are_numpys_and_nothing_is_copied(
    gpu: Traffic, case: Case, dtype: type[np.floating], data: st.DataObject, seed: int
) -> None:
    drawn = data.draw(case.drawn)
    operands, gradient, expected = expected_of(case, drawn, dtype, np.random.default_rng(seed))
    gpu.clear()
    theirs, their_pullbacks = case([guarded(x) for x in operands], tuple(map(on_device, drawn[1])))
    seed_there = cast("Floats", guarded(gradient))
    found = [theirs, *[None if p is None else p(seed_there) for p in their_pullbacks]]
    assert gpu.to_device == gpu.to_host == 0
    for mine, numpys in zip(found, expected, strict=True):
        assert (mine is None) == (numpys is None)
        if numpys is not None:
            assert isinstance(mine, GuardedArray)
            assert bits(mine) == bits(numpys)
