"""The plane of a loss landscape, and what stands over it."""

import tracemalloc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from minispore.train.summary._landscape import (
    Parameters,
    Plane,
    around,
    axis,
    flat,
    heights,
    principal,
    shaped,
)

Floats = NDArray[np.float64]

SMALL = st.floats(-100, 100, width=16)
PARAMETERS = st.lists(
    st.sampled_from([np.float16, np.float32, np.float64]).flatmap(
        lambda dtype: hnp.arrays(dtype, hnp.array_shapes(max_dims=4, max_side=4), elements=SMALL)
    ),
    min_size=1,
    max_size=4,
).map(lambda arrays: {f"p{i}": array for i, array in enumerate(arrays)})


@given(PARAMETERS)
def test_parameters_in_a_row_are_parameters_again(parameters: Parameters) -> None:
    row = flat(parameters)
    assert row.dtype.name == "float64"
    found = shaped(row, parameters)
    assert found.keys() == parameters.keys()
    for name, array in parameters.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array, strict=True)


@given(
    hnp.arrays(np.float64, (3, 5), elements=SMALL),
    st.floats(-10, 10),
    st.floats(-10, 10),
)
def test_a_point_is_so_far_in_both_directions(rows: Floats, x: float, y: float) -> None:
    plane = Plane(*rows)
    np.testing.assert_allclose(plane.at(x, y), [a + x * b + y * c for a, b, c in rows.T], atol=1e-9)


@given(hnp.arrays(np.float64, st.tuples(st.integers(3, 6), st.integers(2, 8)), elements=SMALL))
def test_a_way_comes_from_the_positive_side_to_the_middle(points: Floats) -> None:
    plane, x, y = principal(list(points))
    assert min(x[0], y[0]) >= -1e-9
    np.testing.assert_array_equal(plane.origin, points[-1])
    np.testing.assert_allclose(x, (points - points[-1]) @ plane.first, atol=1e-9)
    np.testing.assert_allclose(y, (points - points[-1]) @ plane.second, atol=1e-9)


def test_a_way_of_a_large_network_takes_the_memory_of_a_few_points() -> None:
    points = np.random.default_rng(0).standard_normal((4, 2_000))
    tracemalloc.start()
    principal(list(points))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * points.nbytes


@given(PARAMETERS, st.integers(0, 100))
def test_a_random_direction_is_as_long_as_each_filter(parameters: Parameters, seed: int) -> None:
    plane = around(parameters, np.random.default_rng(seed))
    random = np.random.default_rng(seed)
    for direction in (plane.first, plane.second):
        found = shaped(direction, {name: a.astype(np.float64) for name, a in parameters.items()})
        for name, array in parameters.items():
            drawn = random.standard_normal(array.shape)
            if array.ndim == 1:
                assert not found[name].any()
                continue
            for part, towards, like in zip(found[name], drawn, array, strict=True):
                length = np.linalg.norm(like.astype(np.float64).reshape(-1))
                wanted = towards * (length / np.linalg.norm(towards.reshape(-1)))
                np.testing.assert_allclose(part, wanted, rtol=1e-6, atol=1e-9)


@given(hnp.arrays(np.float64, st.integers(1, 5), elements=SMALL), st.integers(2, 9))
def test_an_axis_goes_a_fifth_of_the_way_beyond_it(way: Floats, size: int) -> None:
    found = axis(way, size)
    margin = 0.2 * (way.max() - way.min()) or 1.0
    assert len(found) == size
    np.testing.assert_allclose(found[[0, -1]], [way.min() - margin, way.max() + margin])
    np.testing.assert_allclose(np.diff(found), (found[-1] - found[0]) / (size - 1))


def test_heights_are_those_of_their_row_and_column() -> None:
    plane = Plane(np.zeros(2), np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    x, y = np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0])
    told: list[tuple[int, int, float]] = []
    z = heights(plane, x, y, lambda point: float(point.sum()), lambda *place: told.append(place))
    assert z.tolist() == [[11, 12, 13], [21, 22, 23]]
    assert told == [(r, c, z[r, c]) for r in range(2) for c in range(3)]
