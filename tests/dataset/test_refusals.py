"""What is refused, as `refusals.txt` lists it, and arguments that contradict each other."""
# The calls are wrong on purpose, so that type checkers would refuse them, too.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minispore.dataset
from minispore.dataset import digits
from tests.helpers.dataset_rows import rows
from tests.helpers.refusals import Refusal, refusals

ds: Any = minispore.dataset


def numbers(count: int = 10) -> Any:  # noqa: ANN401 (it is called wrongly)
    return ds.NumpySlicesDataset(list(range(count)), "a", shuffle=False)


def pairs(count: int = 3) -> Any:  # noqa: ANN401
    data = (list(range(count)), [i / 2 for i in range(count)])
    return ds.NumpySlicesDataset(data, ["a", "b"], shuffle=False)


def mixed_ranks() -> Any:  # noqa: ANN401
    return ds.GeneratorDataset([np.ones(2), np.ones((2, 1))], "a")


NAMES: dict[str, object] = {
    "digits": digits,
    "ds": ds,
    "np": np,
    "numbers": numbers,
    "pairs": pairs,
    "mixed_ranks": mixed_ranks,
    "rows": rows,
}


@pytest.mark.parametrize(
    "refusal", refusals(Path(__file__).with_name("refusals.txt").read_text("utf-8"))
)
def test_message_names_what_is_wrong(refusal: Refusal) -> None:
    refusal.check(NAMES)


CONTRADICTIONS: list[tuple[dict[str, object], str]] = [
    ({"shuffle": False, "sampler": [1]}, "'sampler' and 'shuffle'"),
    ({"num_samples": 2, "sampler": ds.SubsetSampler([1])}, "'sampler' and 'num_samples'"),
    ({"num_shards": 2, "shard_id": 0, "sampler": [1]}, "'sampler' and 'num_shards'"),
    ({"num_shards": 2}, "'num_shards' and 'shard_id'"),
]


@pytest.mark.parametrize(("arguments", "names"), CONTRADICTIONS)
@pytest.mark.parametrize(
    ("make", "error"),
    [
        (partial(ds.GeneratorDataset, [1, 2], ["x"]), ValueError),
        (partial(ds.NumpySlicesDataset, [1]), ValueError),
        (partial(ds.MnistDataset, "."), RuntimeError),
        (partial(ds.ImageFolderDataset, "."), RuntimeError),
    ],
)
def test_contradictory_arguments_raise_mindspores_kind_of_error(
    make: Callable[..., object], error: type[Exception], arguments: dict[str, object], names: str
) -> None:
    with pytest.raises(error, match=names):
        make(**arguments)


def test_data_set_of_files_takes_no_num_samples_with_a_list_of_indices() -> None:
    with pytest.raises(RuntimeError, match="'sampler' and 'num_samples'"):
        ds.MnistDataset(".", sampler=[1], num_samples=2)
