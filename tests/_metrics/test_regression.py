"""Cosine similarity: its options, and rows of zeros."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from minispore import train
from tests._metrics.cases import Inputs, matrices


def test_cosine_similarity_of_zeros_is_zero() -> None:
    similarities = train.CosineSimilarity(zero_diagonal=False)([[1.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(similarities, [[1, 0], [0, 0]])


@given(matrices(), st.sampled_from(["dot", "cosine"]), st.booleans())
def test_reductions_are_those_of_the_rows(inputs: Inputs, kind: str, zero: bool) -> None:
    (rows,) = inputs
    matrix = np.asarray(train.CosineSimilarity(kind, zero_diagonal=zero)(rows))
    if kind == "dot":
        products = rows @ rows.T
        np.testing.assert_array_equal(matrix, products * (1 - np.eye(len(rows)) * zero))
    for reduction in ("sum", "mean"):
        actual = train.CosineSimilarity(kind, reduction, zero)(rows)
        np.testing.assert_allclose(actual, getattr(np, reduction)(matrix, axis=1))
