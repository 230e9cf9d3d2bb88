"""Properties of datasets: sizes and counts. Columns and rows are compared in tests/properties."""
# Functions of users carry no types; the lambdas here stand for them.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.dataset_rows import numbers

COUNTS = st.integers(1, 12)


@given(rows=COUNTS, first=COUNTS, last=COUNTS, batch=COUNTS)
def test_last_repeat_and_batch_are_reported(rows: int, first: int, last: int, batch: int) -> None:
    data = numbers(rows)
    assert data.get_repeat_count() == data.get_batch_size() == 1
    for pipeline in (
        data.repeat(first).batch(batch).repeat(last),
        data.batch(batch).repeat(first).repeat(last).shuffle(2),
        data.batch(batch).repeat(last) + data.batch(3 * batch),
    ):
        assert pipeline.get_batch_size() == batch
    assert data.repeat(first).repeat(last).batch(batch).get_repeat_count() == last
    assert data.repeat(first).batch(batch).repeat(last).filter(bool).get_repeat_count() == last
    assert data.batch(batch).zip(numbers(rows, "b")).get_batch_size() == batch
    assert data.batch(lambda info: batch).get_batch_size() == -1


@given(rows=COUNTS, other=COUNTS, batch=COUNTS, count=st.integers(1, 40))
def test_endless_datasets_have_the_size_of_one_repetition(
    rows: int, other: int, batch: int, count: int
) -> None:
    endless, finite = numbers(rows).repeat(), numbers(other, "b")
    assert endless.get_repeat_count() == -1
    assert len(endless) == rows
    assert len(endless.batch(batch)) == -(-rows // batch)
    assert len(endless.take(count)) == len(list(endless.take(count))) == count
    assert len(endless.zip(finite)) == len(list(endless.zip(finite))) == other
    assert len(endless.zip(finite.repeat())) == min(rows, other)
    assert list(numbers(rows).skip(rows).repeat()) == []


@given(rows=COUNTS, batch=COUNTS, count=st.integers(0, 40))
def test_sizes_without_a_row(rows: int, batch: int, count: int) -> None:
    assert len(numbers(rows).skip(rows + count)) == 0
    assert len(numbers(rows).batch(rows + batch, drop_remainder=True)) == 0
    assert len(numbers(rows).take()) == len(numbers(rows).take(rows + batch)) == rows


def test_apply_returns_the_result() -> None:
    data = numbers(2)
    assert data.apply(lambda given: given) is data
