"""EarlyStopping in trainings: what it mends of MindSpore's, what it prints, what it restores."""

import numpy as np
import numpy.typing as npt
import pytest

from minispore import Parameter, Tensor, nn
from minispore.train import EarlyStopping, Model, RunContext
from minispore.train.callback import Callback

from .deciding import epoch, run_context, weight, weight_of
from .standins import Rows, make


def stopped_at(stopping: EarlyStopping, values: list[float]) -> int | None:
    context = run_context()
    stopping.on_train_begin(context)
    for number, value in enumerate(values, start=1):
        epoch(stopping, context, number, value)
        if context.get_stop_requested():
            return number
    return None


def test_zero_is_a_value() -> None:
    assert stopped_at(EarlyStopping("value", mode="min", patience=2), [1.0, 0.0, 0.5, 0.5]) == 4


def test_the_baseline_is_the_baseline() -> None:
    stopping = EarlyStopping("value", mode="max", patience=2, baseline=0.9, min_delta=0.25)
    assert stopping.baseline == 0.9
    assert stopped_at(stopping, [0.1, 0.5, 0.9]) == 2
    assert stopped_at(stopping, [0.1, 1.25, 1.0, 1.0]) == 4


def test_without_patience_an_improvement_is_waited_for_once() -> None:
    assert stopped_at(EarlyStopping("value", mode="min"), [3.0, 2.0, 1.0, 1.0]) == 4


def test_a_run_begins_anew() -> None:
    stopping = EarlyStopping("value", mode="min", patience=1)
    for _ in range(2):
        assert stopped_at(stopping, [1.0, 0.5, 0.5]) == 3
        assert stopping.best == 0.5


class Weights(Callback):
    """Note the network's weight at the end of each epoch, and worsen the loss after the second."""

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
def test_the_best_weights_come_back_whatever_ended_the_training(
    epochs: int, stops: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    model, weights = make({"accuracy"}), Weights()
    stopping = EarlyStopping(patience=2, verbose=True, restore_best_weights=True)
    model.fit(epochs, Rows(8), Rows(8), callbacks=[weights, stopping])
    assert len(weights.seen) == (4 if stops else 3)
    kept = model.predict_network.parameters_dict()["weight"].asnumpy()
    np.testing.assert_array_equal(kept, weights.seen[1])
    lines = ["Restoring model weights from the end of the best epoch."]
    lines += ["Epoch 00004: early stopping"] if stops else []
    assert capsys.readouterr().out.splitlines() == lines


def test_restored_weights_are_not_the_optimisers() -> None:
    context = run_context()
    stopping = EarlyStopping("value", mode="min", restore_best_weights=True)
    epoch(stopping, context, 1, 1.0)
    optimizer = context.original_args().optimizer
    assert isinstance(optimizer, nn.SGD)
    optimizer.global_step.set_data(Tensor([7]))
    epoch(stopping, context, 2, 2.0)
    assert weight(context) == 1.0
    assert optimizer.global_step.tolist() == [7]


def test_it_stops_a_training(capsys: pytest.CaptureFixture[str]) -> None:
    net = nn.Dense(4, 3)
    model = Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.0))
    stopping = EarlyStopping("loss", patience=3, verbose=True)
    model.train(99, Rows(), stopping)
    assert stopping.stopped_epoch == 4
    assert capsys.readouterr().out == "Epoch 00004: early stopping\n"


@pytest.mark.parametrize("key", ["best", "wait", "stopped_epoch", "best_weights"])
def test_a_state_that_is_none_changes_nothing(key: str) -> None:
    stopping = EarlyStopping("value")
    epoch(stopping, run_context(), 1, 0.5)
    before = stopping.state_dict()
    for bad in ({key: "x"}, {key: True}, {key: {"w": 1}}):
        with pytest.raises(ValueError, match=f"'EarlyStopping.*'{key}'|EarlyStopping.{key}"):
            stopping.load_state_dict({**before, **bad})
    with pytest.raises(ValueError, match=f"'EarlyStopping', the state holds no '{key}'"):
        stopping.load_state_dict({k: v for k, v in before.items() if k != key})
    assert stopping.state_dict() == before


def test_what_has_no_best_weight_stays_as_it_is() -> None:
    stopping, context = EarlyStopping("value", mode="min", restore_best_weights=True), run_context()
    epoch(stopping, context, 1, 1.0)
    state = stopping.state_dict()
    stopping.load_state_dict(state | {"best_weights": {"another": Tensor([7.0])}})
    weight_of(context).set_data(Tensor([9.0]))
    stopping.on_train_end(context)
    assert weight(context) == 9.0
