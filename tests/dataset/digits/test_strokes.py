"""The pen's path through the knots of a drawing."""

import numpy as np

from minispore.dataset.digits._skeletons import SKELETONS
from minispore.dataset.digits._strokes import POINTS, read_drawings


def test_path_passes_through_first_and_last_knot() -> None:
    drawings = read_drawings()
    assert drawings.basis.shape[:2] == (len(drawings.knots), POINTS)
    # Each point is a weighted mean of the knots, so a shift of all knots shifts the path.
    np.testing.assert_allclose(drawings.basis.sum(axis=2), 1, atol=1e-5)
    paths = drawings.basis @ drawings.knots
    np.testing.assert_allclose(paths[:, 0], drawings.knots[:, 0], atol=1e-6)
    for basis, path, knots in zip(drawings.basis, paths, drawings.knots, strict=True):
        last = np.flatnonzero(np.abs(basis).max(axis=0))[-1]
        np.testing.assert_allclose(path[-1], knots[last], atol=1e-6)


def test_pen_is_up_once_for_each_semicolon() -> None:
    drawings = read_drawings()
    texts = [text for variants in SKELETONS for _, text in variants]
    lifted = (~drawings.inked).sum(axis=1)
    assert lifted.tolist() == [text.count(";") for text in texts]
