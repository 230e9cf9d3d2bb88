"""The metric Loss: the mean over batches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, train


@given(st.lists(st.floats(-10, 10, width=32), min_size=1))
def test_loss_is_the_mean_of_the_batches(losses: list[float]) -> None:
    metric = train.Loss()
    for i, loss in enumerate(losses):
        metric.update(Tensor(np.float32(loss)) if i % 2 else [loss])
    assert metric.eval() == pytest.approx(np.mean(losses), abs=1e-9)


def test_batch_of_several_losses_counts_once() -> None:
    loss = train.Loss()
    loss.update(np.array([1.0, 2.0]))
    loss.update([3.0])
    loss.update([])
    assert loss.eval() == 2.25
