"""Random orders: all possible ones occur, as often as they must, and independently of one another.

A program that shuffles badly passes every test of "the same rows in another order". So these tests
count how often each outcome occurs, among so few rows that all outcomes can be listed.
"""
# Functions of users carry no types; the lambdas here stand for them.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

import math
from collections.abc import Callable, Iterable
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minispore as ms
import minispore.dataset as ds
from minispore.dataset import transforms, vision
from minispore.dataset._node import EpochKey, rows_of
from minispore.dataset.idx import write_idx
from minispore.dataset.samplers import BuiltinSampler
from minispore.dataset.transforms.transforms import RandomTransform
from minispore.utils.arrays import Float64Array
from tests.helpers.randomness import assert_frequencies, uniform

Order = tuple[int, ...]
Make = Callable[[int], ds.Dataset]
SEEDS = st.integers(0, 2**32 - 1)


def numbers(count: int, shuffle: bool | None = False) -> ds.Dataset:
    return ds.NumpySlicesDataset(list(range(count)), "x", shuffle=shuffle)


def sampled(sampler: Callable[[int], BuiltinSampler]) -> Make:
    return lambda count: ds.NumpySlicesDataset(list(range(count)), "x", sampler=sampler(count))


def joined(parts: Iterable[ds.Dataset]) -> ds.Dataset:
    first, *others = parts
    return first.concat(others)


def order(data: ds.Dataset, seed: int, epoch: int = 0) -> Order:
    """Return the numbers in the rows of an epoch."""
    blocks = data._node.blocks(EpochKey(seed, seeded=True, number=epoch), 64)
    return tuple(
        int(x) for block in blocks for row in rows_of(block) for array in row for x in array.ravel()
    )


# Each shuffles all rows, in every epoch.
SHUFFLED: dict[str, Make] = {
    "shuffle": lambda count: numbers(count).shuffle(count),
    "shuffle with a larger buffer": lambda count: numbers(count).shuffle(count + 5),
    "source by default": lambda count: numbers(count, None),
    "object source by default": lambda count: ds.GeneratorDataset(list(range(count)), "x"),
    "RandomSampler": sampled(lambda _: ds.RandomSampler()),
    "SubsetRandomSampler": sampled(lambda count: ds.SubsetRandomSampler(range(count))),
    "DistributedSampler": sampled(lambda _: ds.DistributedSampler(1, 0)),
    "one shard by default": lambda count: ds.NumpySlicesDataset(
        list(range(count)), "x", num_shards=1, shard_id=0
    ),
    "WeightedRandomSampler": sampled(
        lambda count: ds.WeightedRandomSampler([3] * count, replacement=False)
    ),
    "filtered source": lambda count: numbers(count + 1, True).filter(lambda x: x < count),
    "repeat": lambda count: numbers(count, True).repeat(2).take(count),
    "second repetition": lambda count: numbers(count, True).repeat(2).skip(count),
    "first pass of an endless repeat": lambda count: numbers(count, True).repeat().take(count),
    "second pass of an endless repeat": lambda count: (
        numbers(count, True).repeat().take(2 * count).skip(count)
    ),
    "second of two joined": lambda count: (numbers(1) + numbers(count, True)).skip(1),
}  # fmt: skip


@pytest.mark.parametrize("kind", SHUFFLED)
def test_all_orders_of_four_rows_are_equally_frequent(kind: str) -> None:
    data = SHUFFLED[kind](4)
    expected = uniform(permutations(range(4)))
    assert_frequencies((order(data, seed) for seed in range(600)), expected)
    assert_frequencies((order(data, 5, epoch) for epoch in range(600)), expected)


@pytest.mark.parametrize("kind", SHUFFLED)
def test_orders_of_epochs_and_of_seeds_are_independent(kind: str) -> None:
    data = SHUFFLED[kind](2)
    expected = uniform(product(permutations(range(2)), repeat=2))
    for seed, epoch in ((0, 1), (1, 0), (1, 1)):
        pairs = ((order(data, i, 3), order(data, i + seed, 3 + epoch)) for i in range(0, 400, 2))
        assert_frequencies(pairs, expected)
    # A sum of seed and epoch would make epoch 1 of one seed epoch 0 of the next.
    pairs = ((order(data, i, 1), order(data, i + 1, 0)) for i in range(200))
    assert_frequencies(pairs, expected)


@pytest.mark.parametrize("kind", SHUFFLED)
@given(seed=SEEDS)
def test_epochs_of_many_rows_are_uncorrelated(kind: str, seed: int) -> None:
    data = SHUFFLED[kind](300)
    orders = np.array([range(300), *(order(data, seed, epoch) for epoch in range(3))])
    correlations = np.corrcoef(orders)[np.triu_indices(4, 1)]
    # Their standard deviation is 1 / sqrt(299).
    assert np.abs(correlations).max() < 7 / np.sqrt(299)


@given(seed=SEEDS, kind=st.sampled_from(list(SHUFFLED)), epoch=st.integers(0, 9))
def test_equal_seeds_give_equal_orders(seed: int, kind: str, epoch: int) -> None:
    assert order(SHUFFLED[kind](30), seed, epoch) == order(SHUFFLED[kind](30), seed, epoch)


JOINED: dict[str, ds.Dataset] = {
    "repetitions": numbers(2, True).repeat(2),
    "joined datasets": numbers(2, True) + numbers(2, True),
    "dataset joined with itself": joined([numbers(2, True)] * 2),
    "shuffles one after the other": numbers(2).shuffle(2) + numbers(2, True),
    "repetitions of a shuffle": numbers(2).shuffle(2).repeat(2),
    "zipped datasets": numbers(2, True).zip(numbers(2, True).rename("x", "y")).batch(2),
}  # fmt: skip


@pytest.mark.parametrize("kind", JOINED)
def test_shuffles_of_one_epoch_are_independent(kind: str) -> None:
    """Each node of a pipeline has its own random stream."""
    orders = [(*a, *b) for a, b in product([(0, 1), (1, 0)], repeat=2)]
    draws = (order(JOINED[kind], seed, seed % 3) for seed in range(200))
    assert_frequencies(draws, uniform(orders))


@pytest.mark.parametrize("count", [2, None])
def test_epochs_of_a_repeat_share_no_order(count: int | None) -> None:
    """Repetition 1 of epoch 0 differs from repetition 0 of epoch 1."""
    twice = numbers(20, True).repeat(count).take(40)
    rows = [row for epoch in range(3) for row in order(twice, 3, epoch)]
    assert len({tuple(rows[i : i + 20]) for i in range(0, 120, 20)}) == 6


def orders_of_buffer(buffer: Order, unread: Order, size: int) -> dict[Order, float]:
    """Return the probability of each order in which rows leave a shuffle's buffer."""
    if not unread:
        return uniform(permutations(buffer))
    if len(buffer) < size:
        return orders_of_buffer((*buffer, unread[0]), unread[1:], size)
    result: dict[Order, float] = {}
    for i, row in enumerate(buffer):
        others = (*buffer[:i], unread[0], *buffer[i + 1 :])
        for following, probability in orders_of_buffer(others, unread[1:], size).items():
            result[row, *following] = probability / size
    return result


@pytest.mark.parametrize(("count", "size"), [(3, 2), (4, 2), (4, 3), (4, 4), (3, 7), (5, 2)])
def test_orders_of_shuffle_have_the_probabilities_of_its_buffer(count: int, size: int) -> None:
    data = numbers(count).shuffle(size)
    expected = orders_of_buffer((), tuple(range(count)), size)
    assert_frequencies((order(data, seed) for seed in range(800)), expected)


@given(seed=SEEDS, count=st.integers(1, 200), size=st.integers(2, 50))
def test_buffer_size_limits_how_far_a_row_moves_forward(seed: int, count: int, size: int) -> None:
    rows = np.array(order(numbers(count).shuffle(size), seed))
    assert sorted(rows) == list(range(count))
    assert (rows - np.arange(count)).max() <= size - 1


def test_long_shuffles_do_not_repeat_their_random_numbers() -> None:
    rows = np.array(order(numbers(5000).shuffle(100), 1)) - np.arange(5000)
    moves = (rows - rows.mean()) / rows.std()
    correlations = np.correlate(moves, moves[:2000]) / 2000
    assert correlations[0] > 0.9
    assert np.abs(correlations[500:]).max() < 0.2


SELECTED: dict[str, tuple[Callable[[int], BuiltinSampler], Callable[[int], Iterable[Order]]]] = {
    "RandomSampler": (
        lambda count: ds.RandomSampler(num_samples=2),
        lambda count: permutations(range(count), 2),
    ),
    "SubsetRandomSampler": (
        lambda count: ds.SubsetRandomSampler(range(count), 2),
        lambda count: permutations(range(count), 2),
    ),
    "DistributedSampler": (
        lambda _: ds.DistributedSampler(2, 1, num_samples=2),
        lambda count: permutations(range(count), 2),
    ),
    "WeightedRandomSampler": (
        lambda count: ds.WeightedRandomSampler([2] * count, 2, replacement=False),
        lambda count: permutations(range(count), 2),
    ),
    "RandomSampler with replacement": (
        lambda _: ds.RandomSampler(replacement=True, num_samples=2),
        lambda count: product(range(count), repeat=2),
    ),
    "WeightedRandomSampler with replacement": (
        lambda count: ds.WeightedRandomSampler([2] * count, 2),
        lambda count: product(range(count), repeat=2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", SELECTED)
def test_num_samples_selects_from_all_rows(kind: str) -> None:
    sampler, outcomes = SELECTED[kind]
    data = sampled(sampler)(4)
    assert_frequencies((order(data, seed) for seed in range(500)), uniform(outcomes(4)))


WEIGHTS = st.lists(st.integers(0, 4), min_size=1, max_size=4).filter(any)


@given(weights=WEIGHTS, seed=SEEDS)
@example(weights=[1, 0, 3], seed=0)
def test_weights_are_the_frequencies_of_rows(weights: list[int], seed: int) -> None:
    part = np.array(weights) / sum(weights)
    pair = sampled(lambda _: ds.WeightedRandomSampler(weights, 2))(max(2, len(weights)))
    draws = [order(pair, seed, epoch) for epoch in range(300)]
    both = product(range(len(part)), repeat=2)
    assert_frequencies(draws, {(i, j): float(part[i] * part[j]) for i, j in both})
    once = sampled(lambda _: ds.WeightedRandomSampler(weights, replacement=False))(len(weights))
    draws = [order(once, seed, epoch) for epoch in range(300)]
    assert_frequencies((draw[0] for draw in draws), dict(enumerate(map(float, part))))
    assert {tuple(sorted(draw)) for draw in draws} == {tuple(np.flatnonzero(part))}


@given(seeds=st.lists(SEEDS, min_size=3, max_size=3), count=st.integers(1, 12))
def test_shards_without_a_seed_divide_one_random_order(seeds: list[int], count: int) -> None:
    """Processes draw other random numbers, but must shuffle alike."""
    samplers = [ds.DistributedSampler(3, i, offset=0) for i in range(3)]
    rows: list[int] = []
    for sampler, seed in zip(samplers, seeds, strict=True):
        rows += sampler.epoch_indices(count, EpochKey(seed, seeded=False)).tolist()
    assert sorted(rows) == list(range(count))
    keys = (EpochKey(seeds[0], seeded=False, number=epoch) for epoch in range(200))
    draws = (tuple(ds.DistributedSampler(1, 0).epoch_indices(2, key)) for key in keys)
    assert_frequencies(draws, uniform(permutations(range(2))))


@pytest.mark.parametrize("indexed", [True, False])
def test_randomized_split_draws_every_part_equally_often(indexed: bool) -> None:
    source = numbers(4) if indexed else numbers(4).map(lambda x: x)
    parts: list[Order] = []
    for seed in range(300):
        ms.set_seed(seed)
        first, second = (order(part, 0) for part in source.split([2, 2]))
        assert sorted(first + second) == list(range(4))
        parts.append(first)
    assert_frequencies(parts, uniform(permutations(range(4), 2)))
    assert [order(part, 0) for part in source.split([0.5, 0.5], randomize=False)] == [
        (0, 1),
        (2, 3),
    ]


# The branch of the keys of a split.
SPLIT = 2**32 - 1


class Draw(RandomTransform):
    """Appends the random number of a row, which no other row of any epoch may have."""

    def transform(self, uniforms: Float64Array, *values: object) -> object:
        """Return the values and the number."""
        return (*values, float(uniforms[0]))


CHANGES: dict[str, Callable[[ds.Dataset, int], ds.Dataset]] = {
    "map": lambda data, number: data.map(Draw(), "row", ["row", f"drawn_{number}"]),
    "shuffle": lambda data, _: data.shuffle(64),
    "repeat": lambda data, _: data.repeat(2).take(20),
    "endless repeat": lambda data, _: data.repeat().take(20),
    "split": lambda data, _: data.split([0.5, 0.5])[1],
    "split in order": lambda data, _: data.split([0.25, 0.75], randomize=False)[1],
    "filter": lambda data, _: data.filter(lambda x: x != 3, "row"),
    "concat": lambda data, _: data + data,
    "zip": lambda data, number: data.zip(
        data.rename(data.get_col_names(), [f"{name}_{number}" for name in data.get_col_names()])
    ),
}


@given(
    shuffle=st.booleans(),
    kinds=st.lists(st.sampled_from(list(CHANGES)), max_size=4),
    seed=st.integers(1, 2**32 - 1),  # sizes are counted with the seed 0
    taken=st.integers(0, 9),
)
@example(shuffle=True, kinds=["endless repeat"], seed=1, taken=5)
@example(shuffle=True, kinds=["endless repeat", "endless repeat"], seed=1, taken=5)
@example(shuffle=False, kinds=["map", "split in order"], seed=1, taken=5)
@example(shuffle=False, kinds=["map", "filter", "split"], seed=1, taken=5)
@example(shuffle=False, kinds=["split", "shuffle"], seed=1, taken=5)
@example(shuffle=False, kinds=["split", "split"], seed=1, taken=5)
@example(shuffle=True, kinds=["map", "split", "map", "split"], seed=1, taken=5)
def test_no_two_draws_of_a_pipeline_share_random_numbers(
    shuffle: bool, kinds: list[str], seed: int, taken: int
) -> None:
    """Those of epochs, passes of a repeat, operations, parts of a split, columns and rows."""
    used: list[EpochKey] = []
    seed_sequence = EpochKey.seed_sequence

    def record(key: EpochKey) -> np.random.SeedSequence:
        if key.seed == seed:
            used.append(EpochKey(key.seed, key.seeded, key.number, key.path))
        return seed_sequence(key)

    ds.config.set_seed(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EpochKey, "seed_sequence", record)
        data: ds.Dataset = numbers(16, shuffle).rename("x", "row")
        of_splits: list[EpochKey] = []
        for number, kind in enumerate([*kinds, "map"]):
            data.get_dataset_size()  # counts rows of epoch 0 if it must
            used.clear()
            data = CHANGES[kind](data, number)
            of_splits += used
        streams = [set(of_splits)]  # and those of each epoch
        assert len(streams[0]) == len(of_splits)
        epochs: list[list[list[float]]] = []
        iterator = data.create_tuple_iterator(num_epochs=3, output_numpy=True)
        for _ in range(3):
            used.clear()
            epochs.append([[x.item() for x in row] for row in iterator])
            streams.append(set(used))
            drawn_keys = [key for key in used if SPLIT not in key.path]
            assert len(set(drawn_keys)) == len(drawn_keys)
    # A split has fixed the orders before it, and nothing else is drawn twice.
    shared = (one & other for one, other in combinations(streams, 2))
    assert all(SPLIT in key.path for keys in shared for key in keys)
    drawn = [x for rows in epochs for row in rows for x in row if x % 1]
    assert len(set(drawn)) == len(drawn) > 0
    iterator = data.create_tuple_iterator(num_epochs=3, output_numpy=True)
    assert [[x.item() for x in row] for row in iterator] == epochs[0]
    assert all(next(iterator, None) for _ in range(min(taken, len(epochs[1]))))
    resumed = data.create_tuple_iterator(num_epochs=3, output_numpy=True)
    resumed.load_state_dict(iterator.state_dict())
    rest = [[[x.item() for x in row] for row in resumed] for _ in range(2)]
    assert rest == [epochs[1][taken:], epochs[2]]


@pytest.mark.parametrize("kind", ["filter", "buckets"])
def test_draws_before_a_split_move_no_row_to_another_part(kind: str) -> None:
    """They are others in each epoch, also where they decide which rows there are."""
    ds.config.set_seed(3)
    rows = numbers(40, True).map(Draw(), "x", ["x", "drawn"])
    if kind == "filter":
        rows = rows.filter(lambda drawn: drawn < 0.5, "drawn").batch(1)
    else:
        rows = rows.bucket_batch_by_length(["drawn"], [1], [3, 3], lambda drawn: 2 * drawn)
    count = rows.get_dataset_size()
    parts = rows.split([count // 2, count - count // 2])
    iterators = [part.create_tuple_iterator(output_numpy=True) for part in parts]
    kept: list[list[int]] = []
    drawn: list[float] = []
    for _ in range(3):
        for rows_of_part in iterators:
            listed = list(rows_of_part)
            kept.append([int(x) for row, _ in listed for x in row])
            drawn += [float(x) for _, row in listed for x in row]
    assert kept[:2] == kept[2:4] == kept[4:]
    assert not set(kept[0]) & set(kept[1])
    assert len(set(drawn)) == len(drawn)


DIVIDED: dict[str, Callable[[], ds.Dataset]] = {
    "shuffled source": lambda: numbers(4, True).split([2, 2])[0],
    "shuffled source, in order": lambda: numbers(4, True).split([2, 2], randomize=False)[1],
    "shuffled source, batched": lambda: numbers(4, True).split([2, 2])[0].batch(1),
    "shuffled afterwards": lambda: numbers(4).split([2, 2])[1].shuffle(2),
    "shuffled afterwards, batched": lambda: numbers(4).split([2, 2])[1].shuffle(2).batch(1),
    "all rows": lambda: numbers(4).split([4])[0].shuffle(4).batch(1).take(2),
    "all rows, in order": lambda: numbers(4, True).split([4], randomize=False)[0].take(2),
    "divided twice": lambda: numbers(5).split([4, 1])[0].split([2, 2])[0].batch(1),
    "mapped": lambda: numbers(4, True).map(lambda x: x).split([2, 2])[0].shuffle(2),
}  # fmt: skip


@pytest.mark.parametrize("kind", DIVIDED)
def test_orders_of_the_parts_of_a_split_are_equally_frequent(kind: str) -> None:
    def first_rows(seed: int) -> Order:
        ms.set_seed(seed)
        iterator = DIVIDED[kind]().create_tuple_iterator(num_epochs=1, output_numpy=True)
        return tuple(int(x.item()) for (x,) in iterator)

    rows = range(5 if kind == "divided twice" else 4)
    assert_frequencies(map(first_rows, range(500)), uniform(permutations(rows, 2)))


@pytest.mark.parametrize("randomize", [True, False])
def test_part_of_a_split_is_shuffled_if_the_source_is(randomize: bool) -> None:
    ms.set_seed(2)
    for shuffle, expected in ((True, 24), (False, 1)):
        part = numbers(9, shuffle).split([4, 5], randomize)[0]
        rows = order(part, 0)
        orders = [order(part, 0, epoch) for epoch in range(600)]
        assert len(set(orders)) == expected
        if shuffle:
            assert_frequencies(orders, uniform(permutations(rows)))


def flat(value: object) -> Order:
    return tuple(np.asarray(value).ravel().astype(int).tolist())


GRID = np.arange(9).reshape(3, 3)
ADD_OR_DOUBLE: list[Callable[[Any], object]] = [lambda x: x + 1, lambda x: x * 2]
# A random transform, its argument, and the probability of each result.
TRANSFORMED: dict[str, tuple[RandomTransform, object, dict[Order, float]]] = {
    "RandomHorizontalFlip": (
        vision.RandomHorizontalFlip(0.3), [[1, 2]], {(1, 2): 0.7, (2, 1): 0.3}
    ),
    "RandomVerticalFlip": (
        vision.RandomVerticalFlip(0.3), [[1], [2]], {(1, 2): 0.7, (2, 1): 0.3}
    ),
    "RandomCrop": (
        vision.RandomCrop((1, 2)), GRID, uniform((3 * i + j, 3 * i + j + 1)
        for i in range(3) for j in range(2))
    ),
    "RandomCrop with padding": (
        vision.RandomCrop(1, (1, 0)), [[5]], {(5,): 1 / 3, (0,): 2 / 3}
    ),
    "RandomCrop padded if needed": (
        vision.RandomCrop((1, 2), pad_if_needed=True), [[5]], uniform([(0, 5), (5, 0)])
    ),
    "RandomResizedCrop": (
        vision.RandomResizedCrop(1, (1 / 9, 1 / 9), (1, 1)), GRID.astype("u1"),
        uniform((i,) for i in range(9))
    ),
    "RandomApply": (transforms.RandomApply(ADD_OR_DOUBLE, 0.3), 3, {(3,): 0.7, (8,): 0.3}),
    "RandomChoice": (
        transforms.RandomChoice([*ADD_OR_DOUBLE, abs]), 3, uniform([(4,), (6,), (3,)])
    ),
    "RandomOrder": (transforms.RandomOrder(ADD_OR_DOUBLE), 3, uniform([(7,), (8,)])),
    "nested": (
        transforms.RandomOrder([transforms.RandomApply([f], 0.5) for f in ADD_OR_DOUBLE]), 3,
        {(3,): 1 / 4, (4,): 1 / 4, (6,): 1 / 4, (7,): 1 / 8, (8,): 1 / 8}
    ),
}  # fmt: skip


def transformed(transform: object, value: object, count: int) -> ds.Dataset:
    return ds.NumpySlicesDataset([value] * count, "x", shuffle=False).map(transform)  # type: ignore[arg-type]


def values(data: ds.Dataset, seed: int = 0, epoch: int = 0, start: int = 0) -> list[Order]:
    blocks = data._node.blocks(EpochKey(seed, seeded=True, number=epoch), 7, start)
    return [flat(row) for block in blocks for row in rows_of(block)]


@pytest.mark.parametrize("kind", TRANSFORMED)
def test_results_of_random_transforms_have_their_probabilities(kind: str) -> None:
    transform, value, expected = TRANSFORMED[kind]
    assert_frequencies(values(transformed(transform, value, 600)), expected)
    one = transformed(transform, value, 1)
    assert_frequencies((values(one, seed)[0] for seed in range(600)), expected)
    assert_frequencies((values(one, 5, epoch)[0] for epoch in range(600)), expected)
    ms.set_seed(3)
    called = [flat(transform(value)) for _ in range(600)]
    assert_frequencies(called, expected)
    ms.set_seed(3)
    assert [flat(transform(value)) for _ in range(600)] == called


# Random amounts that a transform chooses, and the bounds of each.
AMOUNTS: dict[str, tuple[Any, list[tuple[float, float]], Callable[[Any], tuple[float, ...]]]] = {
    "rotation": (vision.RandomRotation((-30, 70)), [(-30, 70)], lambda chosen: (chosen.degrees,)),
    "color": (vision.RandomColor((0.5, 1.5)), [(0.5, 1.5)], lambda chosen: (chosen.factor,)),
    "affine map": (
        vision.RandomAffine((-30, 70), (0.1, 0.5, -1, 1), (0.5, 2), (1, 3, -4, -2)),
        [(-30, 70), (0.5, 2), (0.1, 0.5), (-1, 1), (1, 3), (-4, -2)],
        lambda chosen: (chosen.degrees, chosen.scale, *chosen.translate, *chosen.shear),
    ),
}


@pytest.mark.parametrize("kind", AMOUNTS)
def test_amounts_of_random_transforms_are_uniform_and_independent(kind: str) -> None:
    transform, bounds, amounts_of = AMOUNTS[kind]
    rng = np.random.default_rng(1)
    chosen = [amounts_of(transform.choose(rng.random(len(bounds)), 1, 1)) for _ in range(600)]
    amounts = [
        tuple(tenths(x, *ends) for x, ends in zip(drawn, bounds, strict=True)) for drawn in chosen
    ]
    for column in zip(*amounts, strict=True):
        assert_frequencies(column, uniform(range(10)))
    halves = [tuple(amount < 5 for amount in row) for row in amounts]
    for i, j in combinations(range(len(bounds)), 2):
        pairs = ((row[i], row[j]) for row in halves)
        assert_frequencies(pairs, uniform(product([True, False], repeat=2)))


def test_one_number_stands_for_symmetric_bounds() -> None:
    assert vision.RandomRotation(20).degrees == (-20, 20)
    assert vision.RandomAffine(20, shear=5).shear == ((-5, 5), (0, 0))
    assert vision.RandomColorAdjust(2, 0.1, 0.2, 0.3).brightness == (0, 3)


def tenths(value: float, low: float, high: float) -> int:
    return math.floor((value - low) / (high - low) * 10)


def test_amounts_and_order_of_random_color_adjust_are_uniform() -> None:
    # A red of 300 is limited to 255, whose gray is 76; the gray of a red of 100 is 30.
    color = vision.RandomColorAdjust((3, 3), saturation=(0, 0))
    red = np.array([[[100, 0, 0]]], np.uint8)
    bright_first, gray_first = (76,) * 3, (90,) * 3
    assert_frequencies(values(transformed(color, red, 600)), {bright_first: 0.5, gray_first: 0.5})
    brightness = vision.RandomColorAdjust(0.5)
    results = values(transformed(brightness, np.full((1, 1, 3), 200, np.float32), 600))
    assert_frequencies((tenths(result[0], 100, 300) for result in results), uniform(range(10)))


def test_parts_of_random_resized_crop_have_uniform_areas_and_logarithmic_ratios() -> None:
    rng = np.random.default_rng(1)

    def part(scale: tuple[float, float], ratio: tuple[float, float]) -> tuple[int, int] | None:
        crop = vision.RandomResizedCrop(1, scale, ratio)
        return crop._draw_part(rng.random(20), 4, 4)

    # A side of round(sqrt(area)), where the area is between 1 and 16.
    areas = {(1, 1): 1.25 / 15, (2, 2): 4 / 15, (3, 3): 6 / 15, (4, 4): 3.75 / 15}
    assert_frequencies((part((1 / 16, 1), (1, 1)) for _ in range(600)), areas)
    # An area of 4, and the sides 2 / root and 2 * root, where the root is between 1/2 and 2.
    roots = [(4, 1, 4 / 7), (3, 1, 3 / 4), (3, 2, 4 / 5), (2, 2, 5 / 4), (2, 3, 4 / 3),
             (1, 3, 7 / 4), (1, 4, 2.0)]  # fmt: skip
    bounds = [math.log2(0.5), *(math.log2(root) for *_, root in roots)]
    ratios = {
        (h, w): (b - a) / 2 for (h, w, _), a, b in zip(roots, bounds, bounds[1:], strict=False)
    }
    assert_frequencies((part((1 / 4, 1 / 4), (1 / 4, 4)) for _ in range(900)), ratios)
    big = vision.RandomResizedCrop(1, (0.1, 0.3), (0.5, 2))
    parts = [big._draw_part(rng.random(20), 1000, 1000) or (0, 0) for _ in range(300)]
    halves = ((height * width > 200_000, width > height) for height, width in parts)
    assert_frequencies(halves, uniform(product([True, False], repeat=2)))
    # If no part fits, the largest one in the middle is taken.
    crop = vision.RandomResizedCrop((1, 2), (2, 3), (2, 2))
    assert flat(crop(GRID.astype("u1"))) == flat(vision.Resize((1, 2))(GRID[1:].astype("u1")))


FLIP = transforms.RandomChoice([lambda x: x, lambda x: x + 1])
TWO_COINS: dict[str, Callable[[int], Order]] = {
    "rows": lambda seed: sum(values(transformed(FLIP, 0, 2), seed), ()),
    "transforms of one map": lambda seed: divmod(
        values(transformed([FLIP, lambda x: 2 * x, FLIP], 0, 1), seed)[0][0], 2
    ),
    "maps": lambda seed: divmod(
        values(transformed(FLIP, 0, 1).map([lambda x: 2 * x]).map(FLIP), seed)[0][0], 2
    ),
    "epochs": lambda seed: (
        values(transformed(FLIP, 0, 1), seed)[0] + values(transformed(FLIP, 0, 1), seed, 1)[0]
    ),
    "seeds": lambda seed: sum(
        (values(transformed(FLIP, 0, 1), 2 * seed + i)[0] for i in (0, 1)), ()
    ),
    "columns": lambda seed: values(
        ds.NumpySlicesDataset(([0], [0]), ["x", "y"], shuffle=False).map(FLIP, "x").map(FLIP, "y"),
        seed,
    )[0],
    "shards": lambda seed: sum((values(shard(i, 2, 2).map(FLIP), seed)[0] for i in (0, 1)), ()),
    "a row and its place in the order": lambda seed: (
        values(ds.NumpySlicesDataset([0, 2], "x").map(FLIP), seed)[0][0] // 2,
        values(ds.NumpySlicesDataset([0, 2], "x").map(FLIP), seed)[0][0] % 2,
    ),
}


def shard(number: int, shards: int, count: int, offset: int = 0) -> ds.Dataset:
    sampler = ds.DistributedSampler(shards, number, shuffle=False, offset=offset)
    return ds.NumpySlicesDataset([0] * count, "x", sampler=sampler)


@pytest.mark.parametrize("kind", TWO_COINS)
def test_random_transforms_are_independent(kind: str) -> None:
    draws = (TWO_COINS[kind](seed) for seed in range(300))
    assert_frequencies(draws, uniform(product(range(2), repeat=2)))


@given(seed=SEEDS, start=st.integers(0, 30), shards=st.integers(1, 4), offset=st.integers(-1, 3))
def test_random_numbers_of_a_row_depend_on_its_number_only(
    seed: int, start: int, shards: int, offset: int
) -> None:
    """Not on where an iteration begins, and not on the number of processes."""

    def drawn(data: ds.Dataset, start: int = 0) -> list[Order]:
        return values(data.map([FLIP, vision.Rescale(2.0, 0.0), FLIP]), seed, 2, start)

    whole = ds.NumpySlicesDataset([0] * 30, "x", shuffle=False)
    complete = drawn(whole)
    assert drawn(whole, start) == complete[start:]
    offset = min(offset, shards - 1)
    for number in range(shards):
        skipped = start // shards
        rows = complete[(number - max(offset, 0)) % shards :: shards]
        part = shard(number, shards, 30, offset)
        assert drawn(part, skipped)[: len(rows) - skipped] == rows[skipped:]


@given(seed=SEEDS)
def test_rows_per_class_are_equally_frequent(seed: int) -> None:
    labels = np.array([1, 0, 1, 1, 0])
    keys = [EpochKey(seed, seeded=True, number=epoch) for epoch in range(800)]
    draws = [tuple(ds.PKSampler(2).indices_by_label(labels, key).tolist()) for key in keys]
    pairs = [*product(product([1, 4], repeat=2), product([0, 2, 3], repeat=2))]
    assert_frequencies((draw[:2] for draw in draws), uniform(product([1, 4], repeat=2)))
    assert_frequencies((draw[2:] for draw in draws), uniform(product([0, 2, 3], repeat=2)))
    assert {(draw[:2], draw[2:]) for draw in draws} == {*pairs}
    shuffled = (ds.PKSampler(1, shuffle=True).indices_by_label(labels, key) for key in keys)
    orders = (tuple(labels[indices].tolist()) for indices in shuffled)
    assert_frequencies(orders, uniform([(0, 1), (1, 0)]))


def test_unseeded_iterators_are_independent() -> None:
    def first_rows() -> Order:
        return tuple(
            int(next(numbers(3, True).create_tuple_iterator(num_epochs=1))[0]) for _ in range(2)
        )

    assert_frequencies((first_rows() for _ in range(300)), uniform(product(range(3), repeat=2)))


@pytest.mark.parametrize("set_seed", [ms.set_seed, ds.config.set_seed])
@given(seed=SEEDS)
def test_seed_determines_the_order_of_every_epoch(
    set_seed: Callable[[int], None], seed: int
) -> None:
    data = numbers(40, True).shuffle(7)

    def epochs() -> list[list[int]]:
        iterator = data.create_tuple_iterator(num_epochs=3, output_numpy=True)
        return [[int(x) for (x,) in iterator] for _ in range(3)]

    set_seed(seed)
    first = epochs()
    assert epochs() == first
    assert len({tuple(epoch) for epoch in first}) == 3
    set_seed((seed + 1) % 2**32)
    assert all(a != b for a, b in zip(epochs(), first, strict=True))
    set_seed(seed)
    assert epochs() == first


def test_mnist_is_shuffled_by_default(tmp_path: Path) -> None:
    for prefix, digits in (("train", [0, 1]), ("t10k", [2])):
        labels = np.array(digits, np.uint8)
        write_idx(tmp_path / f"{prefix}-labels-idx1-ubyte", labels)
        write_idx(tmp_path / f"{prefix}-images-idx3-ubyte", np.zeros((len(labels), 28, 28), "u1"))
    data = ds.MnistDataset(tmp_path).project("label")
    draws = (order(data, 1, epoch) for epoch in range(200))
    assert_frequencies(draws, uniform(permutations(range(3))))
