"""An in-place write does not change the gradients of earlier operations."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Parameter, Tensor, grad, nn, ops, value_and_grad

Write = Callable[[Parameter, float], object]


def by_item(parameter: Parameter, value: float) -> None:
    parameter[:] = value


def by_optimizer(parameter: Parameter, value: float) -> None:
    optimizer = nn.SGD([parameter], learning_rate=1.0)
    optimizer((parameter.value() - value,))


WRITES: dict[str, Write] = {
    "p[:] =": by_item,
    "p[0] =": lambda p, value: p.__setitem__(0, value),
    "assign": lambda p, value: ops.assign(p, Tensor([value])),
    "copy_": lambda p, value: p.copy_(Tensor([value])),
    "fill_": lambda p, value: p.fill_(value),
    "mul_": lambda p, value: p.mul_(value),
    "add_": lambda p, value: p.add_(value),
    "set_data": lambda p, value: p.set_data(Tensor([value])),
    "SGD": by_optimizer,
}
numbers = st.integers(-8, 8).map(float)


@pytest.mark.parametrize("name", WRITES)
@given(
    first=numbers,
    value=numbers,
    writes=st.lists(st.tuples(st.sampled_from(sorted(WRITES)), numbers), max_size=4),
    order=st.integers(1, 2),
)
def test_gradients_use_values_at_the_time_of_use(
    name: str, first: float, value: float, writes: list[tuple[str, float]], order: int
) -> None:
    parameter = Parameter(Tensor([first]))
    used: list[float] = []

    def fn(x: Tensor) -> Tensor:
        """Return x² times the sum of the parameter's values, which change in between."""
        result = x * x * parameter
        used.append(parameter.value().asnumpy().item())
        for write, number in [(name, value), *writes]:
            WRITES[write](parameter, number)
            result = result + x * x * parameter
            used.append(parameter.value().asnumpy().item())
        return result

    derivative = fn
    for _ in range(order):
        derivative = grad(derivative)
    x = 3.0
    actual = derivative(Tensor([x])).asnumpy().item()
    # In powers of two and small integers every sum is exact.
    assert actual == sum(used) * (2 * x if order == 1 else 2)
    assert parameter.value().asnumpy().item() == used[-1]


def test_optimizer_step_inside_a_differentiated_function() -> None:
    weight = Parameter(Tensor([2.0, 3.0]))
    optimizer = nn.SGD([weight], learning_rate=1.0)

    def fn(x: Tensor) -> Tensor:
        y = (x * weight * weight).sum()
        optimizer((Tensor([1.0, 1.0]),))
        return y

    x = Tensor([3.0, 4.5])
    assert grad(fn)(x).tolist() == [4.0, 9.0]
    weight.set_data(Tensor([2.0, 3.0]))
    value, (by_weight,) = value_and_grad(fn, None, [weight])(x)
    assert value.item() == 3 * 4 + 4.5 * 9
    assert by_weight.tolist() == [12.0, 27.0]
    assert weight.tolist() == [1.0, 2.0]


def test_running_statistics_used_before_their_update() -> None:
    """Evaluate and then train one BatchNorm in one function."""
    norm = nn.BatchNorm1d(1, affine=False)
    x = Tensor([[1.0], [5.0]])

    def fn(x: Tensor) -> Tensor:
        norm.set_train(False)
        y = norm(x).sum()
        norm.set_train(True)
        norm(x * 100.0)
        return y

    expected = 1 / np.sqrt(1 + 1e-5)
    np.testing.assert_allclose(
        np.asarray(grad(fn)(x), np.float64), [[expected], [expected]], rtol=1e-6
    )
    assert norm.moving_variance.item() > 100


def test_tensor_written_while_recording_is_off() -> None:
    buffer = Tensor([2.0])

    class Writes(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            buffer[0] = 100.0
            return x

        def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> Tensor:
            buffer[0] = 200.0
            return dout

    writes = Writes()
    assert grad(lambda x: writes(x * buffer))(Tensor([1.0])).tolist() == [2.0]


def test_parameter_keeps_its_memory_outside_of_record() -> None:
    parameter = Parameter(Tensor([1.0, 2.0]))
    view = parameter.asnumpy()
    for name in ("p[:] =", "p[0] =", "fill_", "mul_", "add_"):
        WRITES[name](parameter, 7.0)
        assert np.shares_memory(view, parameter.asnumpy())
    nn.SGD([parameter], learning_rate=1.0)((Tensor([1.0, 1.0]),))
    assert np.shares_memory(view, parameter.asnumpy())


@pytest.mark.parametrize("differentiated", [False, True])
@pytest.mark.parametrize("name", WRITES)
def test_value_is_a_differentiable_copy(name: str, *, differentiated: bool) -> None:
    parameter = Parameter(Tensor([3.0]))

    def fn(x: Tensor) -> Tensor:
        value = parameter.value()
        WRITES[name](parameter, 5.0)
        assert value.tolist() == [3.0]
        value.fill_(4.0)
        assert 4.0 not in parameter.asnumpy()
        return parameter.value() * x

    if not differentiated:
        fn(Tensor([2.0]))
        return
    assert grad(fn, None, parameter)(Tensor([2.0])).tolist() == [2.0]
