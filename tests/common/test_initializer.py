"""Initialisers: ranges and spreads, names, seeds and errors."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from minispore import Parameter, Tensor, float16, float32, set_seed
from minispore.common import initializer as init
from minispore.common.initializer import Initializer, initializer

# Without types: what a type checker would refuse is what is tried.
wrong: Any = init
wrong_initializer: Any = initializer
SHAPE = (300, 200)  # fan_out, fan_in
lengths = st.integers(2, 12)


def draw(init_: Initializer | str, shape: tuple[int, ...] = SHAPE) -> NDArray[np.generic]:
    return initializer(init_, shape).asnumpy()


@given(lengths, lengths, lengths, st.floats(0.1, 3.0))
def test_bounds_are_those_of_the_papers(out: int, in_: int, kernel: int, gain: float) -> None:
    shape = (out, in_, kernel)
    fan_in, fan_out = in_ * kernel, out * kernel
    xavier = gain * math.sqrt(6 / (fan_in + fan_out))
    assert np.abs(draw(init.XavierUniform(gain), shape)).max() <= xavier * 1.0001
    he = math.sqrt(6 / (1 + gain**2) / fan_in)
    assert np.abs(draw(init.HeUniform(gain), shape)).max() <= he * 1.0001
    assert np.abs(draw(init.Uniform(gain), shape)).max() <= gain * 1.0001


# Greatest absolute value and standard deviation in MindSpore 2.10, for (400, 300).
@pytest.mark.parametrize(
    ("init_", "bound", "deviation"),
    [
        (init.HeUniform(), 0.14142, 0.08165),
        (init.HeUniform(math.sqrt(5)), 0.057735, 0.033333),
        (init.HeUniform(mode="fan_out"), 0.122474, 0.070711),
        (init.HeUniform(nonlinearity="tanh"), 1 / 6, 0.096225),
        (init.HeUniform(nonlinearity="sigmoid"), 0.1, 0.057735),
        (init.HeUniform(1, nonlinearity="relu"), 0.14142, 0.08165),
        (init.HeNormal(), None, 0.08165),
        (init.HeNormal(0.5, "fan_out"), None, 0.06325),
        (init.XavierUniform(2.0), 0.18516, 0.1069),
        (init.XavierNormal(), None, 0.05345),
        (init.Normal(), None, 0.01),
        (init.Uniform(), 0.07, 0.040415),
        (init.TruncatedNormal(), None, 0.01),
        (init.TruncatedNormal(1.0, 3.0), 2.0, 0.4484),
        (init.TruncatedNormal(1.0, 3.0, -1.0, 5.0), 5.0, 0.9392),
    ],
)
def test_spread(init_: Initializer, bound: float | None, deviation: float) -> None:
    values = draw(init_, (400, 300))
    assert values.std() == pytest.approx(deviation, rel=0.02)
    if bound is not None:
        assert bound * 0.99 < np.abs(values).max() <= bound * 1.0001


@given(st.floats(0.01, 2.0), st.floats(-3.0, 3.0), st.floats(-30.0, 30.0), st.floats(0.01, 5.0))
@example(0.0, 1.0, 2.0, 3.0)
def test_truncated_normal_stays_inside_wherever_that_is(
    sigma: float, mean: float, low: float, width: float
) -> None:
    values = draw(init.TruncatedNormal(sigma, mean, low, low + width), (20, 5))
    assert np.float32(low) <= values.min() <= values.max() <= np.float32(low + width)


def test_names() -> None:
    assert (draw("zeros") == 0).all()
    assert (draw("ONES") == 1).all()
    assert (initializer(0.5, SHAPE).asnumpy() == 0.5).all()
    for name, reference in (
        ("normal", init.Normal()),
        ("uniform", init.Uniform()),
        ("HeUniform", init.HeUniform()),
        ("he_uniform", init.HeUniform()),
        ("he_normal", init.HeNormal()),
        ("XavierUniform", init.XavierUniform()),
        ("xavier_normal", init.XavierNormal()),
        ("TruncatedNormal", init.TruncatedNormal()),
    ):
        set_seed(3)
        by_name = draw(name)
        set_seed(3)
        assert np.array_equal(by_name, draw(reference)), name


def test_seed_decides_and_types_only_round() -> None:
    set_seed(5)
    first = initializer("normal", (4, 4), float32).asnumpy()
    second = initializer("normal", (4, 4), float32).asnumpy()
    assert not np.array_equal(first, second)
    set_seed(5)
    half = initializer("normal", (4, 4), float16)
    assert half.dtype is float16
    assert np.allclose(half.asnumpy(), first, atol=1e-4)


def test_shapes_and_tensors() -> None:
    assert initializer("ones", 3).shape == (3,)
    assert initializer("ones", ()).item() == 1
    given_ = Tensor(np.ones((2, 3), np.float32))
    made = initializer(given_, [2, 3])
    assert made is not given_
    assert np.array_equal(made.asnumpy(), given_.asnumpy())
    assert Parameter(initializer("ones", (2,)), name="x").asnumpy().tolist() == [1, 1]
    assert Tensor(shape=(2,), dtype=float32, init=init.One()).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: wrong_initializer("foo", (2,)), ValueError, "'foo'"),
        (lambda: wrong_initializer(init.Normal, (2,)), TypeError, "init"),
        (lambda: wrong_initializer(None, (2,)), TypeError, "init"),
        (lambda: wrong_initializer("ones", (2, -1)), ValueError, "shape"),
        (lambda: wrong_initializer("ones", (0, 2)), ValueError, "shape"),
        (lambda: wrong_initializer("ones", (2.0,)), ValueError, "shape"),
        (lambda: wrong_initializer("ones"), TypeError, "shape"),
        (lambda: wrong_initializer("ones", (2,), "float32"), TypeError, "dtype"),
        (lambda: wrong_initializer(Tensor([1.0, 2.0]), (3,)), ValueError, "shape"),
        (lambda: wrong_initializer("he_uniform", (3,)), ValueError, "at least 2"),
        (lambda: wrong_initializer(Initializer(), (3,)), NotImplementedError, "_initialize"),
        (lambda: wrong.Constant("a"), TypeError, "value"),
        (lambda: wrong.HeUniform(mode="x"), ValueError, "mode"),
        (lambda: wrong.HeUniform(nonlinearity="x"), ValueError, "nonlinearity"),
        (lambda: wrong.HeNormal("a"), TypeError, "negative_slope"),
        (lambda: wrong.XavierUniform("a"), TypeError, "gain"),
        (lambda: wrong.Normal(-1.0), ValueError, "sigma"),
        (lambda: wrong.TruncatedNormal(1.0, 0.0, 2.0, 1.0), ValueError, "'a'"),
    ],
)
def test_errors(make: Callable[[], object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()
