"""A training step lets the update write into its gradients: nobody can tell, but by the time."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from minispore import Parameter, Tensor, nn, ops
from minispore._array import Array, namespace
from minispore.nn.optim.optimizer import Spare
from minispore.ops import value_and_grad

from .optim_cases import each_optimizer, gradients, optimizers, two


class Products(nn.Cell):
    """A loss whose gradients are given: the sum of the parameters' products with them."""

    def __init__(self, weights: Sequence[Parameter]) -> None:
        super().__init__()
        self.first, self.second = weights

    def construct(self, g: Tensor, h: Tensor) -> Tensor:
        return (self.first * g).sum() + (self.second * h).sum()


@each_optimizer
def test_a_step_updates_as_the_optimiser_does_on_gradients_that_are_kept(which: int) -> None:
    stepped, kept = two(), two()
    step = nn.TrainOneStepCell(Products(stepped), optimizers(stepped)[which])
    optimizer = optimizers(kept)[which]
    found = value_and_grad(Products(kept), None, optimizer.parameters)
    for i in range(4):
        step(*gradients(i))
        optimizer(found(*gradients(i))[1])
    for one, other in zip(stepped, kept, strict=True):
        np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())


@each_optimizer
def test_gradients_that_an_optimiser_is_given_stay_as_they_are(which: int) -> None:
    given, before = gradients(0), gradients(0)
    optimizers(two())[which](given)
    for g, b in zip(given, before, strict=True):
        np.testing.assert_array_equal(g.asnumpy(), b.asnumpy())


@each_optimizer
def test_the_memory_of_spare_gradients_is_used(which: int) -> None:
    given, before = gradients(0), gradients(0)
    optimizers(two())[which](Spare(given))
    for g, b in zip(given, before, strict=True):
        assert (g.asnumpy() != b.asnumpy()).all()


def test_gradients_that_a_step_returns_stay_as_they_are() -> None:
    weights = two()
    step = nn.TrainOneStepCell(Products(weights), nn.SGD(weights, 0.5), return_grad=True)
    _, returned = step(*gradients(0))
    assert isinstance(returned, dict)
    np.testing.assert_array_equal(returned["beta"].asnumpy(), gradients(0)[1].asnumpy())


KEPT = Tensor([1.0, 2.0])


class OwnBackward(nn.Cell):
    """Its backward pass hands back a tensor that it keeps."""

    def construct(self, x: Tensor) -> Tensor:
        return (x * KEPT).sum()

    def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor]:
        return (KEPT,)


def product(x: Array) -> tuple[Array, tuple[Callable[[Array], Array]]]:
    return namespace(x).sum(x * KEPT._data), (lambda _: KEPT._data,)


def by_a_rule(x: Tensor) -> Tensor:
    return ops.apply_rule(product, x)


@pytest.mark.parametrize("inner", [OwnBackward(), by_a_rule], ids=["bprop", "rule"])
def test_what_the_users_backward_code_keeps_is_not_written_into(
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
    assert KEPT.tolist() == [1.0, 2.0]
