"""Collective operations give all processes the same result: that of the values of all of them."""

from collections.abc import Callable
from typing import cast

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore.communication import _collectives
from minispore.engine import array as array_namespace
from tests.distributed.threaded_communicator import run_in_threads

Arrays = list[npt.NDArray[np.float64]]
COUNTS = st.integers(1, 4)
SHAPES = st.lists(hnp.array_shapes(min_dims=0, max_dims=2, max_side=4), max_size=4)
NAMES = st.sampled_from("abcdefgh")


@given(count=COUNTS, shapes=SHAPES, seed=st.integers(0, 99), buffer=st.integers(1, 200))
def test_sums_and_broadcasts_equal_numpys(
    count: int, shapes: list[tuple[int, ...]], seed: int, buffer: int
) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 4, count).tolist()
    values = [[rng.integers(-9, 9, shape).astype(float) for shape in shapes] for _ in range(count)]

    def program(rank: int) -> tuple[Arrays, Arrays]:
        local: list[array_namespace.Array] = [array.copy() for array in values[rank]]
        sums = _collectives.all_reduce_sum(local, weights[rank], bucket_bytes=buffer)
        return cast("tuple[Arrays, Arrays]", (sums, _collectives.broadcast(local)))

    for sums, received in run_in_threads(count, program):
        for i in range(len(shapes)):
            weighted = [weight * arrays[i] for weight, arrays in zip(weights, values, strict=True)]
            np.testing.assert_array_equal(sums[i], np.sum(weighted, axis=0), strict=True)
            np.testing.assert_array_equal(received[i], values[0][i], strict=True)


@given(numbers=st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=4))
def test_objects_are_gathered_in_the_order_of_ranks(numbers: list[int]) -> None:
    def program(rank: int) -> tuple[list[int], int, int]:
        number = numbers[rank]
        gathered = _collectives.all_gather_object(number)
        return gathered, _collectives.broadcast_object(number), _collectives.all_reduce_max(number)

    expected = (numbers, numbers[0], max(numbers))
    assert run_in_threads(len(numbers), program) == [expected] * len(numbers)


@given(settings=st.lists(st.dictionaries(NAMES, st.integers(0, 1)), min_size=1, max_size=3))
def test_settings_that_differ_are_named_in_all_processes(settings: list[dict[str, int]]) -> None:
    described = [
        {name: _collectives.described_setting(setting[name]) for name in sorted(setting)}
        for setting in settings
    ]

    def program(rank: int) -> str:
        try:
            _collectives.check_alike("train", described[rank])
        except ValueError as error:
            return str(error)
        return ""

    names = dict.fromkeys(name for description in described for name in description)
    different = [name for name in names if len({setting.get(name) for setting in settings}) > 1]
    for message in run_in_threads(len(settings), program):
        assert bool(message) == bool(different)
        named = [name for name in names if f"'{name}' is " in message]
        assert named == different[:5]
        assert (f"and {len(different) - 5} more" in message) == (len(different) > 5)
        for name in named:
            for rank, local in enumerate(described):
                same = [i for i, peer in enumerate(described) if peer.get(name) == local.get(name)]
                assert rank in same
                expected = f"{local.get(name, 'nothing')} in {_collectives.processes(same)}"
                assert expected in message


@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=9),
    types=st.lists(st.sampled_from(["f4", "f8"]), min_size=9, max_size=9),
    max_bytes=st.integers(1, 100),
)
def test_buckets_are_as_large_as_allowed(
    sizes: list[int], types: list[str], max_bytes: int
) -> None:
    dtypes = [np.dtype(kind) for kind, _ in zip(types, sizes, strict=False)]
    buckets = list(_collectives._buckets(dtypes, sizes, max_bytes))
    assert sorted(i for _, bucket in buckets for i in bucket) == list(range(len(sizes)))
    totals = [sum(sizes[i] * dtype.itemsize for i in bucket) for dtype, bucket in buckets]
    for (dtype, bucket), total in zip(buckets, totals, strict=True):
        assert {dtypes[i] for i in bucket} == {dtype}
        assert total <= max_bytes or len(bucket) == 1
    for (dtype, _), (other, bucket), total in zip(buckets, buckets[1:], totals, strict=False):
        assert dtype != other or total + sizes[bucket[0]] * dtype.itemsize > max_bytes


def test_one_process_or_several_are_named() -> None:
    assert [_collectives.processes(ranks) for ranks in ([3], [0, 1])] == [
        "process 3",
        "processes 0, 1",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.5, "1.5"),
        (None, "None"),
        ("a", "'a'"),
        (np.float32(0.5), "0.5"),
        (np.array([1, 2]), "[1, 2]"),
        ((1, [True, "x"]), "[1, [True, 'x']]"),
        (slice(3), "slice"),
    ],
)
def test_descriptions_of_equal_settings_are_equal(value: object, text: str) -> None:
    assert _collectives.described_setting(value) == text


def test_collectives_are_forbidden_where_one_process_runs_alone() -> None:
    array = np.ones(2)
    calls: list[tuple[Callable[..., object], object]] = [
        (_collectives.all_reduce_sum, [array]),
        (_collectives.broadcast, [array]),
        (_collectives.all_gather_object, 1),
        (_collectives.broadcast_object, 1),
        (_collectives.all_reduce_max, 1),
    ]

    def program(rank: int) -> int:
        if rank == 0:
            for operation, argument in calls:
                with (
                    _collectives.forbid_collectives("History"),
                    pytest.raises(
                        RuntimeError, match="^History is called in one process.* in 'program'"
                    ),
                ):
                    operation(argument)
        return _collectives.all_gather_object(rank)[-1]

    assert run_in_threads(2, program) == [1, 1]
