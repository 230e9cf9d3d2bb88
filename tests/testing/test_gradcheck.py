"""gradcheck: right gradients pass, in every type; each kind of wrong one is named."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Parameter, Tensor, nn, ops
from minispore.common import dtype as mstype
from minispore.testing import GradientError, _gradcheck, gradcheck, gradgradcheck

TYPES = st.sampled_from([mstype.float16, mstype.float32, mstype.float64])
RIGHT: list[Callable[[Tensor, Tensor], object]] = [
    lambda x, y: x * y + ops.exp(x),
    lambda x, y: ops.matmul(x, y.T),
    lambda x, y: (ops.tanh(x), [ops.sum(y) * x]),
    lambda x, y: {"sum": x - 2 * y, "places": ops.argmax(x)},
    lambda x, y: ops.concat((x, y), 1)[:, 1:],
    lambda x, y: 1000.0 * x + y / 1000,
]


def point(seed: int, dtype: mstype.DType) -> list[Tensor]:
    rng = np.random.default_rng(seed)
    return [Tensor(rng.uniform(-1, 1, (2, 3)), dtype) for _ in range(2)]


@given(st.sampled_from(RIGHT), TYPES, st.integers(0, 99))
def test_what_is_right_passes(
    fn: Callable[[Tensor, Tensor], object], dtype: mstype.DType, seed: int
) -> None:
    gradcheck(fn, point(seed, dtype))
    gradgradcheck(fn, point(seed, dtype))


@given(st.sampled_from(RIGHT), st.integers(0, 99), st.floats(-3, 3).filter(lambda a: abs(a) > 0.1))
def test_what_is_wrong_in_one_place_does_not(
    fn: Callable[[Tensor, Tensor], object], seed: int, factor: float
) -> None:
    """A part is added that differentiation does not see, to one element of one input."""

    def wrong(x: Tensor, y: Tensor) -> object:
        return fn(x, y), ops.stop_gradient(x)[1, 2] * factor

    with pytest.raises(GradientError) as raised:
        gradcheck(wrong, point(seed, mstype.float64))
    assert "by input 0, a Float64 tensor of shape (2, 3), is wrong." in str(raised.value)
    assert "By its element [1, 2], for element [] of output" in str(raised.value)
    assert "differentiation says 0.0" in str(raised.value)
    assert f"central differences say {factor:.6}." in str(raised.value)


class Wrong(nn.Cell):
    """A cell whose own bprop forgets a factor."""

    def construct(self, x: Tensor) -> Tensor:
        return x * x

    def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor]:
        return (dout * x,)


def test_what_is_wrong_far_behind_is_found_without_its_place() -> None:
    def wrong(x: Tensor) -> Tensor:
        return x.sum() + ops.stop_gradient(x)[_gradcheck._MOST]

    x = Tensor(np.zeros(_gradcheck._MOST + 1))
    with pytest.raises(GradientError, match=r"wrong\.\nFor a random sum:"):
        gradcheck(wrong, x)


def test_a_cell_with_a_wrong_bprop() -> None:
    x = Tensor(np.array([1.0, 3.0]))
    with pytest.raises(GradientError) as raised:
        gradcheck(Wrong(), x)
    assert str(raised.value).splitlines() == [
        "The gradient of 'Wrong' by input 0, a Float64 tensor of shape (2,), is wrong.",
        "By its element [0], for element [0] of the output:",
        "    differentiation says 1.0,",
        "    central differences say 2.0.",
    ]


def test_a_rule_of_ones_own() -> None:
    def power(factor: float, x: Tensor) -> Tensor:
        return ops.apply_rule(lambda x: (x * x * x, (lambda g: g * (factor * x * x),)), x)

    x = Tensor(np.array([[0.5, -1.0], [2.0, 3.0]]))
    gradcheck(lambda x: power(3.0, x), x)
    gradgradcheck(lambda x: power(3.0, x), x)
    with pytest.raises(GradientError, match=r"says 0\.5,\n.* say 0\.75"):
        gradcheck(lambda x: power(2.0, x), x)


def test_first_derivatives_can_be_right_and_second_ones_wrong() -> None:
    class Half(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return x**3

        def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor]:
            return (dout * 3 * ops.stop_gradient(x) ** 2,)

    x = Tensor(np.array([1.0, 3.0]))
    gradcheck(Half(), x)
    with pytest.raises(GradientError, match="the gradient of 'Half' by input 0"):
        gradgradcheck(Half(), x)


@pytest.mark.parametrize("dtype", [mstype.float32, mstype.float64])
def test_a_cell_is_checked_by_its_parameters_as_well(dtype: mstype.DType) -> None:
    net = nn.SequentialCell(nn.Dense(3, 4), nn.Sigmoid(), nn.Dense(4, 2))
    before = {p.name: p.asnumpy().copy() for p in net.get_parameters()}
    x = point(1, dtype)[0]
    gradcheck(net, x)
    gradgradcheck(net, x)
    loss = nn.WithLossCell(net, nn.CrossEntropyLoss())
    gradcheck(loss, [x, Tensor([0, 1])])
    for p in net.get_parameters():
        np.testing.assert_array_equal(p.asnumpy(), before[p.name])

    class Scaled(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.scale = Parameter(Tensor([2.0]), name="scale")

        def construct(self, x: Tensor) -> Tensor:
            return x * ops.stop_gradient(self.scale)

    with pytest.raises(GradientError, match="by parameter 'scale', a Float32 tensor"):
        gradcheck(Scaled(), x)


def test_weights_of_a_function() -> None:
    weight = Parameter(Tensor([2.0]), name="w")
    gradcheck(lambda x: x * weight, Tensor([1.0]), weights=[weight])
    gradcheck(lambda: ops.exp(weight), [], weights=[weight])
    constant = pytest.warns(UserWarning, match="gradients are all zero")
    with constant, pytest.raises(GradientError, match="by parameter 'w'"):
        gradcheck(lambda: ops.stop_gradient(weight), [], weights=[weight])


def test_what_cannot_be_checked_is_said_so() -> None:
    x = Tensor([1.0, 2.0])
    with pytest.raises(GradientError, match="'Dropout' gives something else each time"):
        gradcheck(nn.Dropout(p=0.5).set_train(), Tensor(np.ones(50)))

    def changes(x: Tensor) -> Tensor:
        y = x * 1
        x.asnumpy()[0] += 1
        return y

    with pytest.raises(GradientError, match="changes its input 0|something else each time"):
        gradcheck(changes, x)
    with pytest.raises(TypeError, match="'fn' must be a function, got 3"):
        gradcheck(3, x)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="returns no tensor of floating point"):
        gradcheck(lambda x: ops.argmax(x), x)
    with pytest.raises(ValueError, match="one of 'inputs' must be a tensor of floating point"):
        gradcheck(ops.exp, Tensor([1, 2]))
    with pytest.raises(TypeError, match="weights"):
        gradcheck(ops.exp, x, weights=[3])  # type: ignore[list-item]


def test_the_tolerance_is_ones_own() -> None:
    def nearly(x: Tensor) -> Tensor:
        return x + ops.stop_gradient(x) * 0.01

    x = Tensor(np.ones(2))
    gradcheck(nearly, x, tolerance=0.02)
    with pytest.raises(GradientError, match=r"says 1\.0,\n.* say 1\.01\."):
        gradcheck(nearly, x)


def test_nothing_is_right() -> None:
    gradcheck(lambda x: 2 * x, Tensor(np.zeros((0, 3))))
