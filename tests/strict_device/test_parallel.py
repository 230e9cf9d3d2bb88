"""Gradients on a device that MPI cannot access are reduced in host memory."""

import numpy as np

from minispore import Tensor, nn
from tests.distributed.threaded_communicator import run_in_threads
from tests.strict_device.strict_backend import TransferCounter


def test_reduced_gradients_stay_on_their_device(gpu: TransferCounter) -> None:
    net = nn.Dense(3, 2)
    reducer = nn.DistributedGradReducer(net.trainable_params(), mean=True, degree=2)

    def step(rank: int) -> tuple[Tensor, ...]:
        given = (Tensor(np.full((2, 3), 4.0 * rank, np.float32)), Tensor(np.ones(2, np.float32)))
        loss, gradients = reducer.reduce_step(Tensor(np.float32(rank)), given, rows=1 + 2 * rank)
        return loss, *gradients

    for found in run_in_threads(2, step):
        assert [x.device for x in found] == ["GPU:0"] * 3
        # Of the four rows, three are the second process's.
        assert [x.asnumpy().tolist() for x in found] == [0.75, [[3.0] * 3] * 2, [1.0] * 2]
