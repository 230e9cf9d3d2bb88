"""The blocks in which a parameter is updated: its rows, each once, beside one scratch for all."""

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from minispore.nn.optim import _blocks
from minispore.nn.optim._blocks import Blocks


@given(
    shape=st.lists(st.integers(0, 6), min_size=1, max_size=3).map(tuple),
    limit=st.integers(1, 30),
    here=st.booleans(),
)
def test_blocks_are_as_many_rows_as_may_be_or_one(
    shape: tuple[int, ...], limit: int, here: bool
) -> None:
    """On the host `limit` elements, unless one row has more; a device takes all at once."""
    x: Any = np.arange(prod(shape)).reshape(shape)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_blocks, "BLOCK", limit)
        patch.setattr(_blocks, "is_host", lambda array: array is x and here)
        blocks = Blocks().of(x)
    parts = [x if block.rows is None else x[block.rows] for block in blocks]
    assert np.array_equal(np.concatenate([x[:0], *parts]), x)
    assert [block.rows is None for block in blocks] == [part.shape == shape for part in parts]
    row = prod(shape[1:])
    if not here and row:
        assert len(parts) <= 1
    if here:
        assert all(len(part) == 1 or part.size <= limit for part in parts)
    if here and len(parts) > 1:
        rows = len(parts[0])
        assert all(len(part) == rows for part in parts[:-1])
        assert (rows + 1) * max(1, row) > limit
    for block, part in zip(blocks, parts, strict=True):
        assert block.first.shape == block.second.shape == part.shape
        assert block.first.dtype == block.second.dtype == x.dtype
        assert not np.shares_memory(block.first, block.second)


def test_one_scratch_serves_all_parameters_of_a_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_blocks, "BLOCK", 8)
    blocks = Blocks()

    def scratch(*shape: int, dtype: type[np.generic] = np.float32) -> NDArray[np.generic]:
        x: Any = np.ones(shape, dtype)
        block = blocks.of(x)[0]
        assert blocks.of(x + 1)[0] is block
        whole = np.asarray(block.first).base
        assert whole is not None
        return whole

    first = scratch(8)
    assert first.size == 2 * 8
    assert first is scratch(2, 4)
    assert first is scratch(5)
    other = scratch(8, dtype=np.float64)
    assert other is not first
    # What has longer rows needs more, and is then used by the others.
    longer = scratch(2, 20)
    assert longer is not first
    assert longer is scratch(3)
    assert longer is scratch(2, 20, 1)
    assert other is scratch(3, dtype=np.float64)
