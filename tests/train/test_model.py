"""`Model`: the parameters that callbacks see in each hook, and the networks that are called."""

from functools import partial
from typing import cast

from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Tensor, nn, set_seed
from minispore.train import MAE, Model
from tests.helpers.spy_callback import SpyCallback
from tests.helpers.stub_models import Rows, X, make

# The names that MindSpore 2.10 gives in each hook, without those of its own machinery.
TRAIN = {
    "mode", "cur_step_num", "train_network", "epoch_num", "batch_num", "loss_fn", "optimizer",
    "parallel_mode", "device_number", "train_dataset", "list_callback", "train_dataset_element",
    "metric_names", "network", "dataset_sink_mode", "initial_epoch", "initial_step",
    "last_save_ckpt_step", "latest_ckpt_file", "loss_scale_mananger",
}  # fmt: skip
EVAL = {
    "mode", "network", "eval_network", "valid_dataset", "batch_num", "cur_step_num",
    "list_callback", "dataset_sink_mode",
}  # fmt: skip
IN_EPOCH = TRAIN | {"cur_epoch_num"}
IN_FIT = IN_EPOCH | EVAL | {"net_outputs"}
RESULTS = {"metrics", "eval_results"}


def test_train_sets_documented_parameters() -> None:
    spy = SpyCallback()
    make().train(1, Rows(4), spy)
    assert {name: set(params) for name, params in spy.events} == {
        "on_train_begin": TRAIN,
        "on_train_epoch_begin": IN_EPOCH,
        "on_train_step_begin": IN_EPOCH,
        "on_train_step_end": IN_EPOCH | {"net_outputs"},
        "on_train_epoch_end": IN_EPOCH | {"net_outputs"},
        "on_train_end": IN_EPOCH | {"net_outputs"},
    }


def test_eval_sets_documented_parameters() -> None:
    spy = SpyCallback()
    make({"accuracy"}).eval(Rows(4), spy)
    in_step = EVAL | {"eval_dataset_element"}
    assert {name: set(params) for name, params in spy.events} == {
        "on_eval_begin": EVAL,
        "on_eval_epoch_begin": EVAL,
        "on_eval_step_begin": in_step,
        "on_eval_step_end": in_step | {"net_outputs"},
        "on_eval_epoch_end": in_step | {"net_outputs"},
        "on_eval_end": in_step | {"net_outputs"} | RESULTS,
    }


def test_fit_sets_documented_parameters() -> None:
    spy = SpyCallback()
    make({"accuracy"}).fit(1, Rows(4), Rows(4), callbacks=spy)
    in_step = IN_FIT | {"eval_dataset_element"}
    result = {name: set(params) for name, params in spy.events}
    assert result["on_eval_begin"] == IN_FIT
    assert result["on_eval_step_begin"] == in_step
    assert result["on_eval_end"] == in_step | RESULTS
    assert result["on_train_epoch_end"] == in_step | RESULTS
    assert result["on_train_end"] == in_step


@given(rows=st.integers(1, 10), valid=st.integers(1, 10))
@example(rows=10, valid=5)
def test_fit_evaluation_restores_training_parameters(rows: int, valid: int) -> None:
    spy = SpyCallback()
    make({"loss", "acc"}).fit(2, Rows(rows), Rows(valid), callbacks=spy)
    size = -(-valid // 4)
    for begin, end in zip(spy.at("on_eval_begin"), spy.at("on_eval_end"), strict=True):
        assert (begin["mode"], begin["batch_num"], begin["cur_step_num"]) == ("eval", size, 0)
        assert end["cur_step_num"] == size
        metrics = cast("dict[str, float]", end["metrics"])
        results = cast("dict[str, float]", end["eval_results"])
        assert results == metrics | {"eval_loss": results["eval_loss"]}
    last = spy.at("on_train_step_end")[-(-rows // 4) - 1 :: -(-rows // 4)]
    for step, end in zip(last, spy.at("on_train_epoch_end"), strict=True):
        for key in ("mode", "batch_num", "cur_step_num", "net_outputs", "cur_epoch_num"):
            assert end[key] is step[key] or end[key] == step[key]


@given(st.integers(1, 5) | st.lists(st.integers(0, 6), max_size=4), st.integers(0, 2))
@example([], 0)
@example([0, 9], 0)
@example(1, 2)
@example(3, 1)
def test_fit_evaluates_at_valid_frequency(frequency: int | list[int], first: int) -> None:
    spy = SpyCallback()
    make({"acc"}).fit(4, Rows(4), Rows(4), frequency, spy, initial_epoch=first)
    epochs = range(first + 1, 5)
    if isinstance(frequency, int):
        expected = [epoch for epoch in epochs if epoch % frequency == 0]
    else:
        expected = [epoch for epoch in epochs if epoch in frequency]
    assert [params["cur_epoch_num"] for params in spy.at("on_eval_begin")] == expected


def test_model_builds_train_and_eval_networks() -> None:
    net, loss = nn.Dense(4, 3), nn.CrossEntropyLoss()
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    both = Model(net, loss, optimizer, metrics={"loss"})
    assert type(both.train_network) is nn.TrainOneStepCell
    assert type(both.eval_network) is nn.WithEvalCell
    assert both.predict_network is net
    assert type(Model(nn.WithLossCell(net, loss), None, optimizer).train_network) is (
        nn.TrainOneStepCell
    )
    assert Model(net).train_network is net
    assert Model(net, loss, optimizer).eval_network is None


def test_function_as_loss_trains_as_the_cell_does() -> None:
    def squares(output: Tensor, label: Tensor) -> Tensor:
        return ((output - label) ** 2).mean()

    results: list[object] = []
    for loss in (nn.MSELoss(), squares, partial(squares)):
        set_seed(1)
        net = nn.Dense(4, 4)
        optimizer = nn.SGD(net.trainable_params(), 0.1)
        model = Model(net, loss, optimizer, metrics={"error": "mse", "mae": MAE()})
        data = [(X[:4], X[4:8])] * 2
        model.train(2, data)
        results.append(model.eval(data))
    assert results[0] == results[1] == results[2]
