"""Rendered digits: distances to the ink, the centre of mass, and grey values."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.dataset.digits import _render
from minispore.dataset.digits._geometry import Glyphs
from minispore.dataset.digits._render import distance_to_ink, render

seeds = st.integers(0, 2**64)
Images = npt.NDArray[np.uint8]


def test_centre_of_mass_is_in_the_middle(
    sample: tuple[Images, Images],
) -> None:
    images = sample[0].astype(float)
    position = np.arange(28.0)
    mass = images.sum(axis=(1, 2))
    for axis in (1, 2):
        centre = images.sum(axis=axis) @ position / mass
        assert np.all(np.abs(centre - 14) < 1)
        assert abs(centre.mean() - 14) < 0.05


def test_paper_is_0_and_ink_is_255(
    sample: tuple[Images, Images],
) -> None:
    images = sample[0]
    assert np.mean(images == 0) > 0.7
    assert np.mean(images.max(axis=(1, 2)) > 240) > 0.99
    assert 0.11 < images.mean() / 255 < 0.15  # MNIST's mean is 0.1307


@given(seeds)
def test_distances_to_ink(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.uniform(3, 6, (2, 1, 2)) + np.cumsum(rng.uniform(-1.5, 1.5, (2, 3, 2)), axis=1)
    radius = rng.uniform(0.7, 2.5, (2, 1)) + rng.uniform(-0.1, 0.1, (2, 3))
    inked = rng.random((2, 2)) < 0.8
    glyphs = Glyphs(points.astype(np.float32), radius.astype(np.float32), inked)
    window = slice(12, 30)  # of the pixels, from -4 to 13
    y, x = np.mgrid[-4:14, -4:14]
    t = np.linspace(0, 1, 100)
    for actual, path, widths, is_down in zip(
        distance_to_ink(glyphs)[:, window, window], points, radius, inked, strict=True
    ):
        expected = np.full(actual.shape, np.inf)
        for i in np.flatnonzero(is_down):
            px, py = np.outer(1 - t, path[i]).T + np.outer(t, path[i + 1]).T
            distances = np.hypot(x[..., None] - px, y[..., None] - py)
            r = widths[i] + t[distances.argmin(axis=-1)] * (widths[i + 1] - widths[i])
            expected = np.minimum(expected, distances.min(axis=-1) - r)
        near = expected < 0.5
        np.testing.assert_allclose(actual[near], expected[near], atol=0.01)
        assert np.all(actual[~near] > 0.49)


def rendered(monkeypatch: pytest.MonkeyPatch, roughness: float, blur: float) -> Images:
    """Return 40 images of one glyph."""
    monkeypatch.setattr(_render, "_ROUGHNESS", roughness * _render._ROUGHNESS)
    monkeypatch.setattr(_render, "_BLUR", blur * _render._BLUR)
    points = np.array([[2, 1], [9, 8], [1, 12], [13, 18]], np.float32)
    glyphs = Glyphs(
        np.tile(points, (40, 1, 1)), np.full((40, 4), 1.3, np.float32), np.full((40, 3), True)
    )
    return render(glyphs, np.random.default_rng(2))


@pytest.mark.parametrize(("roughness", "blur", "least"), [(0, 0, 1), (1, 0, 40), (0, 1, 30)])
def test_images_of_one_glyph_differ_in_roughness_and_blur(
    roughness: float, blur: float, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = len({image.tobytes() for image in rendered(monkeypatch, roughness, blur)})
    assert count >= least if least > 1 else count == 1


def test_edges_are_rough_independently_of_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    images = rendered(monkeypatch, 1, 0).astype(float)
    edge = np.abs(images.mean(axis=0) - 127) < 60
    assert edge.sum() > 20
    noise = images[:, edge] - images[:, edge].mean(axis=0)
    # An edge's grey changes by 1.5 * 255 in a pixel.
    assert noise.std() == pytest.approx(_render._ROUGHNESS * 1.5 * 255, rel=0.1)
    for rows in (noise, noise.T):
        correlations = np.atleast_2d(np.corrcoef(rows))
        others = correlations[np.triu_indices(len(correlations), 1)]
        assert np.sqrt(np.mean(others**2)) < 0.25
