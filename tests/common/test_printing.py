"""The repr of tensors: the values can be parsed, except those that are omitted.

That the text is MindSpore's is tested with the outcomes in `oracle.txt`.
"""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore import Tensor
from minispore.ops._printing import tensor_html, tensor_repr
from tests.common.strategies import Arrays, arrays, dtypes

NAMES = {"nan": np.nan, "inf": np.inf, "True": True, "False": False}
short = hnp.array_shapes(min_dims=0, max_dims=4, max_side=6)


def values_in(text: str) -> object:
    """Return the nested lists after `value=`."""
    values = re.sub(r"\s", "", text.partition("value=")[2][:-1])
    return eval(values, {"__builtins__": {}}, NAMES)


@given(arrays(shapes=short))
def test_repr_contains_the_values(array: Arrays) -> None:
    text = repr(Tensor(array))
    actual = np.array(values_in(text), dtype=array.dtype)
    digits = 5 if array.ndim == 0 else 4 if array.itemsize == 2 else 8
    tolerance = 10.0**-digits if array.dtype.kind == "f" else 0
    with np.errstate(all="ignore"):
        assert actual.shape == array.shape
        assert np.allclose(
            actual.astype(np.longdouble),
            array.astype(np.longdouble),
            rtol=tolerance,
            atol=1e-320 if tolerance else 0,
            equal_nan=True,
        )


@given(arrays(shapes=short))
def test_repr_starts_with_shape_and_dtype(array: Arrays) -> None:
    x = Tensor(array)
    assert repr(x).startswith(f"Tensor(shape={list(array.shape)}, dtype={x.dtype}, value=")
    assert f"{x}" == str(x) == str(array)


@given(dtypes.flatmap(lambda d: hnp.arrays(d.numpy_dtype, st.tuples(*[st.integers(5, 9)] * 2))))
def test_long_axes_are_abbreviated(array: Arrays) -> None:
    rows, columns = ([*range(n)] if n <= 6 else [0, 1, 2, -3, -2, -1] for n in array.shape)
    shown = array[np.ix_(rows, columns)]
    text = re.sub(r",?\s*\.\.\.,?\s*", ",", repr(Tensor(array)))
    assert values_in(text) == values_in(tensor_repr(shown)) or "nan" in text
    assert ("..." in repr(Tensor(array))) == (max(array.shape) > 6)


@pytest.mark.parametrize("length", [24, 25, 1000, 1001])
def test_lines_have_24_integers_and_vectors_1000_elements(length: int) -> None:
    text = repr(Tensor(np.zeros(length, np.int64)))
    assert ("..." in text) == (length > 1000)
    if length <= 1000:
        rows = [line.count("0") for line in text.partition("value=")[2].splitlines()]
        assert rows[: length // 24] == [24] * (length // 24)
        assert sum(rows) == length


def test_columns_are_aligned() -> None:
    lines = repr(Tensor([[1, -200], [30, 4]])).splitlines()
    assert lines[1:] == ["[[   1, -200],", " [  30,    4]])"]


@given(st.floats(), st.sampled_from([".2f", "8.7f", "e", "+g", ""]), st.integers(0, 2))
def test_elements_are_formatted_like_numbers(number: float, form: str, axes: int) -> None:
    x = Tensor(np.full((1,) * axes, number))
    assert not form or f"{x:{form}}" == f"{number:{form}}"
    assert f"{Tensor([7]):03d}" == "007"


@given(arrays(shapes=hnp.array_shapes(max_dims=2, max_side=3)))
def test_html_shows_four_decimals(array: Arrays) -> None:
    text = tensor_html(array, "Tensor", "a<b")
    head, _, body = text.removesuffix("</pre>").partition("<pre>")
    assert head == f"<b>Tensor a&lt;b</b> {array.shape} {Tensor(array).dtype}"
    with np.printoptions(precision=4, suppress=True):
        assert body == str(array)
    assert tensor_html(np.full(201, 1 / 3), "Tensor", "").count("0.3333") == 6
    assert tensor_html(np.full(200, 1 / 3), "Tensor", "").count("0.3333") == 200
