"""Shards of a data-parallel training; the properties are in tests/properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.dataset import Dataset, DistributedSampler, NumpySlicesDataset
from minispore.dataset._batches import Batch
from minispore.dataset._node import initial_key
from minispore.dataset._operations import Take
from minispore.dataset.sharding import EqualLengthShards, shard_evenly

ROWS = np.arange(10, dtype=np.float32).reshape(5, 2)


def shard(number: int, offset: int = -1) -> Dataset:
    return NumpySlicesDataset(ROWS, sampler=DistributedSampler(3, number, False, offset=offset))


def batches(data: Dataset) -> list[object]:
    iterator = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
    return [batch[..., 0].tolist() for (batch,) in iterator]


@given(number=st.integers(0, 2), batch=st.integers(1, 3), agreed=st.integers(0, 4))
def test_excess_batches_are_dropped_and_missing_ones_empty(
    number: int, batch: int, agreed: int
) -> None:
    data = shard_evenly(shard(number, 0).batch(batch), lambda _size, _drop: agreed)
    assert len(data) == agreed
    shard_rows = ROWS[number::3]
    iterator = data.create_tuple_iterator(num_epochs=2, output_numpy=True)
    for _ in range(2):
        actual = [x for (x,) in iterator]
        assert len(actual) == agreed
        for i, actual_batch in enumerate(actual):
            expected = shard_rows[i * batch : (i + 1) * batch]
            assert (actual_batch.shape, actual_batch.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_array_equal(actual_batch, expected)


def test_only_sharded_batches_are_agreed_on() -> None:
    calls: list[tuple[int, bool]] = []

    def agree(size: int, drop_remainder: bool) -> int:
        calls.append((size, drop_remainder))
        return size

    joined = shard(1).batch(1).concat(shard(2).batch(2, drop_remainder=True))
    whole = NumpySlicesDataset(ROWS, shuffle=False).batch(2)
    for unchanged in (whole, shard(1), shard(1).repeat().batch(2).take(4)):
        assert batches(shard_evenly(unchanged, agree)) == batches(unchanged)
    assert calls == []
    assert batches(shard_evenly(joined, agree)) == [[2.0], [8.0]]
    assert calls == [(2, False), (0, True)]


def test_empty_shard_raises_for_unknown_shapes() -> None:
    nothing = Take(Batch(NumpySlicesDataset([1.0])._node, 1), 0)
    rows = EqualLengthShards(nothing, 1, nothing.blocks)
    with pytest.raises(RuntimeError, match="its shard of the data is empty"):
        next(rows.blocks(initial_key(), 1))
