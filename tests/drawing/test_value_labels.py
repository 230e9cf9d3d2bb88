"""The labels of values and gradients: their elements if these are few and short, or a summary."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from minispore import Tensor
from minispore.drawing._value_labels import counted, gradient_of, value_of

shapes = npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
integers = st.sampled_from([0, -1, 7, 12345, -654321, 10**9])


@given(npst.arrays(np.int64, shapes, elements=integers))
@example(np.array([12345678, 123456789012]))  # 24 letters
@example(np.array([12345678, 1234567890123]))
@example(np.arange(4))
@example(np.arange(5))
def test_up_to_four_elements_are_shown_in_24_letters(array: npt.NDArray[np.int64]) -> None:
    value = Tensor(array)._data
    text = str(array.tolist())
    fits = 0 < array.size <= 4 and len(text) <= 24
    assert value_of(value) == (text if fits else str(array.shape))
    if fits or not array.size:
        assert gradient_of(value) == f"grad {value_of(value)}"
    else:
        assert gradient_of(value) == f"|grad| ≤ {float(np.abs(array).max()):.3g}"


@pytest.mark.parametrize(
    ("value", "text"), [(-0.0, "0"), (1.0, "1"), (123.456, "123.5"), (-1e-30, "-1e-30")]
)
def test_numbers_have_four_digits_and_zero_no_sign(value: float, text: str) -> None:
    assert value_of(Tensor([value])._data) == f"[{text}]"


def test_counts_have_separators_and_the_plural() -> None:
    texts = [counted(number, "cell") for number in (0, 1, 2, 1234567)]
    assert texts == ["0 cells", "1 cell", "2 cells", "1,234,567 cells"]
