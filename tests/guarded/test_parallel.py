"""Gradients of several processes on a device: they go by way of the host, and come back."""

import numpy as np

from minispore import Tensor, nn

from .library import Traffic


def test_reduced_gradients_live_where_they_lived(gpu: Traffic) -> None:
    net = nn.Dense(3, 2)
    reducer = nn.DistributedGradReducer(net.trainable_params(), mean=True, degree=2)
    given = (Tensor(np.full((2, 3), 4.0, np.float32)), Tensor(np.ones(2, np.float32)))
    gpu.clear()
    loss, gradients = reducer.with_loss(Tensor(np.float32(3.0)), given)
    assert [each.device for each in (loss, *gradients)] == ["GPU:0"] * 3
    assert loss.item() == 3.0
    assert [each.asnumpy().tolist() for each in gradients] == [[[2.0] * 3] * 2, [0.5] * 2]
