"""The pen's path through the knots of a drawing."""

from typing import Any, cast

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from minispore.dataset.digits import _strokes
from minispore.dataset.digits._skeletons import SKELETONS
from minispore.dataset.digits._strokes import POINTS, read_drawings

Floats = npt.NDArray[np.float64]
seeds = st.integers(0, 2**32 - 1)


def distances(points: Any) -> Floats:  # noqa: ANN401 (of any type)
    steps: Floats = np.linalg.norm(np.diff(points, axis=0), axis=1)
    return steps


def test_strokes_begin_and_end_at_their_knots_and_pass_all_others() -> None:
    drawings = read_drawings()
    assert drawings.basis.shape[:2] == (len(drawings.knots), POINTS)
    # Each point is a weighted mean of the knots, so a shift of all knots shifts the path.
    np.testing.assert_allclose(drawings.basis.sum(axis=2), 1, atol=1e-5)
    texts = [text for variants in SKELETONS for _, text in variants]
    paths = (drawings.basis @ drawings.knots).astype(float)
    for text, path, inked, rooms in zip(texts, paths, drawings.inked, drawings.room, strict=True):
        words = [stroke.replace("!", "").split() for stroke in text.split(";")]
        strokes = [np.array([word.split(",") for word in pairs], float) / 100 for pairs in words]
        parts = np.split(path, np.flatnonzero(~inked) + 1)
        for knots, part in zip(strokes, parts, strict=True):
            np.testing.assert_allclose(part[[0, -1]], knots[[0, -1]], atol=1e-6)
            away = np.linalg.norm(part - knots[:, np.newaxis], axis=2).min(axis=1)
            assert (away <= 0.51 * distances(part).max()).all()
        steps = distances(np.concatenate(strokes))
        room = [min(pair) for pair in zip([np.inf, *steps], [*steps, np.inf], strict=True)]
        np.testing.assert_allclose(rooms, np.pad(room, (0, len(rooms) - len(room))), rtol=1e-5)


@given(seed=seeds, count=st.integers(2, 6))
def test_tangent_at_a_knot_is_that_of_the_parabola_through_the_nearest_knots(
    seed: int, count: int
) -> None:
    """The parameter is the square root of the chord; between two knots the path is a cubic."""
    knots = np.random.default_rng(seed).random((count, 2))
    fine = _strokes._spline(np.arange(count), knots) @ knots
    steps = np.sqrt(distances(knots))
    at: Any = np.append(0.0, np.cumsum(steps))
    number = _strokes._FINE
    assert len(fine) == number * (count - 1) + 1
    for i in range(count - 1):
        span = fine[i * number : (i + 1) * number + 1]
        time = np.linspace(0, 1, number + 1)
        cubic = np.polyfit(time, span, 3)
        np.testing.assert_allclose(np.vander(time, 4) @ cubic, span, atol=1e-9)
        np.testing.assert_allclose(span[[0, -1]], knots[[i, i + 1]], atol=1e-9)
        slopes = cubic[2], 3 * cubic[0] + 2 * cubic[1] + cubic[2]
        for end, slope in enumerate(slopes):
            first = max(0, min(i + end - 1, count - 3))
            near = slice(first, first + 3)
            time, points = at[near] - at[i + end], knots[near]
            parabola = cast("Floats", np.polyfit(time, points, min(2, count - 1)))
            np.testing.assert_allclose(slope, parabola[-2] * steps[i], atol=1e-6)


@given(seed=seeds, counts=st.lists(st.integers(2, 4), min_size=1, max_size=3))
def test_path_through_corners_is_straight_between_them(seed: int, counts: list[int]) -> None:
    """Points have equal distances along a stroke; their numbers are in proportion to lengths."""
    rng = np.random.default_rng(seed)
    corners = [np.stack([rng.permutation(100)[:n] * 1.0 for _ in "xy"], axis=1) for n in counts]
    texts = ["! ".join(f"{x:g},{y:g}" for x, y in stroke) for stroke in corners]
    knots, basis, inked = _strokes._path(";".join(texts))
    parts = np.split(basis @ knots, np.flatnonzero(~inked) + 1)
    lengths = np.array([distances(stroke).sum() for stroke in corners])
    for stroke, part, length in zip(corners, parts, lengths, strict=True):
        assert abs(len(part) - POINTS * length / lengths.sum()) <= 1
        along = np.append(0.0, np.cumsum(distances(stroke)))
        at = cast("Floats", np.linspace(0, length, len(part)))
        expected = np.stack([np.interp(at, along, column) for column in stroke.T], axis=1) / 100
        np.testing.assert_allclose(part, expected, atol=1e-9)
