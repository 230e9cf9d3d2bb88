"""Normalization and embeddings: derivatives, types, running statistics and first values."""

import numpy as np
import pytest

import minispore as ms
from minispore import Tensor, nn, ops
from minispore.testing import gradcheck, gradgradcheck

from .test_conv import of


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.BatchNorm1d(3, dtype=ms.float64), (4, 3)),
        (nn.BatchNorm2d(2, affine=False, dtype=ms.float64), (2, 2, 2, 3)),
        (nn.LayerNorm((2, 3), 1, 1, dtype=ms.float64), (2, 2, 3)),
    ],
)
def test_first_and_second_derivatives(
    layer: nn.Cell, shape: tuple[int, ...], training: bool
) -> None:
    layer.set_train(training)
    x, weights = Tensor(of(0, *shape)), Tensor(of(1, *shape))

    def cubed(x: Tensor) -> Tensor:
        return (layer(x) ** 3 * weights).sum()

    # The function itself, since a cell's own parameters may not change while it is measured.
    gradcheck(cubed, x, weights=layer.trainable_params())
    gradgradcheck(cubed, x, weights=layer.trainable_params())


def test_half_floats_are_normalised_as_floats() -> None:
    x = 1000 * ops.ones((400, 1, 4, 4), ms.float16)
    x[0] = 1001
    layer = nn.BatchNorm2d(1).set_train()
    y = layer(x)
    assert y.dtype is ms.float16
    assert y[0].asnumpy().max() == pytest.approx(np.sqrt(399), rel=2e-3)
    assert layer.moving_mean.item() == pytest.approx(100.00025, rel=1e-6)


def test_a_layer_in_use_changes_nothing_that_it_remembers() -> None:
    layer = nn.BatchNorm2d(2).set_train()
    layer(Tensor(of(0, 3, 2, 2, 2), ms.float32))
    layer.set_train(False)
    before = [p.asnumpy().copy() for p in layer.get_parameters()]
    layer(Tensor(of(1, 3, 2, 2, 2), ms.float32))
    for parameter, old in zip(layer.get_parameters(), before, strict=True):
        assert np.array_equal(parameter.asnumpy(), old)


def test_the_first_vectors_are_small() -> None:
    ms.set_seed(1)
    values = nn.Embedding(1000, 30).embedding_table.asnumpy()
    assert values.std() == pytest.approx(0.01, rel=0.02)
