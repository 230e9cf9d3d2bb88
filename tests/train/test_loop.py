"""The training loop: the parameters at each step, and the modes of the networks."""

from collections.abc import Callable
from typing import cast

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Tensor, nn
from minispore.nn import Cell
from minispore.train import LambdaCallback, LossMonitor, Model, RunContext
from tests.helpers.spy_callback import SpyCallback
from tests.helpers.stub_models import Rows, X, Y, make


@given(rows=st.integers(1, 10), first=st.integers(0, 2), epochs=st.integers(1, 3))
@example(rows=10, first=0, epochs=2)
def test_parameters_follow_training_steps(rows: int, first: int, epochs: int) -> None:
    spy = SpyCallback()
    data, model = Rows(rows), make()
    callbacks = [spy, LossMonitor(0)]
    model.train(first + epochs, data, callbacks, initial_epoch=first)
    begin = spy.at("on_train_begin")[0]
    size = data.get_dataset_size()
    expected = {
        "mode": "train",
        "epoch_num": epochs,
        "batch_num": size,
        "cur_step_num": 0,
        "initial_epoch": first,
        "train_network": model.train_network,
        "train_dataset": data,
        "list_callback": callbacks,
        "parallel_mode": "stand_alone",
        "device_number": 1,
        "train_dataset_element": None,
        "dataset_sink_mode": False,
    }
    assert {key: begin[key] for key in expected} == expected
    numbers = [(first + i // size + 1, i + 1) for i in range(epochs * size)]
    for event in ("on_train_step_begin", "on_train_step_end"):
        steps = spy.at(event)
        assert [(step["cur_epoch_num"], step["cur_step_num"]) for step in steps] == numbers
        for number, step in enumerate(steps):
            x, y = cast("list[Tensor]", step["train_dataset_element"])
            here = slice(4 * (number % size), min(4 * (number % size) + 4, rows))
            np.testing.assert_array_equal(x.asnumpy(), X[here])
            np.testing.assert_array_equal(y.asnumpy(), Y[here])
    for step in spy.at("on_train_step_end"):
        loss = step["net_outputs"]
        assert isinstance(loss, Tensor)
        assert loss.shape == ()


def test_network_receives_dataset_tensors() -> None:
    data, spy = Rows(4), SpyCallback()
    batches = data.create_tuple_iterator(num_epochs=1)
    data.create_tuple_iterator = lambda *, num_epochs: batches  # type: ignore[method-assign]
    make().train(1, data, spy)
    (step,) = spy.at("on_train_step_end")
    for mine, theirs in zip(
        batches[0], cast("list[Tensor]", step["train_dataset_element"]), strict=True
    ):
        assert mine is theirs


def mode_recorder(modes: list[bool]) -> LambdaCallback:
    """Return a callback that notes the mode of the network at the end of each step."""

    def note(run_context: RunContext) -> None:
        modes.append(run_context.original_args().network.training)

    return LambdaCallback(on_train_step_end=note, on_eval_step_end=note)


@given(st.lists(st.sampled_from(["train", "fit", "eval", "predict"]), min_size=1, max_size=4))
@example(["fit", "eval", "train", "predict"])
def test_networks_are_in_training_or_evaluation_mode(calls: list[str]) -> None:
    modes: list[bool] = []
    model, callback = make({"acc"}), mode_recorder(modes)
    expected: list[bool] = []
    for call in calls:
        if call == "train":
            model.train(1, Rows(4), callback)
        elif call == "fit":
            model.fit(2, Rows(4), Rows(4), callbacks=callback)
        elif call == "eval":
            model.eval(Rows(4), callback)
        else:
            model.predict(Tensor(X))
            assert not model.predict_network.training
        expected += {"train": [True], "fit": [True, False] * 2, "eval": [False]}.get(call, [])
    assert modes == expected


def test_callback_evaluation_restores_training_mode() -> None:
    modes: list[bool] = []
    model = make({"acc"})
    evaluates = LambdaCallback(
        on_train_step_begin=lambda _: model.eval(Rows(4)),
        on_train_step_end=lambda _: model.eval(Rows(4)),
    )
    model.train(2, Rows(8), [mode_recorder(modes), evaluates])
    assert modes == [True] * 4


class Layers(nn.Cell):
    """Two cells whose modes are observed."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Dense(4, 4), nn.Dense(4, 3)

    def construct(self, x: Tensor) -> Tensor:
        return self.second(self.first(x))


# Each is called between two steps of a training, and leaves the modes as they were.
EVALUATIONS: dict[str, Callable[[Model, Cell], object]] = {
    "nothing": lambda model, net: None,
    "eval": lambda model, net: model.eval(Rows(4)),
    "predict": lambda model, net: model.predict(Tensor(X)),
    "another Model": lambda model, net: Model(net).predict(Tensor(X)),
    "a part": lambda model, net: Model(next(iter(net.cells()))).predict(Tensor(X)),
}
BEGINS = ["on_train_begin", "on_train_epoch_begin", "on_train_step_begin", "on_train_epoch_end"]


@given(
    st.booleans(),
    st.sampled_from(BEGINS),
    st.sampled_from(["first", "second"]),
    st.sampled_from(["on_train_step_begin", "on_train_step_end", "on_train_epoch_end"]),
    st.sampled_from(list(EVALUATIONS)),
)
@example(False, "on_train_begin", "second", "on_train_step_end", "nothing")
@example(True, "on_train_begin", "second", "on_train_step_end", "eval")
@example(False, "on_train_begin", "second", "on_train_step_end", "another Model")
@example(True, "on_train_epoch_begin", "first", "on_train_epoch_end", "a part")
def test_modes_that_a_callback_sets_stay(
    validates: bool, begin: str, frozen: str, between: str, evaluation: str
) -> None:
    """Also across validations, and evaluations by callbacks."""
    net = Layers()
    loss, optimizer = nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1)
    model = Model(net, loss, optimizer, metrics={"acc"})
    modes: dict[str, list[tuple[bool, bool]]] = {"train": [], "eval": []}
    done: list[int] = []

    def freeze(run_context: RunContext) -> None:
        if not done:
            getattr(net, frozen).set_train(mode=False)
            done.append(len(modes["train"]))

    def note(run_context: RunContext) -> None:
        mode = run_context.original_args().mode
        modes[mode].append((net.first.training, net.second.training))

    def thaw(run_context: RunContext) -> None:
        net.second.set_train()

    callbacks = [
        LambdaCallback(on_train_step_end=note, on_eval_step_end=note),
        LambdaCallback(**{begin: freeze}),
        LambdaCallback(**{between: lambda _: EVALUATIONS[evaluation](model, net)}),
        LambdaCallback(on_eval_begin=thaw),
    ]
    if validates:
        model.fit(2, Rows(8), Rows(8), callbacks=callbacks)
    else:
        model.train(2, Rows(8), callbacks)
    kept = frozen == "second", frozen == "first"
    assert modes["train"] == [(True, True)] * done[0] + [kept] * (4 - done[0])
    assert modes["eval"] == [(False, True)] * 4 * validates  # as its own begin hooks set them


def test_network_that_a_callback_leaves_in_evaluation_mode_is_trained() -> None:
    modes: list[bool] = []
    model = make()
    leaves = LambdaCallback(on_train_step_end=lambda _: model.predict_network.set_train(mode=False))
    model.train(2, Rows(8), [mode_recorder(modes), leaves])
    assert modes == [True] * 4


@given(rows=st.integers(1, 10), epochs=st.integers(1, 3))
@example(rows=10, epochs=3)
def test_train_matches_hand_written_loop(rows: int, epochs: int) -> None:
    model = make()
    net = model.predict_network
    weight, bias = (np.array(p.asnumpy(), np.float32) for p in net.trainable_params())
    for x, y in Rows(rows).create_tuple_iterator(num_epochs=1) * epochs:
        inputs, labels = np.asarray(x.asnumpy(), np.float32), y.asnumpy().astype(int)
        scores = inputs @ weight.T + bias
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        gradient = (scores / scores.sum(axis=1, keepdims=True) - np.eye(3)[labels]) / len(labels)
        weight = weight - 0.1 * gradient.T @ inputs
        bias = bias - 0.1 * gradient.sum(axis=0)
    model.train(epochs, Rows(rows))
    trained = [np.asarray(p.asnumpy(), np.float32) for p in net.trainable_params()]
    np.testing.assert_allclose(trained[0], weight, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(trained[1], bias, rtol=1e-5, atol=1e-6)


@given(rows=st.integers(1, 12), sink_size=st.sampled_from([-1, 1, 2, 5]), sink=st.booleans())
def test_sink_size_is_the_number_of_steps_in_messages(
    rows: int, sink_size: int, sink: bool
) -> None:
    """All batches are used; only the `batch_num` of the run is the given number."""
    spy = SpyCallback()
    data = Rows(rows)
    make().train(1, data, spy, dataset_sink_mode=sink, sink_size=sink_size)
    size = data.get_dataset_size()
    steps = spy.at("on_train_step_end")
    assert [step["cur_step_num"] for step in steps] == list(range(1, size + 1))
    expected = sink_size if sink and sink_size > 0 else size
    assert {step["batch_num"] for step in steps} == {expected}
