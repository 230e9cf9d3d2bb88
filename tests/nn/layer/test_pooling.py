"""Pooling layers: derivatives, padding, input without a batch axis."""

from typing import Any

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


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [5.0]),
        ({"pad_mode": "same"}, [5.0, 8.0]),
        ({"pad_mode": "same", "count_include_pad": False}, [5.0, 8.0]),
        ({"pad_mode": "pad", "padding": (0, 1)}, [2.0, 7.0]),
        ({"pad_mode": "PAD", "padding": [0, 1]}, [2.0, 7.0]),
        ({"pad_mode": "pad", "padding": (0, 1), "count_include_pad": False}, [4.0, 7.0]),
        ({"pad_mode": "pad", "padding": (0, 1), "divisor_override": 1}, [4.0, 14.0]),
        ({"ceil_mode": True}, [5.0, 8.0]),
    ],
)
def test_options_of_average_pooling(options: dict[str, Any], expected: list[float]) -> None:
    layer = nn.AvgPool2d((1, 2), (1, 2), **options)
    assert layer(Tensor([[[[4.0, 6.0, 8.0]]]])).tolist() == [[[expected]]]


def test_a_size_may_be_a_tuple_of_one() -> None:
    x = Tensor(of(0, 1, 2, 6, 6))
    assert (nn.MaxPool2d((2,), (2,))(x) == nn.MaxPool2d(2, 2)(x)).all()
    sequences = x[:, :, 0]
    single, plain = nn.MaxPool1d((2,), (2,)), nn.MaxPool1d(2, 2)
    assert (single(sequences) == plain(sequences)).all()


def test_max_pooling_of_sequences_returns_indices() -> None:
    x = Tensor([[[4.0, 6.0, 8.0, 2.0]]])
    values, indices = nn.MaxPool1d(2, 2, pad_mode="pad", return_indices=True)(x)
    assert values.tolist() == nn.MaxPool1d(2, 2)(x).tolist() == [[[6.0, 8.0]]]
    assert indices.tolist() == [[[1, 2]]]
