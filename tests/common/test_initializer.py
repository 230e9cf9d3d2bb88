"""Initializers: distributions, arguments, names and seeds."""

import inspect
import math
import re
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from minispore import Parameter, Tensor, float16, float32, set_seed
from minispore.common import initializer as init
from minispore.common.initializer import Initializer, initializer
from minispore.ops import seed
from minispore.ops.seed import generator

SHAPE = (300, 200)  # fan_out, fan_in
lengths = st.integers(2, 12)


def draw(init_: Initializer | str, shape: tuple[int, ...] = SHAPE) -> NDArray[np.float32]:
    return initializer(init_, shape).asnumpy()


@given(
    st.lists(lengths, min_size=2, max_size=4),
    st.floats(0.1, 3.0) | st.floats(-3.0, -0.1),
    st.floats(-5.0, 5.0),
)
def test_initializers_scale_the_same_random_numbers(
    shape: list[int], gain: float, mean: float
) -> None:
    """The bounds and deviations are those of the papers."""
    fan_in, fan_out = math.prod(shape[1:]), shape[0] * math.prod(shape[2:])
    leaky = math.sqrt(2 / (1 + gain**2))
    even: list[tuple[Initializer, float]] = [
        (init.Uniform(gain), gain),
        (init.XavierUniform(gain), gain * math.sqrt(6 / (fan_in + fan_out))),
        (init.HeUniform(gain), leaky * math.sqrt(3 / fan_in)),
        (init.HeUniform(gain, "fan_out", "leaky_relu"), leaky * math.sqrt(3 / fan_out)),
        (init.HeUniform(gain, "fan_in", "relu"), math.sqrt(2) * math.sqrt(3 / fan_in)),
        (init.HeUniform(gain, "fan_out", "tanh"), 5 / 3 * math.sqrt(3 / fan_out)),
        (init.HeUniform(gain, "fan_in", "sigmoid"), math.sqrt(3 / fan_in)),
    ]
    gaussian: list[tuple[Initializer, float, float]] = [
        (init.Normal(abs(gain), mean), abs(gain), mean),
        (init.XavierNormal(gain), abs(gain) * math.sqrt(2 / (fan_in + fan_out)), 0),
        (init.HeNormal(gain), leaky / math.sqrt(fan_in), 0),
    ]
    for made, bound in even:
        set_seed(3)
        actual = draw(made, tuple(shape))
        set_seed(3)
        numbers = abs(bound) * (2 * generator("init").random(shape) - 1)
        assert np.allclose(actual, numbers, rtol=1e-5, atol=1e-6)
    for made, deviation, middle in gaussian:
        set_seed(3)
        actual = draw(made, tuple(shape))
        set_seed(3)
        numbers = middle + deviation * generator("init").standard_normal(shape)
        assert np.allclose(actual, numbers, rtol=1e-5, atol=1e-6)


SETTINGS: list[tuple[type[Initializer], dict[str, object]]] = [
    (init.Constant, {"value": 2.0}),
    (init.Uniform, {"scale": 2.0}),
    (init.Normal, {"sigma": 2.0, "mean": 3.0}),
    (init.TruncatedNormal, {"sigma": 2.0, "mean": 3.0, "a": 1.0, "b": 9.0}),
    (init.XavierUniform, {"gain": 2.0}),
    (init.HeNormal, {"negative_slope": 2.0, "mode": "fan_out", "nonlinearity": "tanh"}),
]


@pytest.mark.parametrize(("kind", "settings"), SETTINGS)
def test_initializers_store_arguments_and_defaults(
    kind: type[Initializer], settings: dict[str, object]
) -> None:
    parameters = inspect.signature(kind).parameters.values()
    default = {p.name: p.default for p in parameters}
    needed = {p.name: settings[p.name] for p in parameters if p.default is p.empty}
    for given_ in (settings, needed):
        made, expected = kind(**given_), {**default, **given_}
        assert made._kwargs == expected
        assert {name: getattr(made, name) for name in settings} == expected


@pytest.mark.parametrize("kind", [kind for kind, _ in SETTINGS if kind is not init.Constant])
def test_initializers_draw_from_one_stream(kind: type[Initializer]) -> None:
    set_seed(3)
    before = str(generator("init").bit_generator.state)
    draw(kind())
    assert seed._streams.keys() == {"init"}
    assert str(generator("init").bit_generator.state) != before


# Greatest absolute value and standard deviation of the defaults in MindSpore 2.10, for (400, 300).
@pytest.mark.parametrize(
    ("init_", "bound", "deviation"),
    [
        (init.HeUniform(), 0.14142, 0.08165),
        (init.HeNormal(), None, 0.08165),
        (init.XavierNormal(), None, 0.05345),
        (init.Normal(), None, 0.01),
        (init.Uniform(), 0.07, 0.040415),
        (init.TruncatedNormal(), None, 0.01),
        (init.TruncatedNormal(1.0, 3.0), 2.0, 0.4484),
        (init.TruncatedNormal(1.0, 3.0, -1.0, 5.0), 5.0, 0.9392),
    ],
)
def test_standard_deviation_and_bounds(
    init_: Initializer, bound: float | None, deviation: float
) -> None:
    values = draw(init_, (400, 300))
    assert values.std() == pytest.approx(deviation, rel=0.02)
    if bound is not None:
        assert bound * 0.99 < np.abs(values).max() <= bound * 1.0001


@given(st.floats(0.01, 2.0), st.floats(-3.0, 3.0), st.floats(-30.0, 30.0), st.floats(0.01, 5.0))
@example(0.0, 1.0, 2.0, 3.0)
def test_truncated_normal_stays_in_its_interval(
    sigma: float, mean: float, low: float, width: float
) -> None:
    values = draw(init.TruncatedNormal(sigma, mean, low, low + width), (20, 5))
    assert np.float32(low) <= values.min() <= values.max() <= np.float32(low + width)


@pytest.mark.parametrize(
    ("sigma", "mean", "low", "high"),
    [
        (1.0, 0.0, -2.0, 2.0),
        (3.0, 1.0, -50.0, 50.0),
        (0.2, -1.0, -50.0, 50.0),
        (1.0, 100.0, -math.inf, math.inf),
        (0.5, -2.0, -1.0, 3.0),
        (2.0, 5.0, -7.0, 1.0),
        (1.0, 0.0, 6.0, 7.0),
    ],
)
def test_truncated_normal_has_the_conditional_distribution(
    sigma: float, mean: float, low: float, high: float
) -> None:
    """The Kolmogorov-Smirnov distance is that of 20,000 correct numbers."""
    set_seed(3)
    values = np.sort(draw(init.TruncatedNormal(sigma, mean, low, high), (200, 100)).ravel())

    def beyond(x: float) -> float:
        """Return the probability of a normal number beyond x, on the side of `low`."""
        towards = -1 if low > mean else 1
        return math.erfc(-towards * (x - mean) / sigma / math.sqrt(2)) / 2

    first, last = beyond(low), beyond(high)
    expected = [(beyond(float(x)) - first) / (last - first) for x in values]
    distance = np.abs(np.array(expected) - (np.arange(len(values)) + 0.5) / len(values)).max()
    assert distance < 1.7 / math.sqrt(len(values))


@pytest.mark.parametrize(
    "settings", [(0.01, 0.0, 1e3, 2e3), (3e38, 0.0, -1.0, 1.0), (1e-170, 0.0, -1.0, 1.0)]
)
def test_truncated_normal_in_the_tail_terminates(settings: tuple[float, ...]) -> None:
    values = draw(init.TruncatedNormal(*settings), (200, 100))
    assert settings[2] <= values.min() <= values.max() <= settings[3]


@pytest.mark.parametrize(
    "kind",
    [
        *(init.Zero, init.One, init.Normal, init.Uniform, init.TruncatedNormal),
        *(init.HeUniform, init.HeNormal, init.XavierUniform, init.XavierNormal),
    ],
)
@given(shape=st.tuples(lengths, lengths), upper=st.booleans())
def test_name_of_an_initializer_is_that_of_its_class(
    kind: type[Initializer], shape: tuple[int, ...], upper: bool
) -> None:
    name = kind.__name__.lower()
    others = {"zero": "zeros", "one": "ones"}
    other = others.get(name) or re.sub("^(he|xavier)", r"\1_", name)
    for spelling in (name, other, kind.__name__):
        set_seed(3)
        actual = draw(spelling.upper() if upper else spelling, shape)
        set_seed(3)
        assert np.array_equal(actual, draw(kind(), shape))


@pytest.mark.parametrize(
    "each",
    [
        *(init.Zero(), init.One(), init.Constant(3), init.Uniform(0.5), init.Normal(0.5, 2)),
        *(init.TruncatedNormal(1, 2, -3, 4), init.XavierUniform(2), init.XavierNormal(3)),
        *(init.HeUniform(2, "fan_out", "relu"), init.HeNormal(0.1, "fan_in", "tanh")),
    ],
)
def test_repr_is_a_call_that_makes_an_equal_initializer(each: Initializer) -> None:
    again = eval(repr(each), dict(vars(init)))
    assert repr(again) == repr(each)
    assert vars(again) == vars(each)


def test_repr_of_an_initializer_without_settings_is_its_class() -> None:
    class Own(Initializer):
        def __init__(self) -> None:
            pass

    assert repr(Own()) == "Own()"


@given(shape=st.tuples(lengths, lengths), number=st.floats(-5, 5, width=32) | st.booleans())
def test_number_is_a_constant_initializer(shape: tuple[int, ...], number: float) -> None:
    for values in (initializer(number, shape), initializer(init.Constant(number), shape)):
        assert (values.shape, values.dtype) == (shape, float32)
        assert (values.asnumpy() == number).all()


@given(st.integers(0, 2**32 - 1), st.sampled_from(["uniform", "normal", "truncatedNormal"]))
def test_without_a_seed_numpys_global_state_decides(number: int, name: str) -> None:
    with patch.dict(seed._seeds, seed=None):
        np.random.seed(number)  # noqa: NPY002
        first, second = (init.initializer(name, (20,)).asnumpy() for _ in range(2))
        np.random.seed(number)  # noqa: NPY002
        np.testing.assert_array_equal(init.initializer(name, (20,)).asnumpy(), first)
        assert not np.array_equal(first, second)


def test_same_seed_gives_the_same_values_in_each_dtype() -> None:
    set_seed(5)
    first = initializer("normal", (4, 4), float32).asnumpy()
    second = initializer("normal", (4, 4), float32).asnumpy()
    assert not np.array_equal(first, second)
    set_seed(5)
    half = initializer("normal", (4, 4), float16)
    assert half.dtype is float16
    assert np.allclose(half.asnumpy(), first, atol=1e-4)


def test_initializer_accepts_shapes_and_tensors() -> None:
    assert initializer("ones", 3).shape == (3,)
    assert initializer("ones", ()).item() == 1
    given_ = Tensor(np.ones((2, 3), np.float32))
    made = initializer(given_, [2, 3])
    assert made is not given_
    assert np.array_equal(made.asnumpy(), given_.asnumpy())
    assert initializer(given_, dtype=float16).dtype is float16
    assert Parameter(initializer("ones", (2,)), name="x").asnumpy().tolist() == [1, 1]
    assert Tensor(shape=(2,), dtype=float32, init=init.One()).tolist() == [1, 1]
