"""`Model.eval`: the parameters that callbacks see, and the results."""

from collections.abc import Callable
from typing import cast

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Tensor, nn
from minispore.train import Accuracy, Loss, Metric, Model, RunContext
from tests.helpers.callback_driver import stopping_at
from tests.helpers.spy_callback import SpyCallback
from tests.helpers.stub_models import Batches, ConstantLoss, Outputs, Rows, X, Y, make


@given(st.integers(1, 10))
@example(10)
def test_parameters_follow_evaluation_steps(rows: int) -> None:
    spy = SpyCallback()
    data, model = Rows(rows), make({"accuracy"})
    result = model.eval(data, spy)
    begin = spy.at("on_eval_begin")[0]
    assert begin == {
        "mode": "eval",
        "network": model.predict_network,
        "eval_network": model.eval_network,
        "valid_dataset": data,
        "batch_num": -(-rows // 4),
        "cur_step_num": 0,
        "list_callback": [spy],
        "dataset_sink_mode": False,
    }
    for event in ("on_eval_step_begin", "on_eval_step_end"):
        for number, step in enumerate(spy.at(event)):
            assert step["cur_step_num"] == number + 1
            x, y = cast("list[Tensor]", step["eval_dataset_element"])
            here = slice(4 * number, min(4 * number + 4, rows))
            np.testing.assert_array_equal(x.asnumpy(), X[here])
            np.testing.assert_array_equal(y.asnumpy(), Y[here])
    end = spy.at("on_eval_end")[0]
    assert end["metrics"] == result
    loss = nn.CrossEntropyLoss()(model.predict(Tensor(X[:rows])), Tensor(Y[:rows])).item()
    assert end["eval_results"] == result | {"eval_loss": pytest.approx(loss, rel=1e-5)}


@given(rows=st.integers(1, 10), size=st.integers(1, 10), each_row=st.booleans())
@example(rows=10, size=9, each_row=False)
def test_eval_loss_is_the_mean_over_rows(rows: int, size: int, each_row: bool) -> None:
    """As every other metric, while the metric `Loss` is MindSpore's: the mean over batches."""
    net, spy = nn.Dense(4, 1, "ones"), SpyCallback()
    loss = nn.MSELoss("none" if each_row else "mean")
    model = Model(net, loss, metrics={"loss", "mse"})
    x, y = X[:rows], 10.0 ** np.arange(rows, dtype=np.float32)[:, None]
    batches = [(x[i : i + size], y[i : i + size]) for i in range(0, rows, size)]
    if each_row:
        model = Model(net, lambda *pair: loss(*pair)[:, 0], metrics={"loss", "mse"})
    result = model.eval(batches, spy)
    assert spy.at("on_eval_end")[0]["eval_results"] == result | {
        "eval_loss": pytest.approx(result["mse"], rel=1e-5)
    }
    means = [((net(Tensor(a)).asnumpy() - b) ** 2).mean() for a, b in batches]
    assert result["loss"] == pytest.approx(np.mean(means), rel=1e-5)


def loss_of(model: Model, rows: int) -> float:
    """Return the mean of the batches' losses."""
    losses = [
        nn.CrossEntropyLoss()(model.predict(x), y).item()
        for x, y in Rows(rows).create_tuple_iterator(num_epochs=1)
    ]
    return float(np.mean(losses))


class Frame:
    """An object of another library that converts itself to an array."""

    def __init__(self, values: object) -> None:
        self._values = values

    def __array__(self, dtype: object = None, copy: bool | None = None) -> object:
        return self._values


@pytest.mark.parametrize("convert", [Tensor, np.asarray, np.asfortranarray, Frame])
def test_predict_takes_what_eval_takes(convert: Callable[[object], object]) -> None:
    model, x = make({"accuracy"}), X[:4]
    assert model.eval([(convert(x), Y[:4])]) == model.eval([(x, Y[:4])])
    assert model.predict(convert(x)).tolist() == model.predict_network(Tensor(x)).tolist()


@given(rows=st.integers(1, 10), last=st.integers(1, 3))
@example(rows=10, last=3)
@example(rows=10, last=2)
def test_interrupted_evaluation_has_no_results(rows: int, last: int) -> None:
    """A stop after the last batch does not interrupt it."""

    class Stop(SpyCallback):
        def on_eval_step_end(self, run_context: RunContext) -> None:
            if run_context.original_args().cur_step_num == last:
                run_context.request_stop()

    stop, model = Stop(), make({"accuracy"})
    size = -(-rows // 4)
    expected = model.eval(Rows(rows)) if last >= size else {}
    assert model.eval(Rows(rows), stop) == expected
    assert [event for event, _ in stop.events][-2:] == ["on_eval_epoch_end", "on_eval_end"]
    params = stop.events[-1][1]
    assert params["cur_step_num"] == min(last, size)
    assert params["metrics"] == expected
    assert bool(params["eval_results"]) == (last >= size)


@given(st.sets(st.sampled_from(["loss", "acc", "accuracy"]), min_size=1), st.booleans())
def test_metric_names_are_set_before_training(metrics: set[str], evaluated: bool) -> None:
    """With the mean loss, if the network of the evaluation returns a loss."""
    for model, more in (
        (make(metrics), ["eval_loss"]),
        (Model(ConstantLoss(), metrics=metrics, eval_network=Outputs()), []),
    ):
        spy = SpyCallback()
        model.fit(2, Rows(4), Rows(4) if evaluated else None, 2, [spy, stopping_at(1)])
        names = spy.at("on_train_begin")[0]["metric_names"]
        assert names == ([*sorted(metrics), *more] if evaluated else [])


@given(st.integers(1, 10))
def test_eval_returns_the_metrics_of_the_predictions(rows: int) -> None:
    model = make({"accuracy", "loss"})
    predicted = model.predict(Tensor(X[:rows])).asnumpy().argmax(axis=1)
    result = model.eval(Rows(rows))
    assert list(result) == ["accuracy", "loss"]
    assert result["accuracy"] == np.mean(predicted == Y[:rows])
    assert result["loss"] == pytest.approx(loss_of(model, rows), rel=1e-5)
    assert {type(value) for value in result.values()} == {float}


def test_eval_network_outputs_reach_metrics() -> None:
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
    spy = SpyCallback()
    model.fit(1, Batches(1), Batches(1), callbacks=spy)
    assert "eval_loss" not in cast("dict[str, float]", spy.at("on_eval_end")[0]["eval_results"])


def test_eval_indexes_select_outputs() -> None:
    class Backwards(nn.Cell):
        def construct(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            return y, x, Tensor(np.float32(0.5))

    metrics: dict[str, Metric] = {"loss": Loss(), "acc": Accuracy()}
    model = Model(ConstantLoss(), metrics=metrics, eval_network=Backwards(), eval_indexes=[2, 1, 0])
    assert model.eval(Batches(1)) == {"loss": 0.5, "acc": 0.75}
