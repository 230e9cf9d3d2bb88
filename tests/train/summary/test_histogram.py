"""Histograms: counts of every element, as in numpy."""

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from minispore.train.summary.histogram import _bincount, buckets, histogram, histograms

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
    result = histogram(array)
    numbers = array.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    assert result.elements == array.size
    assert result.counts.sum() == result.finite
    assert result.finite == finite.size
    assert result.nan == np.isnan(numbers).sum()
    assert (result.pos_inf, result.neg_inf) == (
        (numbers == np.inf).sum(),
        (numbers == -np.inf).sum(),
    )
    if finite.size:
        assert (result.min, result.max) == (finite.min(), finite.max())
        assert len(result.counts) == buckets(finite.size) == len(result.edges) - 1
        assert (np.diff(result.edges) >= 0).all()
        assert result.edges[0] <= result.min <= result.max <= result.edges[-1]
        for number in (result.min, result.max):
            assert result.counts[(result.edges[:-1] <= number) & (number <= result.edges[1:])].any()
    else:
        assert np.isnan([result.min, result.max]).all()
        assert not result.counts.size
        assert (result.sum, result.sum_squares) == (0.0, 0.0)


@given(st.lists(ANYTHING, max_size=6), st.lists(st.integers(0, 5), max_size=12))
@example([np.arange(20.0), np.ones(20), np.array([np.inf] * 20)], [0, 1, 2, 0])
@example([np.array([3e38, 1.0], np.float32), np.array([0, 1e-45], np.float32)], [0, 1, 0])
def test_batched_histograms_equal_single_ones(
    arrays: list[NDArray[np.generic]], order: list[int]
) -> None:
    """For equal and different sizes and dtypes, bit for bit."""
    chosen = [arrays[i] for i in order if i < len(arrays)]
    for result, array in zip(histograms(chosen), chosen, strict=True):
        alone = histogram(array)
        assert [part.tobytes() for part in result[:2]] == [part.tobytes() for part in alone[:2]]
        np.testing.assert_equal(result[2:], alone[2:])


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
def test_counts_match_numpy_except_on_edges(
    array: NDArray[np.float64], scale: tuple[type[np.floating], int]
) -> None:
    """From the smallest to the largest float64."""
    assume(array.min() < array.max())
    dtype, power = scale
    result = histogram(np.ldexp(array, power).astype(dtype))
    edges = np.ldexp(result.edges, -power)
    expected, _ = np.histogram(array, edges)
    near = (np.abs(array[:, None] - edges) < 2e-3).any(axis=1).sum()
    assert np.abs(result.counts - expected).sum() <= 2 * near
    width = (array.max() - array.min()) / len(result.counts)
    np.testing.assert_allclose(np.diff(edges), width, atol=1e-3)


@pytest.mark.parametrize("size", [1, 2, 3, 2**17 - 1, 2**17, 2**17 + 1, 2**17 + 2])
def test_uint8_elements_are_counted(size: int) -> None:
    numbers = np.random.default_rng(size).integers(0, 91, size, np.uint8)
    result = _bincount(numbers, 91)
    assert result.dtype.name == "int64"
    np.testing.assert_array_equal(result, np.bincount(numbers, minlength=91))


@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(max_dims=3, max_side=8),
        elements=st.floats(-100, 100, width=16),
    ),
    st.sampled_from(
        [
            (np.float16, 1.0), (np.float32, 1.0), (np.float32, 1e30), (np.float32, 1e36),
            (np.float64, 1.0), (np.float64, 1e100), (np.int32, 2.0**24), (np.int64, 2.0**40),
        ]
    ),
)  # fmt: skip
@example(np.full(4, 3.0), (np.float32, 1e38))
@example(np.array([1.0, 2.0]), (np.float32, 1e30))
@example(np.array([2.0**24 + 1, 2.0**25 + 3]), (np.int32, 1.0))
def test_sums_match_float64(
    array: NDArray[np.float64], kind: tuple[type[np.number], float]
) -> None:
    """Also where float32 overflows; the shape makes no difference, and integers are exact."""
    dtype, scale = kind
    scaled = (array * scale).astype(dtype)
    numbers = scaled.astype(np.float64)
    result = histogram(scaled)
    assert (result.min, result.max) == (numbers.min(), numbers.max())
    np.testing.assert_allclose(result.sum_squares, (numbers**2).sum(), rtol=1e-4)
    reach = float(np.abs(numbers).sum())
    np.testing.assert_allclose(result.sum, numbers.sum(), atol=1e-5 * reach)
    flat = histogram(scaled.reshape(-1))
    assert [part.tobytes() for part in result[:2]] == [part.tobytes() for part in flat[:2]]
    assert result[2:] == flat[2:]


@pytest.mark.parametrize("size", [2, 3904, 2**17 - 1, 2**17, 2**17 + 1])
def test_large_arrays_are_counted_like_numpy(size: int) -> None:
    """In a batch or alone, bit for bit."""
    rows = np.sin(np.arange(2 * size, dtype=np.float32)).reshape(2, size)
    for result, row in zip(histograms([*rows]), rows, strict=True):
        alone = histogram(row)
        assert [part.tobytes() for part in result[:2]] == [part.tobytes() for part in alone[:2]]
        assert result[2:] == alone[2:]
        expected, _ = np.histogram(row.astype(np.float64), result.edges)
        assert result.finite == size
        assert np.abs(result.counts - expected).sum() <= 20


@given(st.sampled_from([2.0, 0.0, -1e9, 5e-324]), st.integers(1, 300))
def test_equal_elements_are_in_one_bucket_as_in_numpy(value: float, size: int) -> None:
    """Also on the edge of two buckets."""
    result = histogram(np.full(size, value))
    assert result.counts.tolist() == np.histogram(np.full(size, value), result.edges)[0].tolist()


@pytest.mark.parametrize(("value", "reach"), [(2.0, 0.5), (0.0, 0.5), (-1e9, 1e3)])
def test_single_value_is_in_the_middle_bucket(value: float, reach: float) -> None:
    result = histogram(np.full(100, value))
    assert result.edges[[0, -1]].tolist() == [value - reach, value + reach]
    assert result.counts.tolist() == [0] * 5 + [100] + [0] * 5


# The numbers of buckets in MindSpore 2.10.
@pytest.mark.parametrize(
    ("count", "number"),
    [(0, 1), (1, 2), (5, 2), (6, 3), (10, 3), (11, 2), (100, 11), (880, 89), (2000, 90)],
)
def test_number_of_buckets_matches_mindspore(count: int, number: int) -> None:
    assert buckets(count) == number
