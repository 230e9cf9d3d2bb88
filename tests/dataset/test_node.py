"""Nodes: errors of the code that a pipeline calls."""
# Functions of users carry no types; the lambdas here stand for them.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from collections.abc import Iterator

import pytest

import minispore.dataset as ds
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
        numbers().filter(Failing()),
        numbers().batch(Failing()),
        numbers().batch(2, per_batch_map=Failing()),
    ],
)
def test_error_in_user_code_names_it_as_the_cause(dataset: ds.Dataset) -> None:
    with pytest.raises(RuntimeError, match="'Failing.*' in the .* ZeroDivisionError") as failure:
        rows(dataset)
    assert isinstance(failure.value.__cause__, ZeroDivisionError)
