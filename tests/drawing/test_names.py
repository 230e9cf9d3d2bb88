"""The names in a drawing are those of the variables in the source."""

import operator
from collections.abc import Callable
from functools import wraps

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Tensor, ops
from minispore.drawing import draw_graph
from tests.helpers.svg_reader import read


@pytest.mark.parametrize("join", [ops.concat, ops.stack])
def test_an_operation_on_a_list_has_its_own_name(join: Callable[[list[Tensor]], Tensor]) -> None:
    picture = draw_graph(lambda x: join([x, x]), Tensor([1.0, 2.0]))
    assert f"{join.__name__}: value" in picture


@given(st.floats(width=32))
@example(np.nan)
@example(-np.inf)
@example(1e-30)
def test_any_number_can_be_drawn(x: float) -> None:
    box = read(draw_graph(lambda x: x + 1.0, Tensor(x))).boxes[0]
    shown = float(box.partition("value ")[2].partition(",")[0])
    assert np.isclose(shown, x, rtol=1e-3, atol=0.0, equal_nan=True)


def several(*xs: Tensor, scale: float = 1.0) -> Tensor:
    return xs[0] * xs[1] * scale


class Unsigned:
    __signature__ = "none"

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        return x * y


def one(x: Tensor, *, scale: float = 1.0) -> Tensor:
    return x * scale


@wraps(one)
def two(x: Tensor, y: Tensor) -> Tensor:
    """Return a product; the signature is that of `one`, as with many decorators."""
    return one(x) * y


@pytest.mark.parametrize(
    ("fn", "names"),
    [
        (several, ["xs[0]", "xs[1]"]),
        (operator.mul, ["a", "b"]),
        (Unsigned(), ["input_0", "input_1"]),
        (two, ["x", "input_1"]),
    ],
)
def test_inputs_have_names_of_parameters(fn: Callable[..., Tensor], names: list[str]) -> None:
    boxes = read(draw_graph(fn, Tensor(3.0), Tensor(2.0))).boxes
    assert [box.partition(":")[0] for box in boxes[:2]] == names
