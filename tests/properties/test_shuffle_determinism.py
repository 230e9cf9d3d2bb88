"""Random order is a function of seed and epoch alone; mapping and batching commute."""
# Functions of users carry no types; the lambdas here stand for them.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from collections.abc import Callable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import minispore.dataset as ds
from minispore.dataset._node import Array, EpochKey, rows_of

Change = Callable[[ds.Dataset], ds.Dataset]
changes: list[Change] = [
    lambda d: d.shuffle(2),
    lambda d: d.shuffle(5),
    lambda d: d.shuffle(100),
    lambda d: d.repeat(2),
    lambda d: d.map(lambda x: x + 100),
    lambda d: d + ds.NumpySlicesDataset([7, 8, 9], "x"),
]


@given(
    st.lists(st.integers(0, 99), min_size=1, max_size=20),
    st.lists(st.sampled_from(changes), min_size=1, max_size=4),
    st.integers(0, 2**32 - 1),
    st.integers(0, 5),
    st.integers(0, 40),
)
def test_random_order_depends_on_seed_and_epoch_only(
    numbers: list[int],
    chosen: list[Change],
    seed: int,
    number: int,
    start: int,
) -> None:
    dataset: ds.Dataset = ds.NumpySlicesDataset(numbers, "x")
    plain: ds.Dataset = ds.NumpySlicesDataset(numbers, "x", shuffle=False)
    for step in chosen:
        dataset, plain = step(dataset), step(plain)
    epoch = EpochKey(seed, seeded=True, number=number)

    def order(most: int, first: int = 0) -> list[int]:
        blocks = dataset._node.blocks(epoch, most, first)
        return [int(row[0]) for block in blocks for row in rows_of(block)]

    whole = order(64)
    unshuffled = plain.create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert sorted(whole) == sorted(int(x) for (x,) in unshuffled)
    assert order(3) == whole
    assert order(4, start) == whole[start:]


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.booleans())
def test_map_and_batch_commute_bitwise(seed: int, size: int, drop: bool) -> None:
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, (20, 3, 4, 2)).astype(np.uint8)
    operations = [
        ds.vision.Rescale(1 / 255, 0.0 if drop else -0.3),
        ds.vision.Normalize((0.1307, 0.5), (0.3081, 0.2)),
        ds.vision.HWC2CHW(),
    ]

    def one_by_one(batch: Array) -> Array:
        return np.stack([np.asarray(ds.transforms.Compose(operations)(row)) for row in batch])

    data = ds.NumpySlicesDataset(images, "image", shuffle=False)
    mapped = data.map(operations).batch(size, drop)
    batched = data.batch(size, drop).map(one_by_one)
    pairs = zip(
        mapped.create_tuple_iterator(num_epochs=1, output_numpy=True),
        batched.create_tuple_iterator(num_epochs=1, output_numpy=True),
        strict=True,
    )
    for (one,), (other,) in pairs:
        assert one.dtype == other.dtype == np.float32
        np.testing.assert_array_equal(one, other)
