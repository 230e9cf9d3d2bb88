"""Gradients whose memory the update may overwrite, as in a training step."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from minispore import Parameter, Tensor, nn, ops
from minispore.engine.array import Array, namespace
from minispore.nn.optim.optimizer import DonatedGradients
from minispore.ops import value_and_grad
from tests.helpers.optimizer_cases import each_optimizer, gradients, optimizers, two


class Products(nn.Cell):
    """A loss whose gradients are its inputs: the sum of products of parameters and inputs."""

    def __init__(self, weights: Sequence[Parameter]) -> None:
        super().__init__()
        self.first, self.second = weights

    def construct(self, g: Tensor, h: Tensor) -> Tensor:
        return (self.first * g).sum() + (self.second * h).sum()


@each_optimizer
def test_donated_gradients_give_the_same_update(which: int) -> None:
    donating, keeping = two(), two()
    step = nn.TrainOneStepCell(Products(donating), optimizers(donating)[which])
    optimizer = optimizers(keeping)[which]
    gradient_function = value_and_grad(Products(keeping), None, optimizer.parameters)
    for i in range(4):
        step(*gradients(i))
        optimizer(gradient_function(*gradients(i))[1])
    for one, other in zip(donating, keeping, strict=True):
        np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())


@each_optimizer
def test_only_donated_gradients_are_overwritten(which: int) -> None:
    plain, donated, before = gradients(0), gradients(0), gradients(0)
    optimizers(two())[which](plain)
    optimizers(two())[which](DonatedGradients(donated))
    for p, d, b in zip(plain, donated, before, strict=True):
        np.testing.assert_array_equal(p.asnumpy(), b.asnumpy())
        assert (d.asnumpy() != b.asnumpy()).all()


def test_returned_gradients_are_not_overwritten() -> None:
    weights = two()
    step = nn.TrainOneStepCell(Products(weights), nn.SGD(weights, 0.5), return_grad=True)
    _, returned = step(*gradients(0))
    assert isinstance(returned, dict)
    np.testing.assert_array_equal(returned["beta"].asnumpy(), gradients(0)[1].asnumpy())


CONSTANT = Tensor([1.0, 2.0])


class CustomBackward(nn.Cell):
    """A cell whose `bprop` returns a tensor that is used again."""

    def construct(self, x: Tensor) -> Tensor:
        return (x * CONSTANT).sum()

    def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor]:
        return (CONSTANT,)


def product(x: Array) -> tuple[Array, tuple[Callable[[Array], Array]]]:
    return namespace(x).sum(x * CONSTANT._data), (lambda _: CONSTANT._data,)


def with_rule(x: Tensor) -> Tensor:
    return ops.apply_rule(product, x)


@pytest.mark.parametrize("inner", [CustomBackward(), with_rule], ids=["bprop", "rule"])
def test_tensors_kept_by_bprop_are_not_overwritten(
    inner: Callable[[Tensor], Tensor],
) -> None:
    class Network(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.weight = Parameter(Tensor([3.0, 4.0]), name="weight")

        def construct(self) -> Tensor:
            return inner(self.weight)

    network = Network()
    step = nn.TrainOneStepCell(network, nn.SGD(network.trainable_params(), 0.5))
    step()
    assert network.weight.tolist() == [2.5, 3.0]
    assert CONSTANT.tolist() == [1.0, 2.0]
