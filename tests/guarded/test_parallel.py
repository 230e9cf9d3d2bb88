"""Gradients of several processes on a device that MPI cannot read: they go by way of the host."""

import numpy as np

from minispore import Tensor, nn

from ..parallel.threads import play
from .library import Traffic


def test_reduced_gradients_live_where_they_lived(gpu: Traffic) -> None:
    net = nn.Dense(3, 2)
    reducer = nn.DistributedGradReducer(net.trainable_params(), mean=True, degree=2)

    def step(rank: int) -> tuple[Tensor, ...]:
        given = (Tensor(np.full((2, 3), 4.0 * rank, np.float32)), Tensor(np.ones(2, np.float32)))
        loss, gradients = reducer.of_step(Tensor(np.float32(rank)), given, rows=1 + 2 * rank)
        return loss, *gradients

    for found in play(2, step):
        assert [each.device for each in found] == ["GPU:0"] * 3
        # Of the four rows, three are the second process's.
        assert [each.asnumpy().tolist() for each in found] == [0.75, [[3.0] * 3] * 2, [1.0] * 2]
