"""Numbers of chance: what is drawn, from which stream, and what is refused."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minispore as ms
from minispore import Tensor, grad, nn, ops, set_seed
from minispore.testing import strategies as mst

few = settings(max_examples=settings().max_examples // 5)
FLOATS = [ms.float16, ms.float32, ms.float64]
DRAWN: dict[str, Callable[[int | None], Tensor]] = {
    "rand": lambda seed: ops.rand(4, seed=seed),
    "randn": lambda seed: ops.randn(4, seed=seed),
    "randint": lambda seed: ops.randint(0, 1 << 40, (4,), seed),
    "dropout": lambda seed: ops.dropout(ops.ones(64), 0.5, seed=seed),
}


@few
@given(shape=mst.shapes(), dtype=st.sampled_from(FLOATS))
def test_shapes_and_types_are_those_asked_for(
    shape: tuple[int, ...], dtype: ms.dtype.DType
) -> None:
    for draw in (ops.rand, ops.randn):
        for x in (draw(shape, dtype=dtype), draw(list(shape), dtype=dtype)):
            assert (x.shape, x.dtype) == (shape, dtype)
        if shape:
            assert draw(*shape).shape == shape
            assert draw(*shape).dtype is ms.float32


@few
@given(low=st.integers(-128, 127), data=st.data())
def test_integers_are_within_their_bounds(low: int, data: st.DataObject) -> None:
    high = data.draw(st.integers(low + 1, 128))
    x = ops.randint(low, high, (50,), dtype=ms.int8)
    assert x.dtype is ms.int8
    assert low <= x.min().item() <= x.max().item() < high


@pytest.mark.parametrize("dtype", FLOATS)
def test_numbers_are_spread_evenly_and_never_one(dtype: ms.dtype.DType) -> None:
    set_seed(1)
    x = np.asarray(ops.rand(20_000, dtype=dtype).asnumpy(), np.float64)
    assert 0 <= x.min() < 0.001
    assert 0.999 < x.max() < 1
    assert abs(x.mean() - 0.5) < 0.01
    assert abs(x.var() - 1 / 12) < 0.01
    normal = np.asarray(ops.randn(20_000, dtype=dtype).asnumpy(), np.float64)
    assert abs(normal.mean()) < 0.03
    assert abs(normal.var() - 1) < 0.05


@pytest.mark.parametrize("name", DRAWN)
def test_a_program_draws_the_same_again_and_something_new_each_time(name: str) -> None:
    draw = DRAWN[name]
    runs: list[list[object]] = []
    for _ in range(2):
        set_seed(7)
        # A stream of its own neither disturbs the program's nor is disturbed by it.
        drawn = [draw(None), draw(3), draw(None), draw(3), draw(4)]
        runs.append([x.tolist() for x in drawn])
        assert len({str(x) for x in drawn}) == 5
    assert runs[0] == runs[1]
    set_seed(7)
    assert [draw(3).tolist(), draw(None).tolist()] == [runs[0][1], runs[0][0]]


@few
@given(p=st.sampled_from([0.25, 0.5, 0.75]), dtype=st.sampled_from(FLOATS))
def test_dropout_keeps_the_mean_and_the_gradient_goes_where_elements_stay(
    p: float, dtype: ms.dtype.DType
) -> None:
    x = ops.ones(2000, dtype)
    set_seed(1)
    y = ops.dropout(x, p)
    assert y.dtype is dtype
    kept = np.asarray(y.asnumpy(), np.float64)
    np.testing.assert_allclose(kept[kept != 0], 1 / (1 - p), rtol=1e-3)
    assert abs((kept == 0).mean() - p) < 0.05
    set_seed(1)
    assert grad(lambda x: ops.dropout(x, p).sum())(x).tolist() == y.tolist()


def test_dropout_is_what_the_layer_does() -> None:
    x = ops.ones(50)
    set_seed(1)
    by_layer = nn.Dropout(p=0.25).set_train()(x)
    set_seed(1)
    assert ops.dropout(x, 0.25).tolist() == by_layer.tolist()


def test_without_training_nothing_is_dropped() -> None:
    whole = Tensor([1, 2])
    assert ops.dropout(whole, 0.5, training=False) is whole
    with pytest.raises(TypeError, match="^For 'dropout', the argument 'input' must be of a float"):
        ops.dropout(whole)


@pytest.mark.parametrize("draw", [ops.rand, ops.randn])
@pytest.mark.parametrize(
    ("size", "error"),
    [
        ((1.5,), TypeError), ((True,), TypeError), (("a",), TypeError), ((None,), TypeError),
        (((2, 3), 4), TypeError), ((-1,), ValueError), (([2, -1],), ValueError),
        ((10**30,), ValueError),
    ],
)  # fmt: skip
def test_a_shape_that_is_none_is_refused(
    draw: Callable[..., Tensor], size: tuple[object, ...], error: type[Exception]
) -> None:
    with pytest.raises(error, match=f"^For '{draw.__name__}', "):
        draw(*size)


@pytest.mark.parametrize("draw", [ops.rand, ops.randn])
def test_a_type_or_a_seed_that_is_none_is_refused(draw: Callable[..., Tensor]) -> None:
    for arguments, error in (
        ({"dtype": ms.int32}, ValueError),
        ({"dtype": 3}, TypeError),
        ({"seed": -1}, ValueError),
        ({"seed": 1.5}, TypeError),
    ):
        (name,) = arguments
        with pytest.raises(error, match=f"^For '{draw.__name__}', the .*'{name}' must be"):
            draw(2, **arguments)
