"""`ops.assign` and `ops.index_add`, alone and in a user-defined optimizer."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose as close
from numpy.typing import NDArray

from minispore import Parameter, Tensor, grad, nn, ops


class OwnMomentum(nn.Optimizer):
    """Momentum made of operations, as in MindSpore's tutorial on optimizers."""

    def __init__(self, params: list[Parameter], learning_rate: float) -> None:
        super().__init__(learning_rate, params)
        self.moments = self.parameters.clone(prefix="moments", init="zeros")

    def construct(self, gradients: Sequence[Tensor]) -> tuple[bool, ...]:
        rate = self.get_lr()
        assert isinstance(rate, Tensor)
        for weight, moment, gradient in zip(self.parameters, self.moments, gradients, strict=True):
            ops.assign(moment, moment * 0.9 + gradient)
            ops.assign(weight, weight - moment * rate)
        return (True,) * len(self.parameters)


def test_optimizer_of_operations_equals_momentum() -> None:
    nets = [nn.Dense(3, 2, weight_init="ones", bias_init="zeros") for _ in range(2)]
    ours = nn.Momentum(nets[0].trainable_params(), 0.1, 0.9)
    custom = OwnMomentum(nets[1].trainable_params(), 0.1)
    for step in range(3):
        x = Tensor(np.full((4, 3), 0.1 * step + 1, np.float32))
        for net, optimizer in zip(nets, (ours, custom), strict=True):
            forward = nn.WithLossCell(net, nn.MSELoss())
            gradient_of = grad(forward, None, optimizer.parameters)
            optimizer(gradient_of(x, ops.zeros((4, 2))))
    for one, other in zip(nets[0].trainable_params(), nets[1].trainable_params(), strict=True):
        close(one.asnumpy().astype(np.float64), other.asnumpy().astype(np.float64), rtol=1e-6)


def test_assign_keeps_dtype_and_memory() -> None:
    weight = Parameter(Tensor([1.0, 2.0]), name="w")
    memory = weight.asnumpy()
    assert type(ops.assign(weight, Tensor([3, 4]))) is Tensor
    assert memory.tolist() == [3.0, 4.0]
    assert weight.dtype == Tensor([1.0]).dtype
    scalar = Tensor(1.0)
    assert ops.assign(scalar, 2).item() == 2.0


def test_invalid_arguments_raise() -> None:
    weight = Parameter(Tensor([1.0, 2.0]), name="w")
    with pytest.raises(ValueError, match=r"the shape \(2,\) of the variable, but got \(1,\)"):
        ops.assign(weight, Tensor([1.0]))
    with pytest.raises(ValueError, match=r"the shape \(2,\) of the variable, but got \(\)"):
        ops.assign(weight, 1.0)
    with pytest.raises(TypeError, match="For 'assign', the type of 'variable' must be"):
        ops.assign([1.0], 1.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="For 'assign', the type of 'value' must be"):
        ops.assign(weight, "1")  # type: ignore[arg-type]
    assert weight.tolist() == [1.0, 2.0]


@given(
    places=st.lists(st.integers(-3, 2), min_size=1, max_size=4),
    axis=st.sampled_from([0, 1, -1]),
    make=st.sampled_from([Tensor, Parameter]),
)
def test_index_add_writes_into_its_argument(
    places: list[int], axis: int, make: Callable[[NDArray[np.float64]], Tensor]
) -> None:
    values = np.arange(9.0).reshape(3, 3)
    slices = np.arange(3.0 * len(places)).reshape(len(places), 3)
    slices = slices if axis == 0 else slices.T
    expected = values.copy()
    for i, place in enumerate(places):
        np.moveaxis(expected, axis, 0)[place] += np.moveaxis(slices, axis, 0)[i]
    x = make(values)
    memory = x.asnumpy()
    assert ops.index_add(x, Tensor(places), Tensor(slices), axis).tolist() == expected.tolist()
    assert memory.tolist() == expected.tolist()
    if axis == 0:
        again = make(values)
        assert ops.scatter_add(again, Tensor(places), Tensor(slices)).tolist() == expected.tolist()
        assert again.tolist() == expected.tolist()


def test_gradients_flow_through_what_index_add_has_written() -> None:
    places = Tensor([1, 1])

    def product(x: Tensor, y: Tensor) -> Tensor:
        z = x * 1.0
        return (ops.index_add(z, places, y, 0) * z).sum()

    first, second = grad(product, (0, 1))(Tensor([1.0, 2.0]), Tensor([3.0, 4.0]))
    assert (first.tolist(), second.tolist()) == ([2.0, 18.0], [18.0, 18.0])
