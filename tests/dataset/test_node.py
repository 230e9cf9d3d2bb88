"""Nodes: errors of the code that a pipeline calls."""
# Functions of users carry no types; the lambdas here stand for them.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minispore.dataset as ds
from minispore.dataset._node import EpochKey, length, rows_of
from tests.helpers.dataset_rows import numbers, rows


class Failing:
    """A function, map-style source and iterable that fails."""

    def __call__(self, *_: object) -> int:
        return 1 // 0

    def __getitem__(self, index: int) -> int:
        return self(index)

    def __iter__(self) -> Iterator[int]:
        yield self()

    def __len__(self) -> int:
        return 3


@pytest.mark.parametrize(
    "dataset",
    [
        ds.GeneratorDataset(Failing(), "a"),
        ds.GeneratorDataset(Failing().__iter__, "a"),
        numbers().map(Failing()),
        numbers().map(ds.transforms.RandomApply([Failing()], 1.0)),
        numbers().filter(Failing()),
        numbers().batch(Failing()),
        numbers().batch(2, per_batch_map=Failing()),
    ],
)
def test_error_in_user_code_names_it_as_the_cause(dataset: ds.Dataset) -> None:
    with pytest.raises(
        RuntimeError, match="'(Fail|Rand).*' in the .* ZeroDivisionError"
    ) as failure:
        rows(dataset)
    assert isinstance(failure.value.__cause__, ZeroDivisionError)
    assert "None" not in str(failure.value)  # the row is named where it is known


@given(st.integers(0, 5))
@example(2)
def test_error_in_an_iterable_names_the_row(row: int) -> None:
    def source() -> Iterator[int]:
        yield from range(row)
        raise ZeroDivisionError

    with pytest.raises(RuntimeError, match=f"source' .* failed at row {row} of the source: Zero"):
        rows(ds.GeneratorDataset(source, "a"))


def arrays_by_number() -> ds.Dataset:
    return numbers(9).map(lambda a: np.arange(a // 3))


PIPELINES: dict[str, ds.Dataset] = {
    "filter": numbers().filter(lambda a: a % 3 > 0),
    "shapes that change": arrays_by_number(),
    "batches by a function": numbers().batch(lambda info: info.get_batch_num() + 1),
    "buckets": arrays_by_number().bucket_batch_by_length(["a"], [2], [2, 3]),
    "zip with an empty one": numbers().zip(numbers(3, "b").skip(3).repeat()),
    "zip with an endless one": numbers().zip(numbers(3, "b").repeat()),
    "joined with an empty one": numbers(2) + numbers(2).skip(5) + numbers(3),
    "repetitions": numbers(3).repeat(3).take(7),
    "shuffled": numbers().shuffle(4),
}


@pytest.mark.parametrize("kind", PIPELINES)
@given(max_rows=st.integers(1, 5), start=st.integers(0, 11))
@example(max_rows=1, start=0)
@example(max_rows=3, start=2)
def test_blocks_have_rows_but_not_too_many(kind: str, max_rows: int, start: int) -> None:
    node, key = PIPELINES[kind]._node, EpochKey(3, seeded=True)
    complete = [bytes(row[0]) for block in node.blocks(key, 100) for row in rows_of(block)]
    assert len(complete) == node.size()
    blocks = list(node.blocks(key, max_rows, start))
    assert all(1 <= length(block) <= max_rows for block in blocks)
    assert [bytes(row[0]) for block in blocks for row in rows_of(block)] == complete[start:]
