"""Planes of loss landscapes, and the loss on a grid."""

import tracemalloc
from contextlib import redirect_stdout
from io import StringIO

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from minispore.train.summary import landscape

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
def test_ravel_and_unravel_round_trip(parameters: landscape.Parameters) -> None:
    row = landscape.ravel(parameters)
    assert row.dtype.name == "float64"
    result = landscape.unravel(row, parameters)
    assert result.keys() == parameters.keys()
    for name, array in parameters.items():
        assert result[name].dtype == array.dtype
        np.testing.assert_array_equal(result[name], array, strict=True)


@given(
    hnp.arrays(np.float64, (3, 5), elements=SMALL),
    st.floats(-10, 10),
    st.floats(-10, 10),
)
def test_point_of_plane_has_its_coordinates(rows: Floats, x: float, y: float) -> None:
    plane = landscape.Plane(*rows)
    np.testing.assert_allclose(plane.at(x, y), [a + x * b + y * c for a, b, c in rows.T], atol=1e-9)


@given(hnp.arrays(np.float64, st.tuples(st.integers(3, 6), st.integers(2, 8)), elements=SMALL))
def test_pca_plane_minimizes_distance_to_trajectory(points: Floats) -> None:
    """It ends at the origin."""
    plane, x, y = landscape.pca_plane(list(points))
    np.testing.assert_allclose(plane.first @ plane.first, 1)
    np.testing.assert_allclose(plane.first @ plane.second, 0, atol=1e-9)
    assert min(x[0], y[0]) >= -1e-9
    np.testing.assert_array_equal(plane.origin, points[-1])
    np.testing.assert_allclose(x, (points - points[-1]) @ plane.first, atol=1e-9)
    np.testing.assert_allclose(y, (points - points[-1]) @ plane.second, atol=1e-9)
    steps = points - points[-1]
    residual = steps - np.outer(x, plane.first) - np.outer(y, plane.second)
    # The residual is that of the two greatest singular values (Eckart and Young).
    singular_values = np.linalg.svd(steps, compute_uv=False)[2:]
    np.testing.assert_allclose((residual**2).sum(), (singular_values**2).sum(), atol=1e-8)


def test_pca_plane_memory_is_linear() -> None:
    points = np.random.default_rng(0).standard_normal((4, 2_000))
    tracemalloc.start()
    landscape.pca_plane(list(points))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * points.nbytes


@given(PARAMETERS, st.integers(0, 100))
def test_random_direction_has_filter_norms(parameters: landscape.Parameters, seed: int) -> None:
    plane = landscape.random_plane(parameters, np.random.default_rng(seed))
    random = np.random.default_rng(seed)
    for direction in (plane.first, plane.second):
        result = landscape.unravel(
            direction, {name: a.astype(np.float64) for name, a in parameters.items()}
        )
        for name, array in parameters.items():
            drawn = random.standard_normal(array.shape)
            if array.ndim == 1:
                assert not result[name].any()
                continue
            for part, towards, like in zip(result[name], drawn, array, strict=True):
                length = np.linalg.norm(like.astype(np.float64).reshape(-1))
                expected = towards * (length / np.linalg.norm(towards.reshape(-1)))
                np.testing.assert_allclose(part, expected, rtol=1e-6, atol=1e-9)


@given(hnp.arrays(np.float64, st.integers(1, 5), elements=SMALL), st.integers(2, 9))
def test_axis_margin_is_a_fifth(trajectory: Floats, size: int) -> None:
    result = landscape.axis(trajectory, size)
    margin = 0.2 * (trajectory.max() - trajectory.min()) or 1.0
    assert len(result) == size
    np.testing.assert_allclose(
        result[[0, -1]], [trajectory.min() - margin, trajectory.max() + margin]
    )
    np.testing.assert_allclose(np.diff(result), (result[-1] - result[0]) / (size - 1))


@given(st.lists(SMALL, min_size=1, max_size=3), st.lists(SMALL, min_size=1, max_size=3))
def test_grid_values_match_rows_and_columns(xs: list[float], ys: list[float]) -> None:
    plane = landscape.Plane(np.zeros(2), np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    with redirect_stdout(StringIO()) as screen:
        z = landscape.evaluate_grid(
            plane, np.array(xs), np.array(ys), lambda at: float(at @ [1000.0, 1.0])
        )
    assert z.tolist() == [[1000 * x + y for x in xs] for y in ys]
    assert screen.getvalue().splitlines() == [
        line
        for row in range(len(ys))
        for line in (
            f"Drawing landscape total progress: {row + 1}/{len(ys)}.",
            *(
                f"Current local landscape progress is {column + 1}/{len(xs)}, "
                f"landscape loss is {z[row, column]}."
                for column in range(len(xs))
            ),
        )
    ]
