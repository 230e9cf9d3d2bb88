"""`clip_by_global_norm` matches PyTorch's `clip_grad_norm_`."""

import numpy as np

from minispore import Tensor, ops
from tests.oracles.torch_ops import torch


def test_clipped_gradients_match_pytorch() -> None:
    values = [np.array([3.0, -4.0], np.float32), np.array([[12.0]], np.float32)]
    theirs = [torch.nn.Parameter(torch.zeros(v.shape)) for v in values]
    for parameter, value in zip(theirs, values, strict=True):
        parameter.grad = torch.tensor(value)
    torch.nn.utils.clip_grad_norm_(theirs, 6.5)
    ours = ops.clip_by_global_norm([Tensor(v) for v in values], 6.5)
    for parameter, one in zip(theirs, ours, strict=True):
        assert parameter.grad is not None
        np.testing.assert_allclose(
            one.asnumpy().astype(np.float64), parameter.grad.numpy(), rtol=1e-5
        )
