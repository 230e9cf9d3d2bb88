"""First and second derivatives of layers, by their inputs and parameters."""

import pytest

from minispore import Tensor, float64, nn
from minispore.testing import gradcheck, gradgradcheck
from tests.nn.layer.test_conv import of


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.Conv2d(2, 2, (2, 3), 2, has_bias=True, dtype=float64), (2, 2, 3, 4)),
        (nn.Conv2d(2, 3, 1, (1, 2), pad_mode="valid", dtype=float64), (2, 2, 3, 4)),
        (nn.Conv2dTranspose(2, 4, 2, (1, 3), group=2, dtype=float64), (1, 2, 2, 2)),
        (nn.Conv2d(2, 4, 2, pad_mode="valid", dilation=2, group=2, dtype=float64), (1, 2, 4, 3)),
        (nn.MaxPool2d(2, 1), (1, 2, 3, 3)),
        (nn.MaxPool2d(3, 2, "pad", 1), (1, 1, 5, 4)),
        (nn.AvgPool2d(2, 1, "same"), (1, 2, 3, 3)),
        (nn.BatchNorm1d(3, dtype=float64), (4, 3)),
        (nn.BatchNorm2d(2, affine=False, dtype=float64), (2, 2, 2, 3)),
        (nn.BatchNorm1d(3, dtype=float64).set_train(), (4, 3)),
        (nn.BatchNorm2d(2, affine=False, dtype=float64).set_train(), (2, 2, 2, 3)),
        (nn.LayerNorm((2, 3), 1, 1, dtype=float64), (2, 2, 3)),
    ],
)
def test_first_and_second_derivatives(layer: nn.Cell, shape: tuple[int, ...]) -> None:
    x, weights = Tensor(of(0, *shape)), Tensor(of(1, *layer(Tensor(of(0, *shape))).shape))

    def cubed(x: Tensor) -> Tensor:
        return (layer(x) ** 3 * weights).sum()

    # A function, since gradcheck does not allow a cell to change its own parameters.
    gradcheck(cubed, x, weights=layer.trainable_params())
    gradgradcheck(cubed, x, weights=layer.trainable_params())
