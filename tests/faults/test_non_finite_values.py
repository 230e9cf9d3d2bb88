"""NaN and infinity in data: detected at their step."""

import math
import warnings
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, nn
from minispore.dataset import NumpySlicesDataset
from minispore.tensorpack import CheckNumerics
from minispore.testing import record_events
from minispore.train import Callback, History, LossMonitor, Model, TerminateOnNaN


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
    with pytest.warns(UserWarning, match=f"The loss of epoch 1, step {step} is not fin") as warned:
        train(History())
    (warning,) = warned
    assert warning.filename == __file__
    with record_events() as trace, redirect_stdout(StringIO()) as printed:
        train(TerminateOnNaN())  # `Model` does not warn
    assert f"epoch: 1 step: {step}, loss is " in printed.getvalue()
    assert [event.step for event in trace.of("TerminateOnNaN") if event.stop] == [step]
    assert trace.of("")[-2].step == step
    with pytest.raises(FloatingPointError, match=f"After {step} steps?, the parameter 'weight'"):
        train(CheckNumerics(run_step=True))


@pytest.mark.parametrize(
    "loss", [1.0, Tensor([1, 2]), [Tensor(2.0), math.nan], "text", np.float32(3.0), {"a": math.nan}]
)
def test_other_losses_are_no_warning(loss: object) -> None:
    with warnings.catch_warnings(action="error"):
        Model(Outputs(loss)).train(1, [[1.0]] * 2)


class Outputs(nn.Cell):
    """A network whose output is given."""

    def __init__(self, outputs: object) -> None:
        super().__init__()
        self.outputs = outputs

    def construct(self, x: Tensor) -> Any:  # noqa: ANN401
        return self.outputs
