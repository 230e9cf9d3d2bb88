"""Embedding: rows of the table, initial values."""

from math import erf, sqrt

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import minispore as ms
from minispore import Tensor, nn
from minispore.common.dtype import DType
from tests.helpers.floats import floats
from tests.helpers.randomness import assert_frequency


@given(st.integers(0, 2**32 - 1), st.none() | st.integers(0, 9))
def test_initial_vectors_are_normal_except_the_padding(seed: int, padding: int | None) -> None:
    ms.set_seed(seed)
    values = floats(nn.Embedding(10, 500, padding_idx=padding).embedding_table)
    if padding is not None:
        assert not values[padding].any()
    others = values[[i for i in range(10) if i != padding]] / 0.01
    assert_frequency(others > 0, 0.5)
    for bound in (0.1, 0.5, 1.0, 2.0):
        assert_frequency(np.abs(others) < bound, erf(bound / sqrt(2)))


@given(
    st.lists(st.integers(-5, 5), min_size=1, max_size=5),
    st.sampled_from([ms.float16, ms.float32, ms.float64]),
    st.sampled_from([ms.float16, ms.float32, ms.float64]),
)
def test_one_hot_products_equal_selected_rows(
    ids: list[int], table_dtype: DType, dtype: DType
) -> None:
    """Except for an index out of range, whose row is zero."""
    table = Tensor(np.arange(1.0, 13.0).reshape(6, 2)).astype(table_dtype)
    inside = Tensor([i % 6 for i in ids])
    rows = nn.Embedding(6, 2, embedding_table=table)(inside)
    products = nn.Embedding(6, 2, use_one_hot=True, embedding_table=table, dtype=dtype)
    assert rows.dtype is table_dtype
    assert np.array_equal(rows.asnumpy(), table.asnumpy()[[i % 6 for i in ids]])
    assert np.array_equal(products(inside).asnumpy(), rows.asnumpy())
    assert products(inside).dtype is (table[0] * Tensor(1.0, dtype)).dtype
    beyond = products(Tensor([6, *[i % 6 for i in ids]]))
    assert np.array_equal(beyond.asnumpy()[0], [0, 0])
