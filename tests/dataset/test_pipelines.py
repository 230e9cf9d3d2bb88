"""Random pipelines against the same pipelines of plain Python lists."""
# Functions of users carry no types; the lambdas here stand for them.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import minispore.dataset as ds
from minispore.dataset._block import Array, length, rows_of
from minispore.dataset._random import Epoch

Rows = list[object]


class Case(NamedTuple):
    """A pipeline of one column "x", and the rows that it must give."""

    dataset: ds.Dataset
    rows: Rows


def double(x: object) -> object:
    return [double(item) for item in x] if isinstance(x, list) else 2 * x + 1  # type: ignore[operator]


def is_kept(x: object) -> bool:
    flat = np.asarray(x).reshape(-1)
    return int(flat[0]) % 3 != 0


def source(numbers: list[int], indexed: bool) -> Case:
    if indexed:
        return Case(ds.NumpySlicesDataset(numbers, "x", shuffle=False), list(numbers))
    return Case(ds.GeneratorDataset(lambda: iter(numbers), "x"), list(numbers))


def chunks(rows: Rows, size: int, drop: bool) -> Rows:
    cut: Rows = [rows[i : i + size] for i in range(0, len(rows), size)]
    return cut[: len(rows) // size] if drop else cut


sources = st.builds(source, st.lists(st.integers(-50, 50), min_size=1, max_size=12), st.booleans())
small = st.integers(1, 7)

Step = Callable[[Case], Case]


def taken(n: int) -> Step:
    return lambda c: Case(c.dataset.take(n), c.rows[:n])


def skipped(n: int) -> Step:
    return lambda c: Case(c.dataset.skip(n), c.rows[n:])


def repeated(n: int) -> Step:
    return lambda c: Case(c.dataset.repeat(n), c.rows * n)


def taken_of_endless(n: int) -> Step:
    return lambda c: Case(c.dataset.repeat().take(n), (c.rows * n)[:n])


def beside_endless(n: int) -> Step:
    def zipped(c: Case) -> Case:
        other = ds.NumpySlicesDataset(list(range(n)), "y", shuffle=False).repeat()
        return Case(other.zip(c.dataset).project("x"), c.rows)

    return zipped


def batched(n: int, drop: bool) -> Step:
    return lambda c: Case(c.dataset.batch(n, drop), chunks(c.rows, n, drop))


def doubled(c: Case) -> Case:
    return Case(c.dataset.map(lambda x: 2 * x + 1), [double(row) for row in c.rows])


def cast(c: Case) -> Case:
    return Case(c.dataset.map(ds.transforms.TypeCast(np.int64)), c.rows)


def filtered(c: Case) -> Case:
    return Case(c.dataset.filter(is_kept), [row for row in c.rows if is_kept(row)])


def appended(c: Case) -> Case:
    return Case(c.dataset + c.dataset.take(2), c.rows + c.rows[:2])


def beside(c: Case) -> Case:
    zipped = c.dataset.zip(c.dataset.skip(1).rename("x", "y")).project("x")
    return Case(zipped, c.rows[: max(0, len(c.rows) - 1)])


plain_steps: list[Step] = [doubled, cast, filtered, appended, beside]
steps = st.one_of(
    small.map(taken),
    small.map(skipped),
    small.map(taken_of_endless),
    small.map(beside_endless),
    st.integers(1, 3).map(repeated),
    st.sampled_from(plain_steps),
)
batches = st.builds(batched, small, st.booleans())


def built(case: Case, chosen: list[Step]) -> Case:
    for step in chosen:
        case = step(case)
    return case


@st.composite
def cases(draw: st.DrawFn) -> Case:
    # Batches of batches would need batches of one size, so there is one batch, then more steps.
    before = draw(st.lists(steps, max_size=4))
    batch = draw(st.lists(batches, max_size=1))
    after = draw(st.lists(steps, max_size=2))
    return built(draw(sources), [*before, *batch, *after])


def rows_from(dataset: ds.Dataset) -> Rows:
    return [x.tolist() for (x,) in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)]


@given(cases())
def test_a_pipeline_gives_the_rows_of_its_list_model(case: Case) -> None:
    assert rows_from(case.dataset) == case.rows
    assert case.dataset.get_dataset_size() == len(case.rows)


@given(cases(), st.integers(0, 30), st.integers(1, 9))
def test_starting_at_a_position_is_leaving_out_the_rows_before(
    case: Case, start: int, most: int
) -> None:
    blocks = list(case.dataset._node.blocks(Epoch(1, seeded=True), most, start))
    assert [row[0].tolist() for block in blocks for row in rows_of(block)] == case.rows[start:]
    assert all(length(block) <= most for block in blocks)


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
def test_random_order_is_a_function_of_seed_and_epoch_alone(
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
    epoch = Epoch(seed, seeded=True, number=number)

    def order(most: int, first: int = 0) -> list[int]:
        blocks = dataset._node.blocks(epoch, most, first)
        return [int(row[0]) for block in blocks for row in rows_of(block)]

    whole = order(64)
    assert sorted(whole) == sorted(np.array(rows_from(plain)).tolist())
    assert order(3) == whole
    assert order(4, start) == whole[start:]


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.booleans())
def test_map_then_batch_is_batch_then_map_bit_for_bit(seed: int, size: int, drop: bool) -> None:
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
