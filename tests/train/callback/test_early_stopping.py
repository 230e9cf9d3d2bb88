"""EarlyStopping: differences from MindSpore, printed lines and restored weights."""

from contextlib import redirect_stdout
from io import StringIO

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Parameter, Tensor, nn
from minispore.train import EarlyStopping, Model, RunContext
from minispore.train.callback import Callback
from tests.helpers.callback_driver import epoch, run_context, weight, weight_of
from tests.helpers.stub_models import Batches, ConstantLoss, Rows, make


class Weights(Callback):
    """Record the weight at the end of each epoch, and increase the loss after the second."""

    def __init__(self) -> None:
        self.seen: list[npt.NDArray[np.generic]] = []

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        self.seen.append(weight_of(run_context).asnumpy().copy())
        if params.cur_epoch_num == 2:
            assert params.optimizer is not None
            assert isinstance(params.optimizer.learning_rate, Parameter)
            params.optimizer.learning_rate.set_data(50.0)


@pytest.mark.parametrize(("epochs", "stops"), [(9, True), (3, False)])
def test_best_weights_are_restored_after_any_end(
    epochs: int, stops: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    model, weights = make({"accuracy"}), Weights()
    stopping = EarlyStopping(patience=2, verbose=True, restore_best_weights=True)
    model.fit(epochs, Rows(8), Rows(8), callbacks=[weights, stopping])
    assert len(weights.seen) == (4 if stops else 3)
    restored = model.predict_network.parameters_dict()["weight"].asnumpy()
    np.testing.assert_array_equal(restored, weights.seen[1])
    lines = ["Restoring model weights from the end of the best epoch."]
    lines += ["Epoch 00004: early stopping"] if stops else []
    assert capsys.readouterr().out.splitlines() == lines


def test_optimizer_state_is_not_restored() -> None:
    context = run_context()
    stopping = EarlyStopping("value", mode="min", restore_best_weights=True)
    epoch(stopping, context, 1, 1.0)
    optimizer = context.original_args().optimizer
    assert isinstance(optimizer, nn.SGD)
    optimizer.global_step.set_data(Tensor([7]))
    epoch(stopping, context, 2, 2.0)
    assert weight(context) == 1.0
    assert optimizer.global_step.tolist() == [7]


@given(st.integers(0, 5))
def test_stops_after_so_many_epochs_without_improvement(patience: int) -> None:
    net = nn.Dense(4, 3)
    model = Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.0))
    stopping = EarlyStopping("loss", patience=patience, verbose=True)
    with redirect_stdout(StringIO()) as screen:
        model.train(99, Rows(), stopping)
    assert stopping.stopped_epoch == 1 + max(patience, 1)
    assert screen.getvalue() == f"Epoch {stopping.stopped_epoch:05}: early stopping\n"


@given(st.integers(1, 4), st.sampled_from([0.0, 1.0, -2.0]))
@example(2, 0.0)
def test_constant_loss_stops(patience: int, loss: float) -> None:
    stopping = EarlyStopping("loss", patience=patience)
    Model(ConstantLoss(loss)).train(9, Batches(1), stopping)
    assert stopping.stopped_epoch == 1 + patience


def test_parameters_without_best_weight_are_unchanged() -> None:
    stopping, context = EarlyStopping("value", mode="min", restore_best_weights=True), run_context()
    epoch(stopping, context, 1, 1.0)
    state = stopping.state_dict()
    stopping.load_state_dict(state | {"best_weights": {"another": Tensor([7.0])}})
    weight_of(context).set_data(Tensor([9.0]))
    stopping.on_train_end(context)
    assert weight(context) == 9.0
