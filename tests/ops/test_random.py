"""Random tensors: their distribution, their random streams, and invalid arguments."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import minispore as ms
from minispore import Tensor, grad, nn, ops, set_seed
from minispore.common.dtype import DType
from minispore.testing import strategies as mst
from tests.helpers.floats import Floats
from tests.helpers.randomness import assert_frequency, assert_independent_along_axes, assert_moments

few = settings(max_examples=max(settings().max_examples // 5, 2))
seeds = st.integers(0, 2**32 - 1)
float_types = mst.dtypes("float")
SHAPE = (400, 500)
# Digits after the binary point.
BITS = {ms.float16: 11, ms.float32: 24, ms.float64: 53}


def of_primitive(seed: int | None) -> int:
    """Return a primitive's seed, which is 0 for none."""
    return 0 if seed is None else seed + 1


DRAWN: dict[str, Callable[[int | None], Tensor]] = {
    "rand": lambda seed: ops.rand(4, seed=seed),
    "randn": lambda seed: ops.randn(4, seed=seed),
    "randint": lambda seed: ops.randint(0, 1 << 40, (4,), seed),
    "multinomial": lambda seed: ops.multinomial(ops.ones(1000), 9, seed=seed),
    "dropout": lambda seed: ops.dropout(ops.ones(64), 0.5, seed=seed),
    "StandardNormal": lambda seed: ops.StandardNormal(of_primitive(seed))((4,)),
    "UniformReal": lambda seed: ops.UniformReal(of_primitive(seed))((4,)),
    "UniformInt": lambda seed: ops.UniformInt(of_primitive(seed))(
        (9,), Tensor(0, ms.int32), Tensor(1 << 30, ms.int32)
    ),
}


@given(shape=mst.shapes(), dtype=float_types)
def test_random_tensors_have_the_requested_shape_and_dtype(
    shape: tuple[int, ...], dtype: DType
) -> None:
    for draw in (ops.rand, ops.randn):
        for x in (draw(shape, dtype=dtype), draw(list(shape), dtype=dtype)):
            assert (x.shape, x.dtype) == (shape, dtype)
        if shape:
            assert draw(*shape).shape == shape
            assert draw(*shape).dtype is ms.float32


def test_uniform_int_refuses_bounds_that_are_no_integers() -> None:
    for name in ("minval", "maxval"):
        bounds = {"minval": Tensor(1), "maxval": Tensor(2)} | {name: Tensor(1.5)}
        with pytest.raises(
            TypeError, match=f"^For 'UniformInt', .*'{name}' must be a Tensor of int"
        ):
            ops.UniformInt()((2,), **bounds)


@few
@given(seed=seeds, dtype=float_types)
def test_rand_is_uniform_in_all_digits(seed: int, dtype: DType) -> None:
    x = ops.rand(SHAPE, dtype=dtype, seed=seed).asnumpy().astype(np.float64)
    assert_moments(x, 0.5, 1 / math.sqrt(12))
    assert_independent_along_axes(x)
    for k in range(8):
        assert_frequency((k / 8 <= x) & (x < (k + 1) / 8), 1 / 8)
    digits = x * 2.0 ** BITS[dtype]
    assert ((digits >= 0) & (digits < 2.0 ** BITS[dtype]) & (digits % 1 == 0)).all()
    assert_frequency(digits % 2 == 1, 1 / 2)


@pytest.mark.full
@few
@given(seed=seeds, dtype=float_types)
def test_randn_is_normal_up_to_its_tails(seed: int, dtype: DType) -> None:
    x = ops.randn(SHAPE, dtype=dtype, seed=seed).asnumpy().astype(np.float64)
    assert_moments(x, 0, 1)
    assert_independent_along_axes(x)
    for bound in (0.5, 1, 2, 3):
        assert_frequency(x > bound, math.erfc(bound / math.sqrt(2)) / 2)
        assert_frequency(x < -bound, math.erfc(bound / math.sqrt(2)) / 2)


@given(st.integers(0, 99), st.floats(-3, 3), st.lists(st.floats(0, 3), min_size=3, max_size=3))
def test_normal_scales_and_shifts_standard_normal_numbers(
    seed: int, mean: float, stddev: list[float]
) -> None:
    def draw(mean: Tensor | float, stddev: Tensor | float) -> Floats:
        ms.set_seed(seed)
        return ops.normal((4, 3), mean, stddev).asnumpy()

    ms.set_seed(seed)
    standard = ops.standard_normal((4, 3)).asnumpy()
    scaled = draw(Tensor(mean, ms.float32), Tensor(stddev, ms.float32))
    np.testing.assert_allclose(scaled, mean + np.array(stddev) * standard, rtol=1e-5, atol=1e-5)
    assert np.array_equal(draw(0.0, 1.0), standard)


@given(low=st.integers(-128, 120), count=st.integers(1, 8), seed=seeds)
@example(120, 8, 0)
def test_randint_draws_each_integer_equally_often(low: int, count: int, seed: int) -> None:
    x = ops.randint(low, low + count, (40, 50), seed, dtype=ms.int8)
    assert (x.shape, x.dtype) == ((40, 50), ms.int8)
    drawn = x.asnumpy()
    assert drawn.min() >= low
    assert drawn.max() < low + count
    for k in range(count):
        assert_frequency(drawn == low + k, 1 / count)
    if count > 1:
        assert_independent_along_axes(drawn)


@few
@given(p=st.floats(0.001, 0.999), seed=seeds, dtype=float_types)
@example(0.5, 0, ms.float32)
def test_dropout_zeroes_elements_independently_and_scales_the_others(
    p: float, seed: int, dtype: DType
) -> None:
    x = ops.ones(SHAPE, dtype)
    set_seed(seed)
    y = ops.dropout(x, p)
    assert y.dtype is dtype
    values = y.asnumpy()
    assert set(values.ravel().tolist()) == {0.0, dtype.numpy_dtype.type(1 / (1 - p)).item()}
    assert_frequency(values == 0, p)
    assert_independent_along_axes(values)
    set_seed(seed)
    gradient = grad(lambda x: ops.dropout(x, p))(x)
    assert np.array_equal(gradient.asnumpy(), values)


@pytest.mark.parametrize("name", DRAWN)
@given(seed=seeds, other=st.integers(0, 2**40))
def test_each_seed_has_a_stream_that_set_seed_restarts(name: str, seed: int, other: int) -> None:
    draw = DRAWN[name]
    runs: list[list[object]] = []
    for _ in range(2):
        set_seed(seed)
        # The stream of a seed and the program's are independent.
        drawn = [draw(None), draw(other), draw(None), draw(other)]
        runs.append([x.tolist() for x in drawn])
        assert len({str(x) for x in drawn}) == len(drawn)
    assert runs[0] == runs[1]
    firsts: set[str] = set()
    for own_seed in (None, *range(other, other + 9)):
        set_seed(seed)
        firsts.add(str(draw(own_seed)))
    assert len(firsts) == 10
    set_seed(seed)
    assert [draw(other).tolist(), draw(None).tolist()] == [runs[0][1], runs[0][0]]
    set_seed(seed ^ 1)
    assert draw(None).tolist() != runs[0][0]


@given(seed=seeds, p=st.floats(0.001, 0.999))
def test_dropout_equals_the_layer(seed: int, p: float) -> None:
    x = ops.ones(50)
    set_seed(seed)
    by_layer = nn.Dropout(p=p).set_train()(x)
    set_seed(seed)
    assert ops.dropout(x, p).tolist() == by_layer.tolist()


@given(mst.tensors(), st.floats(0, 1, exclude_max=True))
def test_dropout_without_training_returns_its_input(x: Tensor, p: float) -> None:
    assert ops.dropout(x, p, training=False) is x
    if x.dtype not in BITS and p > 0:
        with pytest.raises(TypeError, match="'dropout', the argument 'input' must be of a float"):
            ops.dropout(x, p)


not_an_int = st.sampled_from([1.5, True, "a", None])
invalid_sizes = (
    st.tuples(not_an_int) | st.tuples(not_an_int, st.just(2)) | st.just(((2, 3), 4)),
    st.sampled_from([(-1,), ([2, -1],), (10**30,), (2, -3)]),
)


REFUSED: list[tuple[str, object, type[Exception]]] = [
    ("dtype", ms.int32, ValueError),
    ("dtype", 3, TypeError),
    ("seed", -1, ValueError),
    ("seed", 1.5, TypeError),
]


@pytest.mark.parametrize("draw", [ops.rand, ops.randn])
@given(data=st.data())
def test_invalid_shape_dtype_or_seed_raises(
    draw: Callable[..., Tensor], data: st.DataObject
) -> None:
    start = f"^For '{draw.__name__}', "
    for error, sizes in zip((TypeError, ValueError), invalid_sizes, strict=True):
        with pytest.raises(error, match=start):
            draw(*data.draw(sizes))
    for name, value, error in REFUSED:
        with pytest.raises(error, match=f"{start}the .*'{name}' must be"):
            draw(2, **{name: value})


@given(seed=seeds, weights=st.lists(st.integers(0, 5), min_size=2, max_size=5))
@settings(few)
def test_multinomial_draws_in_proportion_to_the_weights(seed: int, weights: list[int]) -> None:
    assume(sum(weights) > 0)
    set_seed(seed)
    drawn = ops.multinomial(Tensor([weights, weights[::-1]]), 20_000).asnumpy()
    for row, shares in zip(drawn, (weights, weights[::-1]), strict=True):
        for i, weight in enumerate(shares):
            assert_frequency(row == i, weight / sum(weights))


@given(seed=seeds, weights=st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_multinomial_without_replacement_draws_each_index_once(
    seed: int, weights: list[int]
) -> None:
    available = [i for i, weight in enumerate(weights) if weight]
    set_seed(seed)
    drawn = ops.multinomial(Tensor(weights), len(available), replacement=False)
    assert np.sort(drawn.asnumpy()).tolist() == available
    with pytest.raises(ValueError, match="^For 'multinomial', each row must have"):
        ops.multinomial(Tensor(weights), len(available) + 1, replacement=False)


def test_multinomial_without_replacement_draws_heavy_weights_first() -> None:
    set_seed(1)
    first = ops.multinomial(Tensor([[3.0, 1.0]] * 20_000), 1, replacement=False).asnumpy()
    assert_frequency(first[:, 0] == 0, 0.75)
