"""Model: what a callback is told in each hook, what is called, and what is refused."""

from typing import cast

import numpy as np
import pytest

from minispore import Tensor, nn
from minispore.dataset import NumpySlicesDataset
from minispore.train import Callback, LossMonitor, Model, RunContext
from tests.parallel.threads import play

from .looking import Look
from .standins import Batches, ConstantLoss, Rows, X, make

# The names that MindSpore 2.10 gives in each hook, without those of its own machinery.
TRAIN = {
    "mode",
    "cur_step_num",
    "train_network",
    "epoch_num",
    "batch_num",
    "loss_fn",
    "optimizer",
    "parallel_mode",
    "device_number",
    "train_dataset",
    "list_callback",
    "train_dataset_element",
    "metric_names",
    "network",
    "dataset_sink_mode",
    "initial_epoch",
}
EVAL = {
    "mode",
    "network",
    "eval_network",
    "valid_dataset",
    "batch_num",
    "cur_step_num",
    "list_callback",
    "dataset_sink_mode",
}
IN_EPOCH = TRAIN | {"cur_epoch_num"}
IN_FIT = IN_EPOCH | EVAL | {"net_outputs"}
RESULTS = {"metrics", "eval_results"}


def test_the_names_a_callback_finds_in_train() -> None:
    look = Look()
    make().train(1, Rows(4), look)
    assert {name: set(params) for name, params in look.seen} == {
        "on_train_begin": TRAIN,
        "on_train_epoch_begin": IN_EPOCH,
        "on_train_step_begin": IN_EPOCH,
        "on_train_step_end": IN_EPOCH | {"net_outputs"},
        "on_train_epoch_end": IN_EPOCH | {"net_outputs"},
        "on_train_end": IN_EPOCH | {"net_outputs"},
    }


def test_the_names_a_callback_finds_in_eval() -> None:
    look = Look()
    make({"accuracy"}).eval(Rows(4), look)
    in_step = EVAL | {"eval_dataset_element"}
    assert {name: set(params) for name, params in look.seen} == {
        "on_eval_begin": EVAL,
        "on_eval_epoch_begin": EVAL,
        "on_eval_step_begin": in_step,
        "on_eval_step_end": in_step | {"net_outputs"},
        "on_eval_epoch_end": in_step | {"net_outputs"},
        "on_eval_end": in_step | {"net_outputs"} | RESULTS,
    }


def test_the_names_a_callback_finds_in_fit() -> None:
    look = Look()
    make({"accuracy"}).fit(1, Rows(4), Rows(4), callbacks=look)
    in_step = IN_FIT | {"eval_dataset_element"}
    found = {name: set(params) for name, params in look.seen}
    assert found["on_eval_begin"] == IN_FIT
    assert found["on_eval_step_begin"] == in_step
    assert found["on_eval_end"] == in_step | RESULTS
    assert found["on_train_epoch_end"] == in_step | RESULTS
    assert found["on_train_end"] == in_step


def test_what_a_callback_is_told_in_training() -> None:
    look = Look()
    data, model = Rows(10), make()
    callbacks = [look, LossMonitor(0)]
    model.train(2, data, callbacks)
    begin = look.at("on_train_begin")[0]
    expected = {
        "mode": "train",
        "epoch_num": 2,
        "batch_num": 3,
        "cur_step_num": 0,
        "initial_epoch": 0,
        "train_network": model.train_network,
        "train_dataset": data,
        "list_callback": callbacks,
        "parallel_mode": "stand_alone",
        "device_number": 1,
        "train_dataset_element": None,
        "dataset_sink_mode": False,
    }
    assert {key: begin[key] for key in expected} == expected
    steps = look.at("on_train_step_end")
    counted = [(step["cur_epoch_num"], step["cur_step_num"]) for step in steps]
    assert counted == [(1, 1), (1, 2), (1, 3), (2, 4), (2, 5), (2, 6)]
    for step in steps:
        loss, batch = step["net_outputs"], step["train_dataset_element"]
        assert isinstance(loss, Tensor)
        assert loss.shape == ()
        assert [type(item) for item in cast("list[object]", batch)] == [Tensor, Tensor]


def test_tensors_are_given_to_the_network_as_they_are() -> None:
    data, look = Rows(4), Look()
    given = data.create_tuple_iterator(num_epochs=1)
    data.create_tuple_iterator = lambda *, num_epochs: given  # type: ignore[method-assign]
    make().train(1, data, look)
    (step,) = look.at("on_train_step_end")
    for mine, theirs in zip(
        given[0], cast("list[Tensor]", step["train_dataset_element"]), strict=True
    ):
        assert mine is theirs


def test_an_evaluation_inside_fit_leaves_the_training_as_it_was() -> None:
    look = Look()
    make({"loss", "acc"}).fit(2, Rows(10), Rows(5), callbacks=look)
    for begin, end in zip(look.at("on_eval_begin"), look.at("on_eval_end"), strict=True):
        assert (begin["mode"], begin["batch_num"], begin["cur_step_num"]) == ("eval", 2, 0)
        assert end["cur_step_num"] == 2
        assert end["eval_results"] == end["metrics"] | {"eval_loss": end["metrics"]["loss"]}  # type: ignore[operator, index]
    last = look.at("on_train_step_end")[2::3]
    for step, end in zip(last, look.at("on_train_epoch_end"), strict=True):
        for key in ("mode", "batch_num", "cur_step_num", "net_outputs", "cur_epoch_num"):
            assert end[key] is step[key] or end[key] == step[key]


def test_training_goes_on_after_the_initial_epoch() -> None:
    look = Look()
    make().train(4, Rows(4), look, initial_epoch=2)
    assert [params["cur_epoch_num"] for params in look.at("on_train_epoch_begin")] == [3, 4]
    assert [params["cur_step_num"] for params in look.at("on_train_step_end")] == [1, 2]
    assert {params["epoch_num"] for _, params in look.seen} == {2}
    assert {params["initial_epoch"] for _, params in look.seen} == {2}


@pytest.mark.parametrize(
    ("frequency", "evaluated"),
    [(1, [1, 2, 3, 4]), (2, [2, 4]), (3, [3]), (5, []), ([1, 4], [1, 4]), ([], []), ([0, 9], [])],
)
def test_valid_frequency(frequency: int | list[int], evaluated: list[int]) -> None:
    look = Look()
    make({"acc"}).fit(4, Rows(4), Rows(4), frequency, look)
    assert [params["cur_epoch_num"] for params in look.at("on_eval_begin")] == evaluated


def test_the_networks_know_whether_they_train() -> None:
    class Modes(Callback):
        def __init__(self) -> None:
            self.seen = ""

        def on_train_step_end(self, run_context: RunContext) -> None:
            self.seen += "t" if run_context.original_args().network.training else "?"

        def on_eval_step_end(self, run_context: RunContext) -> None:
            self.seen += "?" if run_context.original_args().network.training else "e"

    modes = Modes()
    model = make({"acc"})
    model.fit(2, Rows(4), Rows(4), callbacks=modes)
    model.eval(Rows(4), modes)
    model.train(1, Rows(4), modes)
    model.predict(Tensor(X))
    assert modes.seen == "tete" + "e" + "t"
    assert not model.predict_network.training


def test_an_evaluation_by_a_callback_leaves_the_training_in_its_mode() -> None:
    class Evaluates(Callback):
        def __init__(self, model: Model) -> None:
            self.model = model
            self.modes: list[bool] = []

        def on_train_step_begin(self, run_context: RunContext) -> None:
            self.model.eval(Rows(4))

        def on_train_step_end(self, run_context: RunContext) -> None:
            self.modes.append(run_context.original_args().network.training)
            self.model.eval(Rows(4))

    model = make({"acc"})
    evaluates = Evaluates(model)
    model.train(2, Rows(8), evaluates)
    assert evaluates.modes == [True] * 4


def test_a_part_that_a_callback_freezes_stays_frozen() -> None:
    class Two(ConstantLoss):
        def __init__(self) -> None:
            super().__init__()
            self.frozen = nn.Dense(4, 3)

    network = Two()

    class Freezes(Callback):
        def __init__(self) -> None:
            self.modes: list[tuple[bool, bool]] = []

        def on_train_epoch_begin(self, run_context: RunContext) -> None:
            network.frozen.set_train(mode=False)

        def on_train_step_end(self, run_context: RunContext) -> None:
            self.modes.append((network.training, network.frozen.training))

    freezes = Freezes()
    Model(network).train(2, Batches(2), freezes)
    assert freezes.modes == [(True, False)] * 4


def test_training_learns_what_a_hand_written_loop_learns() -> None:
    model = make()
    net = model.predict_network
    weight, bias = (np.array(p.asnumpy(), np.float32) for p in net.trainable_params())
    for x, y in Rows(10).create_tuple_iterator(num_epochs=1) * 3:
        inputs, labels = np.asarray(x.asnumpy(), np.float32), y.asnumpy().astype(int)
        scores = inputs @ weight.T + bias
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        gradient = (scores / scores.sum(axis=1, keepdims=True) - np.eye(3)[labels]) / len(labels)
        weight = weight - 0.1 * gradient.T @ inputs
        bias = bias - 0.1 * gradient.sum(axis=0)
    model.train(3, Rows(10))
    trained = [np.asarray(p.asnumpy(), np.float32) for p in net.trainable_params()]
    np.testing.assert_allclose(trained[0], weight, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(trained[1], bias, rtol=1e-5, atol=1e-6)


def test_the_networks_that_are_built() -> None:
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


def test_a_step_of_its_own_is_given_a_process_s_data_as_they_are() -> None:
    """It would not know what to do with a batch without rows; the package's own step does."""

    class Own(ConstantLoss):
        def __init__(self) -> None:
            super().__init__()
            self.rows: list[int] = []

        def construct(self, *inputs: Tensor) -> Tensor:
            self.rows.append(len(inputs[0]))
            return super().construct(*inputs)

    def program(rank: int) -> list[int]:
        shard = NumpySlicesDataset({"x": X[:5]}, shuffle=False, num_shards=2, shard_id=rank)
        network = Own()
        Model(network).train(1, shard.batch(1))
        return network.rows

    assert play(2, program) == [[1, 1, 1]] * 2
