"""What is printed can be read: the values come back out of the text, however much is left out.

That the text is MindSpore's is tested with the outcomes in `oracle.txt`.
"""

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore import Tensor
from minispore.common._printing import tensor_repr

from .strategies import Arrays, arrays, dtypes

NAMES = {"nan": np.nan, "inf": np.inf, "True": True, "False": False}
short = hnp.array_shapes(min_dims=0, max_dims=4, max_side=6)


def values_in(text: str) -> object:
    """The nested lists behind `value=`."""
    values = re.sub(r"\s", "", text.partition("value=")[2][:-1])
    return eval(values, {"__builtins__": {}}, NAMES)


@given(arrays(shapes=short))
def test_values_come_back(array: Arrays) -> None:
    text = repr(Tensor(array))
    found = np.array(values_in(text), dtype=array.dtype)
    digits = 5 if array.ndim == 0 else 4 if array.itemsize == 2 else 8
    tolerance = 10.0**-digits if array.dtype.kind == "f" else 0
    with np.errstate(all="ignore"):
        assert found.shape == array.shape
        assert np.allclose(
            found.astype(np.longdouble),
            array.astype(np.longdouble),
            rtol=tolerance,
            atol=1e-320 if tolerance else 0,
            equal_nan=True,
        )


@given(arrays(shapes=short))
def test_the_head_says_what_it_is(array: Arrays) -> None:
    x = Tensor(array)
    assert repr(x).startswith(f"Tensor(shape={list(array.shape)}, dtype={x.dtype}, value=")
    assert f"{x}" == repr(x)
    assert str(x) == str(array)


@given(dtypes.flatmap(lambda d: hnp.arrays(d.numpy_dtype, st.tuples(*[st.integers(5, 9)] * 2))))
def test_of_long_axes_the_ends_are_shown(array: Arrays) -> None:
    rows, columns = ([*range(n)] if n <= 6 else [0, 1, 2, -3, -2, -1] for n in array.shape)
    shown = array[np.ix_(rows, columns)]
    text = re.sub(r",?\s*\.\.\.,?\s*", ",", repr(Tensor(array)))
    assert values_in(text) == values_in(tensor_repr(shown)) or "nan" in text
    assert ("..." in repr(Tensor(array))) == (max(array.shape) > 6)


def test_lines_of_a_column_stand_below_one_another() -> None:
    lines = repr(Tensor([[1, -200], [30, 4]])).splitlines()
    assert lines[1:] == ["[[   1, -200],", " [  30,    4]])"]


def test_a_format_is_that_of_the_one_element() -> None:
    assert f"{Tensor(1.5):.2f} {Tensor([7]):03d} {Tensor(0.03904):8.7f}" == "1.50 007 0.0390400"
