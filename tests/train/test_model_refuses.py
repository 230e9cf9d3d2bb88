"""What `Model` refuses: each time with one clear error, and with nothing changed."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from minispore import Tensor, nn
from minispore.train import Callback, Model, RunContext

from .standins import Batches, ConstantLoss, Rows, X, Y, make


class Once:
    """A dataset whose iterator can be gone through only once."""

    def get_dataset_size(self) -> int:
        return 1

    def create_tuple_iterator(self, *, num_epochs: int) -> Iterator[Sequence[object]]:
        return iter([(X, Y)])


def test_an_epoch_without_data_is_an_error() -> None:
    with pytest.raises(ValueError, match="^There is") as raised:
        make().train(2, Once())
    assert str(raised.value) == (
        "There is no data left in the dataset for another epoch: its 'create_tuple_iterator' "
        "must return an iterable that can be gone through 'num_epochs' times."
    )


def test_a_dataset_is_asked_for_all_epochs_at_once() -> None:
    data, valid = Rows(4), Rows(4)
    make({"acc"}).fit(5, data, valid, 2, initial_epoch=1)
    assert data.asked == [4]
    assert valid.asked == [1, 1]


@pytest.mark.parametrize("wrong", [None, [], [(X, Y)], 5, "x", iter([])])
def test_what_is_no_dataset_is_refused(wrong: Batches) -> None:
    model = make({"acc"})
    with pytest.raises(TypeError, match=r"Model.train.*'train_dataset' must be a dataset"):
        model.train(1, wrong)
    with pytest.raises(TypeError, match=r"Model.eval.*'valid_dataset' must be a dataset"):
        model.eval(wrong)
    with pytest.raises(TypeError, match=r"Model.fit.*'train_dataset' must be a dataset"):
        model.fit(1, wrong, Rows())


@pytest.mark.parametrize("columns", [1, 3])
def test_with_a_loss_a_batch_is_input_and_label(columns: int) -> None:
    with pytest.raises(ValueError, match="^When") as raised:
        make().train(1, Batches(1, columns))
    assert str(raised.value) == (
        "When 'loss_fn' is not None, 'train_dataset' should return 2 elements, the input and "
        f"the label, but got {columns}."
    )
    Model(ConstantLoss()).train(1, Batches(1, columns))


def assert_refused(
    error: type[Exception], match: str, values: Iterable[object], call: Callable[[Any], object]
) -> None:
    for value in values:
        with pytest.raises(error, match=match):
            call(value)


def test_epochs_out_of_range() -> None:
    model, data = make(), Rows()
    trained = [p.asnumpy().copy() for p in model.predict_network.trainable_params()]

    def train(epoch: int) -> None:
        model.train(epoch, data)

    def fit_two_from(initial_epoch: int) -> None:
        model.fit(2, data, initial_epoch=initial_epoch)

    assert_refused(ValueError, "'epoch'", (0, -1), train)
    assert_refused(TypeError, "'epoch'", (1.5, True, "a", None), train)
    assert_refused(ValueError, "'initial_epoch'", (-1,), fit_two_from)
    assert_refused(TypeError, "'initial_epoch'", (1.5, None), fit_two_from)
    assert_refused(ValueError, "greater than 'initial_epoch'", (2, 3), fit_two_from)
    for before, now in zip(trained, model.predict_network.trainable_params(), strict=True):
        np.testing.assert_array_equal(before, now.asnumpy())


def test_other_arguments_of_train_fit_and_eval() -> None:
    model, data = make({"acc"}), Rows()
    what = "must be a Callback"
    no_callbacks = (object(), [object()], Callback, "x", [None])
    assert_refused(TypeError, what, no_callbacks, lambda v: model.train(1, data, v))
    assert_refused(TypeError, what, no_callbacks, lambda v: model.fit(1, data, data, 1, v))
    assert_refused(TypeError, what, no_callbacks, lambda v: model.eval(data, v))
    no_frequency = ("a", None, 1.5, True, (1,), {1}, [1.5])
    assert_refused(
        TypeError, "'valid_frequency'", no_frequency, lambda v: model.fit(1, data, data, v)
    )
    assert_refused(ValueError, "'valid_frequency'", (0, -1), lambda v: model.fit(1, data, data, v))
    assert_refused(ValueError, "sink_size", (0, -2), lambda v: model.train(1, data, sink_size=v))
    assert_refused(TypeError, "sink_size", (1.5,), lambda v: model.train(1, data, sink_size=v))
    assert_refused(TypeError, "sink_mode", (1, None), lambda v: model.eval(data, None, v))
    model.train(1, data, [], dataset_sink_mode=True, sink_size=1)


def test_without_data_to_evaluate_no_metrics_are_needed() -> None:
    make().fit(1, Rows())


def test_older_hooks_work_in_train_and_eval_and_are_refused_in_fit() -> None:
    class Old(Callback):
        def __init__(self) -> None:
            self.seen = 0

        def step_end(self, run_context: RunContext) -> None:
            self.seen += 1

    old, model = Old(), make({"acc"})
    model.train(1, Rows(8), old)
    model.eval(Rows(8), old)
    assert old.seen == 4
    with pytest.raises(ValueError, match="Old defines step_end"):
        model.fit(1, Rows(8), Rows(8), callbacks=old)


def test_arguments_of_model() -> None:
    net, loss = nn.Dense(4, 3), nn.CrossEntropyLoss()
    optimizer = nn.SGD(net.trainable_params(), 0.1)

    def options(**kwargs: object) -> Callable[[object], Model]:
        (name,) = kwargs
        return lambda value: Model(net, loss, optimizer, **{name: value})  # type: ignore[arg-type]

    assert_refused(TypeError, "'network'", ("a", len, None), Model)
    assert_refused(ValueError, "not covered", ("O1", "O2", "O3", "auto"), options(amp_level=0))
    assert_refused(ValueError, "not covered", ("O1", "O2"), options(boost_level=0))
    not_three = ([1, 2], (0, 1, 2), "abc", [0.0, 1, 2], {0: 1})
    assert_refused(ValueError, "'eval_indexes'", not_three, options(eval_indexes=0))


def test_a_loss_that_is_no_scalar_changes_nothing() -> None:
    class NoMean(nn.Cell):
        def construct(self, logits: Tensor, label: Tensor) -> Tensor:
            return logits

    net = nn.Dense(4, 3)
    before = net.weight.asnumpy().copy()
    model = Model(net, NoMean(), nn.SGD(net.trainable_params(), 0.1))
    with pytest.raises(ValueError, match="single number"):
        model.train(1, Rows())
    np.testing.assert_array_equal(net.weight.asnumpy(), before)


def test_outputs_that_do_not_fit_the_loss() -> None:
    net = nn.Dense(4, 3)
    model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
    with pytest.raises(ValueError, match="3.*4|4.*3"):
        model.train(1, Rows(4))


def test_predict() -> None:
    net = nn.Dense(4, 3)
    model = Model(net)
    np.testing.assert_array_equal(model.predict(Tensor(X)).asnumpy(), net(Tensor(X)).asnumpy())
    assert_refused(TypeError, "predict_data", (X, object()), model.predict)


def test_build_only_checks() -> None:
    model = make()
    model.build()
    model.build(Rows(), Rows(), epoch=2)
