"""Samplers: which rows they choose, in which order, and their errors."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minispore as ms
import minispore.dataset as ds
from minispore.dataset import Dataset, NumpySlicesDataset
from tests.helpers.dataset_rows import order


def sampled(sampler: object, count: int = 10) -> list[object]:
    data = ds.NumpySlicesDataset(list(range(count)), "a", sampler=sampler)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    return [row.item() for (row,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]


@given(st.integers(1, 30), st.integers(1, 6), st.integers(-1, 5))
def test_shards_of_a_random_order_cover_all_rows(count: int, shards: int, offset: int) -> None:
    offset = min(offset, shards - 1)
    all_shards = [
        sampled(ds.DistributedSampler(shards, i, offset=offset), count) for i in range(shards)
    ]
    together = [row for shard in all_shards for row in shard]
    assert set(together) == set(range(count))
    if offset >= 0:
        assert len(together) == count
    else:
        assert {len(shard) for shard in all_shards} == {-(-count // shards)}


class Even(ds.Sampler):
    def __iter__(self) -> Iterator[int]:
        return iter(range(0, self.dataset_size, 2))


@given(
    count=st.integers(1, 12),
    indices=st.lists(st.integers(0, 9), min_size=1),
    samples=st.none() | st.integers(1, 12),
    shards=st.integers(1, 5),
    offset=st.integers(-1, 4),
)
def test_samplers_select_the_rows_of_their_definitions(
    count: int, indices: list[int], samples: int | None, shards: int, offset: int
) -> None:
    start, offset = min(indices[0], count - 1), min(offset, shards - 1)
    assert sampled(ds.SequentialSampler(start, samples), count) == [*range(count)][start:][:samples]
    assert sampled(ds.SubsetSampler(indices, samples)) == indices[:samples]
    assert sampled(ds.SubsetSampler(start)) == sampled(np.array([start])) == [start]
    assert sampled(Even(samples), count) == [*range(0, count, 2)][:samples]
    for i in range(shards):
        actual = sampled(ds.DistributedSampler(shards, i, False, offset=offset), count)
        if offset < 0:  # the rows are repeated from the first to fill the last shards
            assert actual == [row % count for row in range(i, -(-count // shards) * shards, shards)]
        else:
            assert actual == [row for row in range(count) if (row + offset) % shards == i]


Count = int | None


def ten(**arguments: Any) -> ds.Dataset:  # noqa: ANN401 (those of the source)
    return ds.NumpySlicesDataset(list(range(10)), **arguments)


# fmt: off
SELECTED: dict[str, tuple[int, Callable[[Count], ds.Dataset]]] = {
    "SequentialSampler": (7, lambda n: ten(sampler=ds.SequentialSampler(3, n))),
    "RandomSampler": (10, lambda n: ten(sampler=ds.RandomSampler(num_samples=n))),
    "with replacement": (10, lambda n: ten(sampler=ds.RandomSampler(True, n))),
    "list": (3, lambda n: ten(sampler=[5, 2, 5], num_samples=n)),
    "SubsetSampler": (3, lambda n: ten(sampler=ds.SubsetSampler([5, 2, 5], n))),
    "SubsetRandomSampler": (3, lambda n: ten(sampler=ds.SubsetRandomSampler([5, 2, 5], n))),
    "weighted": (10, lambda n: ten(sampler=ds.WeightedRandomSampler([0, 1, 3], n))),
    "two weights": (2, lambda n: ten(sampler=ds.WeightedRandomSampler([0, 1, 3], n, False))),
    "DistributedSampler": (4, lambda n: ten(sampler=ds.DistributedSampler(3, 2, num_samples=n))),
    "offset": (3, lambda n: ten(sampler=ds.DistributedSampler(3, 2, num_samples=n, offset=0))),
    "Sampler": (5, lambda n: ten(sampler=Even(n))),
    "IterSampler": (5, lambda n: ten(sampler=ds.IterSampler(Even(), n))),
    "IterSampler of a limited sampler": (5, lambda n: ten(sampler=ds.IterSampler(Even(n), 9))),
    "shuffled source": (10, lambda n: ten(num_samples=n)),
    "ordered source": (10, lambda n: ten(num_samples=n, shuffle=False)),
    "shard of a source": (4, lambda n: ten(num_samples=n, num_shards=3, shard_id=2)),
    "object": (10, lambda n: ds.GeneratorDataset([*range(10)], "x", num_samples=n)),
    "iterable with a size": (10, lambda n: ds.GeneratorDataset({*range(10)}, "x", num_samples=n)),
    "iterator": (10, lambda n: ds.GeneratorDataset(iter(range(10)), "x", num_samples=n)),
}
# fmt: on


@pytest.mark.parametrize("kind", SELECTED)
@given(count=st.none() | st.integers(0, 12))
@example(count=0)
@example(count=2)
def test_num_samples_limits_the_rows_of_an_epoch(kind: str, count: Count) -> None:
    """0 is no limit, as in MindSpore."""
    size, make = SELECTED[kind]
    data = make(count)
    assert len(data) == len(order(data)) == min(size, count or size)
    assert ds.RandomSampler(num_samples=count).get_num_samples() == count


@given(st.integers(1, 40), st.integers(1, 4), st.integers(1, 4), st.booleans())
def test_shards_partition_the_rows_of_one_process(
    rows: int, shards: int, batch: int, shuffle: bool
) -> None:
    """As in MindSpore, the rows are repeated from the first to fill the last shards."""
    ms.set_seed(3)
    numbers = {"x": np.arange(rows, dtype=np.int32)}

    def order(data: Dataset) -> list[int]:
        iterator = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
        return [int(x) for (column,) in iterator for x in column]

    unsharded = order(NumpySlicesDataset(numbers, shuffle=shuffle).batch(batch))
    shard_size = -(-rows // shards)
    filled = [unsharded[i % rows] for i in range(shard_size * shards)]
    for i in range(shards):
        part = NumpySlicesDataset(numbers, shuffle=shuffle, num_shards=shards, shard_id=i)
        assert order(part.batch(batch)) == filled[i::shards]
        assert len(part.batch(batch)) == -(-shard_size // batch)
