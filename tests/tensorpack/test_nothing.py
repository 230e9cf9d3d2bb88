"""Where there is nothing to put in, nothing is: no loss, no graph."""

from pathlib import Path

import numpy as np
import pytest

from minispore import Tensor, nn
from minispore.tensorpack import ScalarHistory, TFEventWriter
from minispore.train import Callback, Model, RunContext

from ..train.standins import Batches, Rows, make


@pytest.mark.parametrize("output", [None, Tensor(np.zeros(0))])
def test_a_network_may_return_no_loss(output: Tensor | None) -> None:
    class Silent(nn.Cell):
        def construct(self, *inputs: Tensor) -> Tensor | None:
            return output

    history = ScalarHistory()
    Model(Silent()).train(1, Batches(3), [history])
    assert history.names() == []


def test_without_a_step_there_is_no_graph(tmp_path: Path) -> None:
    class Ends(Callback):
        def on_train_epoch_begin(self, run_context: RunContext) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make().train(1, Rows(), [TFEventWriter(tmp_path), Ends()])
    assert not list(tmp_path.iterdir())
