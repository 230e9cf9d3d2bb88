"""Distorted drawings: each distortion is random, with its deviation, and fits the box."""

from collections.abc import Callable

import numpy as np
import pytest

from minispore.dataset.digits import _geometry
from minispore.dataset.digits._geometry import _WriterStyles
from minispore.dataset.digits._strokes import read_drawings
from minispore.utils.arrays import Float32Array, Float64Array, UInt8Array

COUNT = 4000
# The root mean square of the factors of carelessness: 0.2 + 1.1 u² for a random u.
CARELESSNESS = np.sqrt(0.2**2 + 2 * 0.2 * 1.1 / 3 + 1.1**2 / 5)


def styles() -> _WriterStyles:
    return _WriterStyles(np.random.default_rng(3), COUNT)


def distorted(
    distort: Callable[[Float32Array, _WriterStyles], Float32Array],
    *points: tuple[float, float],
) -> Float64Array:
    """Return the points (x, y) after a distortion, in COUNT drawings."""
    repeated = np.tile(np.array(points, np.float32), (COUNT, 1, 1))
    return distort(repeated, styles()).astype(float)


def assert_deviation(values: Float64Array, expected: float, mean: float = 0.0) -> None:
    assert values.std() == pytest.approx(expected, rel=0.1)
    assert values.mean() == pytest.approx(mean, abs=0.1 * expected)


def test_glyph_fits_a_box_of_20_pixels(
    sample: tuple[UInt8Array, UInt8Array],
) -> None:
    inked = sample[0] > 127
    lengths = np.zeros((2, len(inked)), int)
    for axis in (1, 2):
        line = np.logical_or.reduce(inked, axis=axis)
        lengths[axis - 1] = 28 - np.argmax(line[:, ::-1], axis=1) - np.argmax(line, axis=1)
    longest = lengths.max(axis=0)
    assert np.all(longest <= 21)
    assert np.all(longest >= 18)
    assert np.mean((longest >= 19) & (longest <= 20)) > 0.95


def test_most_writers_are_careful_and_a_few_careless() -> None:
    carelessness = styles()._carelessness
    quantiles = np.quantile(carelessness, [0, 0.25, 0.5, 0.75, 1])
    expected = 0.2 + 1.1 * np.array([0, 0.25, 0.5, 0.75, 1]) ** 2
    np.testing.assert_allclose(quantiles, expected, atol=0.05)


def test_affine_maps_stretch_then_slant_then_turn() -> None:
    columns = distorted(_geometry._random_affine, (1, 0), (0, 1)).transpose(0, 2, 1)
    turn = np.arctan2(columns[:, 1, 0], columns[:, 0, 0])
    cos, sin = np.cos(turn), np.sin(turn)
    turned_back = np.stack([[cos, sin], [-sin, cos]]).transpose(2, 0, 1) @ columns
    np.testing.assert_allclose(turned_back[:, 1], np.tile([0, 1], (COUNT, 1)), atol=1e-5)
    assert_deviation(turn, 0.1 * CARELESSNESS)
    assert_deviation(np.log(turned_back[:, 0, 0]), 0.17 * CARELESSNESS)
    assert_deviation(-turned_back[:, 0, 1], 0.2 * CARELESSNESS, mean=0.12)


def test_proportions_vary_between_fixed_ends() -> None:
    x = _geometry._AXIS
    points = distorted(
        _geometry._proportion, (x, 0), (x, 1), (x, 0.5), (x - 1, 0.5), (x + 1, 0.5), (x + 1, 1)
    )
    np.testing.assert_allclose(points[:, :2, 1], np.tile([0, 1], (COUNT, 1)), atol=1e-6)
    assert_deviation(4 * (points[:, 2, 1] - 0.5), 0.25 * CARELESSNESS)
    left, right, below = points[:, 3, 0], points[:, 4, 0], points[:, 5, 0]
    np.testing.assert_allclose(right - left, 2, atol=1e-6)
    assert_deviation(right - 1, 0.3 * CARELESSNESS)
    assert_deviation(below - right, 0.17 * CARELESSNESS)


def test_bends_differ_along_the_path() -> None:
    shifts = distorted(_geometry._elastic_distortion, (0, 0), (0.05, 0), (5, 5)) - [
        [0, 0], [0.05, 0], [5, 5]
    ]  # fmt: skip
    for values in shifts.reshape(COUNT, 6).T:
        assert_deviation(values, 0.06 * CARELESSNESS)
    near, far = (np.corrcoef(shifts[:, 0, 0], shifts[:, i, 0])[0, 1] for i in (1, 2))
    assert near > 0.9
    assert abs(far) < 0.1


def test_knots_are_missed_in_proportion_to_their_distances() -> None:
    drawings = read_drawings()
    for which in (0, 20):
        points = _geometry._jitter_knots(drawings, np.full(COUNT, which), styles())
        missed = (points[:, 0] - drawings.knots[which, 0]) / drawings.room[which, 0]
        for values in missed.astype(float).T:
            assert_deviation(values, 0.21 * CARELESSNESS)
        assert abs(np.corrcoef(missed.T)[0, 1]) < 0.1


def test_strokes_differ_in_width_and_along_the_path() -> None:
    radius = _geometry._stroke_widths(styles())
    assert radius.max() == 3
    middle = np.median(np.log(radius), axis=1)
    expected = np.log(1.2) + 0.3 * np.array([-1, 0, 1])
    np.testing.assert_allclose(np.quantile(middle, [0.1587, 0.5, 0.8413]), expected, atol=0.03)
    along = np.log(radius[radius.max(axis=1) < 3]).std(axis=1)
    assert along.min() > 0
    assert 0.02 < along.mean() < 0.08
