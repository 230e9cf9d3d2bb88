"""Drawings of graphs on a device."""

import numpy as np

from minispore import Tensor, nn, ops, set_context, set_seed
from minispore.drawing import draw_cell, draw_graph
from tests.strict_device.strict_backend import TransferCounter


def drawings() -> list[str]:
    set_seed(1)
    net = nn.SequentialCell(nn.Conv2d(1, 2, 3), nn.Flatten())
    images = Tensor(np.random.default_rng(0).random((2, 1, 2, 2), np.float32))

    def few(x: Tensor) -> Tensor:
        return ops.stop_gradient(x) * ops.sign(x) + x / 3.0

    return [draw_graph(few, Tensor([1.0, -2.0])), draw_graph(net, images), draw_cell(net)]


def test_drawing_is_the_same_on_each_device(gpu: TransferCounter) -> None:
    there = drawings()
    set_context(device_target="CPU")
    assert there == drawings()
