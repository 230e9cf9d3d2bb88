"""Pooling layers: derivatives, padding, input without a batch axis."""

import pytest

import minispore as ms
from minispore import Tensor, nn, ops
from minispore.common.dtype import DType
from tests.nn.layer.test_conv import of


@pytest.mark.parametrize("dtype", [ms.float16, ms.float32, ms.int8, ms.uint8, ms.int64])
def test_max_pool_ignores_padding(dtype: DType) -> None:
    lowest = ops.full((1, 1, 2, 2), 0 if dtype is ms.uint8 else -120, dtype=dtype)
    pooled = nn.MaxPool2d(3, 1, "pad", 1)(lowest)
    assert pooled.dtype is dtype
    assert (pooled == lowest).all()


def test_single_image_without_batch_axis() -> None:
    x = Tensor(of(0, 3, 5, 6))
    for layer in (nn.MaxPool2d(2, 2), nn.AvgPool2d(2, 2, "same")):
        assert (layer(x) == layer(x.expand_dims(0))[0]).all()
    y, indices = nn.MaxPool2d(2, 2, "pad", return_indices=True)(x)
    assert y.shape == indices.shape == (3, 2, 3)
    assert (x.reshape((3, 30))[1, indices[1].reshape((-1,))] == y[1].reshape((-1,))).all()
