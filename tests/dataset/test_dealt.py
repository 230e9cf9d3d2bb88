"""Shards as the processes of a training go through them; tests/parallel has the law."""

import numpy as np
import pytest

from minispore.dataset import Dataset, DistributedSampler, NumpySlicesDataset
from minispore.dataset._batch import Batch
from minispore.dataset._dealt import Even, dealt
from minispore.dataset._random import first_epoch
from minispore.dataset._structure import Take

ROWS = np.arange(10, dtype=np.float32).reshape(5, 2)


def shard(number: int, offset: int = -1) -> Dataset:
    return NumpySlicesDataset(ROWS, sampler=DistributedSampler(3, number, False, offset=offset))


def batches(data: Dataset) -> list[object]:
    found = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
    return [batch[..., 0].tolist() for (batch,) in found]


def test_what_is_missing_are_batches_without_rows() -> None:
    data = dealt(shard(2).batch(1), lambda _size, _drop: 3)
    found = [batch for (batch,) in data.create_tuple_iterator(num_epochs=2, output_numpy=True)]
    assert [batch.shape for batch in found] == [(1, 2), (0, 2), (0, 2)]
    assert {batch.dtype for batch in found} == {ROWS.dtype}


def test_what_is_too_much_is_left_out() -> None:
    assert batches(dealt(shard(0).batch(1), lambda _size, _drop: 1)) == [[0.0]]


def test_shards_keep_their_order() -> None:
    for offset, expected in ((-1, [[4.0]]), (0, [[4.0]]), (1, [[2.0, 8.0]]), (2, [[0.0, 6.0]])):
        assert batches(dealt(shard(2, offset).batch(2), lambda size, _: size)) == expected


def test_processes_agree_on_batches_of_shards_alone() -> None:
    asked: list[tuple[int, bool]] = []

    def agree(size: int, drop_remainder: bool) -> int:
        asked.append((size, drop_remainder))
        return size

    both = shard(1).batch(1).concat(shard(2).batch(2, drop_remainder=True))
    whole = NumpySlicesDataset(ROWS, shuffle=False).batch(2)
    for left_alone in (whole, shard(1), shard(1).repeat().batch(2).take(4)):
        assert batches(dealt(left_alone, agree)) == batches(left_alone)
    assert asked == []
    assert batches(dealt(both, agree)) == [[2.0], [8.0]]
    assert asked == [(2, False), (0, True)]


def test_a_process_must_know_what_rows_look_like() -> None:
    nothing = Take(Batch(NumpySlicesDataset([1.0])._node, 1), 0)
    rows = Even(nothing, 1, nothing.blocks)
    with pytest.raises(RuntimeError, match="nothing is left of its share of the data"):
        next(rows.blocks(first_epoch(), 1))
