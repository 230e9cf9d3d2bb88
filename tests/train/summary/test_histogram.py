"""Histograms: every element in its bucket, as numpy counts them."""

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from minispore.train.summary._histogram import _counted, buckets, histogram, histograms

FLOATS = hnp.arrays(
    st.sampled_from([np.float16, np.float32, np.float64]),
    st.integers(0, 200),
    elements={"allow_nan": True},
)
ANYTHING = FLOATS | hnp.arrays(
    st.sampled_from([np.int8, np.uint8, np.int64, np.bool_]), st.integers(0, 60)
)


@given(ANYTHING)
@example(np.array([np.nan, np.inf, -np.inf], np.float32))
@example(np.full(60, 1.79769179e308))
@example(np.full(60, np.finfo(np.float64).max))
@example(np.array([0.0, 5e-324]))
@example(np.array([0.0, 1e-45], np.float32))
def test_every_element_is_counted(array: NDArray[np.generic]) -> None:
    found = histogram(array)
    numbers = array.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    assert found.elements == array.size
    assert found.counts.sum() == found.finite
    assert found.finite == finite.size
    assert found.nan == np.isnan(numbers).sum()
    assert (found.pos_inf, found.neg_inf) == ((numbers == np.inf).sum(), (numbers == -np.inf).sum())
    if finite.size:
        assert (found.min, found.max) == (finite.min(), finite.max())
        assert len(found.counts) == buckets(finite.size) == len(found.edges) - 1
        assert (np.diff(found.edges) >= 0).all()
        assert found.edges[0] <= found.min <= found.max <= found.edges[-1]
        for number in (found.min, found.max):
            assert found.counts[(found.edges[:-1] <= number) & (number <= found.edges[1:])].any()
    else:
        assert np.isnan([found.min, found.max]).all()
        assert not found.counts.size
        assert (found.sum, found.sum_squares) == (0.0, 0.0)


@given(st.lists(ANYTHING, max_size=6), st.lists(st.integers(0, 5), max_size=12))
@example([np.arange(20.0), np.ones(20), np.array([np.inf] * 20)], [0, 1, 2, 0])
@example([np.array([3e38, 1.0], np.float32), np.array([0, 1e-45], np.float32)], [0, 1, 0])
def test_several_at_once_are_each_as_alone(
    arrays: list[NDArray[np.generic]], order: list[int]
) -> None:
    """Of one size and of several, of one type and of several, bit for bit."""
    chosen = [arrays[i] for i in order if i < len(arrays)]
    for found, array in zip(histograms(chosen), chosen, strict=True):
        alone = histogram(array)
        assert [part.tobytes() for part in found[:2]] == [part.tobytes() for part in alone[:2]]
        np.testing.assert_equal(found[2:], alone[2:])


@pytest.mark.parametrize("size", [2, 3904, 2**17 - 1, 2**17])
def test_several_of_any_size_are_each_as_alone(size: int) -> None:
    rows = np.random.default_rng(size).standard_normal((8, size)).astype(np.float32)
    for found, row in zip(histograms([*rows]), rows, strict=True):
        alone = histogram(row)
        assert [part.tobytes() for part in found[:2]] == [part.tobytes() for part in alone[:2]]
        assert found[2:] == alone[2:]


@given(
    hnp.arrays(np.float64, st.integers(1, 500), elements=st.integers(-1000, 1000)),
    st.sampled_from(
        [(np.float64, power) for power in (-1060, 0, 1000, 1014)]
        + [(np.float32, power) for power in (-149, -140, 0, 117, 118)]
    ),
)
@example(np.arange(-1000.0, 1001.0), (np.float64, 1014))
@example(np.arange(-1000.0, 1001.0), (np.float32, 118))
@example(np.arange(1001.0), (np.float64, -1060))
@example(np.arange(1001.0), (np.float32, -149))
def test_numpy_counts_the_same_but_for_elements_on_a_border(
    array: NDArray[np.float64], scale: tuple[type[np.floating], int]
) -> None:
    """From the smallest numbers that there are to the greatest."""
    assume(array.min() < array.max())
    dtype, power = scale
    found = histogram(np.ldexp(array, power).astype(dtype))
    edges = np.ldexp(found.edges, -power)
    wanted, _ = np.histogram(array, edges)
    near = (np.abs(array[:, None] - edges) < 2e-3).any(axis=1).sum()
    assert np.abs(found.counts - wanted).sum() <= 2 * near
    width = (array.max() - array.min()) / len(found.counts)
    np.testing.assert_allclose(np.diff(edges), width, atol=1e-3)


@pytest.mark.parametrize("size", [1, 2, 3, 2**17 - 1, 2**17, 2**17 + 1, 2**17 + 2])
def test_bytes_are_counted(size: int) -> None:
    numbers = np.random.default_rng(size).integers(0, 91, size, np.uint8)
    found = _counted(numbers, 91)
    assert found.dtype.name == "int64"
    np.testing.assert_array_equal(found, np.bincount(numbers, minlength=91))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "bool"])
def test_the_shape_does_not_matter(dtype: str) -> None:
    array = np.arange(30).reshape(2, 5, 3).astype(dtype)
    found, wanted = histogram(array), histogram(array.reshape(-1))
    assert found.counts.tolist() == wanted.counts.tolist()
    assert found.edges.tolist() == wanted.edges.tolist()
    assert found[2:] == wanted[2:]


@pytest.mark.parametrize("size", [2**17, 2**17 + 1])
def test_large_arrays_are_counted_in_pairs(size: int) -> None:
    array = np.sin(np.arange(size, dtype=np.float32))
    found = histogram(array)
    wanted, _ = np.histogram(array.astype(np.float64), found.edges)
    assert found.finite == size
    assert np.abs(found.counts - wanted).sum() <= 20


@given(
    st.sampled_from([np.float16, np.float32, np.float64]).flatmap(
        lambda dtype: hnp.arrays(
            dtype, st.integers(0, 200), elements=st.floats(-100, 100, width=16)
        )
    )
)
def test_the_sums_are_those_of_float64(array: NDArray[np.floating]) -> None:
    found = histogram(array)
    numbers = array.astype(np.float64)
    np.testing.assert_allclose(found.sum_squares, (numbers**2).sum(), rtol=1e-4)
    reach = float(np.abs(numbers).sum())
    np.testing.assert_allclose(found.sum, numbers.sum(), atol=1e-5 * reach)


def test_sums_beyond_float32_are_float64s() -> None:
    total = histogram(np.full(4, 3e38, np.float32)).sum
    np.testing.assert_allclose(total, 1.2e39, rtol=1e-6)
    assert histogram(np.full(4, 1e308)).sum == np.inf


@pytest.mark.parametrize(("value", "reach"), [(2.0, 0.5), (0.0, 0.5), (-1e9, 1e3)])
def test_one_value_is_in_the_middle(value: float, reach: float) -> None:
    found = histogram(np.full(100, value))
    assert found.edges[[0, -1]].tolist() == [value - reach, value + reach]
    assert found.counts.tolist() == [0] * 5 + [100] + [0] * 5


@pytest.mark.parametrize("size", [1, 5, 10, 20, 1000])
def test_one_value_is_where_numpy_counts_it(size: int) -> None:
    """On the border of two buckets, too."""
    array = np.full(size, 2.0)
    found = histogram(array)
    assert found.counts.tolist() == np.histogram(array, found.edges)[0].tolist()


def test_integers_are_no_less_exact_than_they_are() -> None:
    for dtype in (np.int32, np.uint32, np.int64):
        found = histogram(np.array([2**24 + 1, 2**25 + 3], dtype))
        assert (found.min, found.max) == (2**24 + 1, 2**25 + 3)


# What MindSpore 2.10 takes.
@pytest.mark.parametrize(
    ("count", "number"),
    [(0, 1), (1, 2), (5, 2), (6, 3), (10, 3), (11, 2), (100, 11), (880, 89), (2000, 90)],
)
def test_the_number_of_buckets_is_mindspores(count: int, number: int) -> None:
    assert buckets(count) == number
