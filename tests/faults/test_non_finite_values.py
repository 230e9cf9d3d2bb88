"""NaN and infinity in data: detected at their step."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import nn
from minispore.dataset import NumpySlicesDataset
from minispore.tensorpack import CheckNumerics
from minispore.train import Callback, LossMonitor, Model


@given(st.sampled_from([math.nan, math.inf, -math.inf]), st.integers(1, 3))
def test_non_finite_data_is_detected_at_its_step(bad: float, step: int) -> None:
    x = np.ones((6, 2), np.float32)
    x[2 * step - 1, 1] = bad

    def train(callback: Callback) -> None:
        data = NumpySlicesDataset({"x": x, "y": np.ones((6, 1), np.float32)}, shuffle=False)
        net = nn.Dense(2, 1)
        model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.01))
        with np.errstate(all="ignore"):
            model.train(1, data.batch(2), callbacks=[callback])

    with pytest.raises(ValueError, match=f"In epoch: 1 step: {step}, loss is NAN or INF"):
        train(LossMonitor(0))
    with pytest.raises(FloatingPointError, match=f"After {step} steps?, the parameter 'weight'"):
        train(CheckNumerics(run_step=True))
