"""Evaluations: what callbacks are told in them, and what is measured."""

from typing import cast

import numpy as np
import pytest

from minispore import Tensor, nn
from minispore.train import Accuracy, Loss, Metric, Model, RunContext

from .looking import Look
from .standins import Batches, ConstantLoss, Outputs, Rows, X, Y, make


def test_what_a_callback_is_told_in_an_evaluation() -> None:
    look = Look()
    data, model = Rows(10), make({"accuracy"})
    result = model.eval(data, look)
    begin = look.at("on_eval_begin")[0]
    assert begin == {
        "mode": "eval",
        "network": model.predict_network,
        "eval_network": model.eval_network,
        "valid_dataset": data,
        "batch_num": 3,
        "cur_step_num": 0,
        "list_callback": [look],
        "dataset_sink_mode": False,
    }
    for event in ("on_eval_step_begin", "on_eval_step_end"):
        for number, step in enumerate(look.at(event)):
            assert step["cur_step_num"] == number + 1
            x, y = cast("list[Tensor]", step["eval_dataset_element"])
            np.testing.assert_array_equal(x.asnumpy(), X[4 * number : 4 * number + 4])
            np.testing.assert_array_equal(y.asnumpy(), Y[4 * number : 4 * number + 4])
    end = look.at("on_eval_end")[0]
    assert end["metrics"] == result
    assert end["eval_results"] == result | {"eval_loss": pytest.approx(loss_of(model), rel=1e-5)}


def loss_of(model: Model) -> float:
    """The mean of the batches' losses."""
    losses = [
        nn.CrossEntropyLoss()(model.predict(x), y).item()
        for x, y in Rows(10).create_tuple_iterator(num_epochs=1)
    ]
    return float(np.mean(losses))


@pytest.mark.parametrize("last", [1, 2, 3])
def test_an_evaluation_that_a_stop_has_interrupted_has_no_results(last: int) -> None:
    class Stop(Look):
        def on_eval_step_end(self, run_context: RunContext) -> None:
            if run_context.original_args().cur_step_num == last:
                run_context.request_stop()

    stop, model = Stop(), make({"accuracy"})
    expected = model.eval(Rows(10)) if last == 3 else {}
    assert model.eval(Rows(10), stop) == expected
    assert [event for event, _ in stop.seen][-2:] == ["on_eval_epoch_end", "on_eval_end"]
    params = stop.seen[-1][1]
    assert params["cur_step_num"] == last
    assert params["metrics"] == expected
    assert bool(params["eval_results"]) == (last == 3)


def test_what_is_measured_is_named_before() -> None:
    look = Look()
    make({"loss", "acc"}).fit(1, Rows(4), Rows(4), callbacks=look)
    assert look.at("on_train_begin")[0]["metric_names"] == ["acc", "loss", "eval_loss"]
    look = Look()
    alone = Model(ConstantLoss(), metrics={"acc"}, eval_network=Outputs())
    alone.fit(1, Batches(1), Batches(1), 2, look)
    assert look.at("on_train_begin")[0]["metric_names"] == ["acc"]
    look = Look()
    make({"acc"}).fit(1, Rows(4), callbacks=look)
    assert look.at("on_train_begin")[0]["metric_names"] == []


def test_eval_loss_is_the_mean_over_all_batches() -> None:
    class Growing(Outputs):
        def construct(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            self.loss += 1
            return super().construct(x, y)

    look = Look()
    model = Model(
        ConstantLoss(), metrics={"acc"}, eval_network=Growing(0.0), eval_indexes=[0, 1, 2]
    )
    model.fit(1, Batches(1), Batches(3), callbacks=look)
    results = cast("dict[str, float]", look.at("on_train_epoch_end")[0]["eval_results"])
    assert results["eval_loss"] == 2.0


def test_eval_returns_the_metrics_of_the_predictions() -> None:
    model = make({"accuracy", "loss"})
    predicted = model.predict(Tensor(X)).asnumpy().argmax(axis=1)
    result = model.eval(Rows(10))
    assert list(result) == ["accuracy", "loss"]
    assert result["accuracy"] == np.mean(predicted == Y)
    assert {type(value) for value in result.values()} == {float}


def test_metrics_of_a_network_of_their_own() -> None:
    class TwoOutputs(nn.Cell):
        def construct(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            return x, y

    class Count(Metric):
        def clear(self) -> None:
            self.inputs: list[int] = []

        def update(self, *inputs: object) -> None:
            self.inputs.append(len(inputs))

        def eval(self) -> object:
            return np.float64(sum(self.inputs))

    metrics: dict[str, Metric] = {"acc": Accuracy(), "count": Count()}
    model = Model(ConstantLoss(), metrics=metrics, eval_network=TwoOutputs())
    result = model.eval(Batches(2))
    assert result == {"acc": 0.75, "count": 4.0}
    assert repr(result["count"]) == "4.0"
    look = Look()
    model.fit(1, Batches(1), Batches(1), callbacks=look)
    assert "eval_loss" not in cast("dict[str, float]", look.at("on_eval_end")[0]["eval_results"])


def test_eval_indexes_say_where_the_outputs_are() -> None:
    class Backwards(nn.Cell):
        def construct(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            return y, x, Tensor(np.float32(0.5))

    metrics: dict[str, Metric] = {"loss": Loss(), "acc": Accuracy()}
    model = Model(ConstantLoss(), metrics=metrics, eval_network=Backwards(), eval_indexes=[2, 1, 0])
    assert model.eval(Batches(1)) == {"loss": 0.5, "acc": 0.75}
