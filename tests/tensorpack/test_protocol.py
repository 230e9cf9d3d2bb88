"""The trainer: its named arrays, its metrics, its monitors, and the check of metric names."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Tensor, nn, ops
from minispore import tensorpack as tp
from minispore.ops.summary import summary_subscribers
from minispore.tensorpack.protocol import Array
from minispore.testing.strategies import shapes
from minispore.train import Callback as TrainCallback
from minispore.train import Model, RunContext
from tests.helpers.stub_models import Batches, ConstantLoss, Rows, make
from tests.tensorpack.small_trainings import Logs, train_constant, train_counting


def test_mindspore_callbacks_can_log_to_the_monitors() -> None:
    class Own(TrainCallback):
        def on_train_begin(self, run_context: RunContext) -> None:
            run_context.original_args().trainer.monitors.put_scalar("own", 1)

    history = tp.ScalarHistory()
    train_constant(Own(), history)
    assert history.get_history("own") == [(0, 1.0)]


Convert = Callable[[float], Any]
SCALARS: list[Convert] = [
    np.float32,
    Tensor,
    lambda x: Tensor([x]),
    lambda x: np.full((1, 1), x, np.float32),
]


NUMBERS: list[Convert] = [float, bool, round]


@given(value=st.floats(-9, 9, width=32), convert=st.sampled_from([*NUMBERS, *SCALARS]))
def test_put_scalar_keeps_the_digits_of_the_dtype(value: float, convert: Convert) -> None:
    history, scalar = tp.ScalarHistory(), convert(value)
    put = tp.CallbackFactory(trigger=lambda cb: cb.trainer.monitors.put_scalar("x", scalar))
    train_constant(put, history, epochs=1)
    expected = str(np.float32(value)) if convert in SCALARS else scalar
    assert history.get_latest("x") == float(expected)


@pytest.mark.parametrize("value", ["1", None, [1.0], np.ones(2), 1j, Tensor([1.0, 2.0])])
def test_put_scalar_rejects_other_values(value: object) -> None:
    put = tp.CallbackFactory(trigger=lambda cb: cb.trainer.monitors.put_scalar("x", value))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="'x' must be a single number"):
        train_constant(put, epochs=1)


def test_get_latest_suggests_similar_names() -> None:
    def read(cb: tp.Callback) -> None:
        with pytest.raises(KeyError, match="did you mean 'learning_rate'"):
            cb.trainer.monitors.get_latest("lerning_rate")
        assert cb.trainer.monitors.get_history("lerning_rate") == []

    make().train(1, Rows(), [tp.CallbackFactory(trigger=read)])


class Reads(tp.Callback):
    def __init__(self, name: str) -> None:
        self.name = name

    def consumes(self) -> list[str]:
        return [self.name]


@pytest.mark.parametrize("wrap", [lambda cb: cb, tp.Every(epochs=2)])
@pytest.mark.parametrize("name", ["loss", "accuracy", "eval_loss", "epoch"])
def test_consumed_names_that_are_logged_before_pass(
    name: str, wrap: Callable[[tp.Callback], tp.Callback]
) -> None:
    make({"accuracy"}).fit(1, Rows(), Rows(), callbacks=[Logs({}, 1.0), wrap(Reads(name))])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("acuracy", "Reads reads 'acuracy', which no callback logs; did you mean 'accuracy'"),
        ("x", "known names: 'loss', 'learning_rate', 'accuracy', 'eval_loss', 'step', 'epoch'"),
        ("epoch", "Reads reads 'epoch' before Logs logs it: put Logs before Reads"),
    ],
)
def test_unknown_or_late_metric_names_raise_before_training(name: str, message: str) -> None:
    begun: list[str] = []
    begin = tp.CallbackFactory(before_train=lambda cb: begun.append("begun"))
    with pytest.raises(tp.UnknownMetricError, match=message):
        make({"accuracy"}).fit(1, Rows(), Rows(), callbacks=[begin, Reads(name), Logs({}, 1.0)])
    assert not begun


@given(st.dictionaries(st.sampled_from("ab"), st.lists(st.integers(0, 9))), st.booleans())
def test_history_state_needs_equal_lengths(steps: dict[str, list[int]], fits: bool) -> None:
    values = {name: [0.5] * (len(numbers) + (not fits)) for name, numbers in steps.items()}
    history = tp.ScalarHistory()
    with (
        nullcontext()
        if fits or not steps
        else pytest.raises(ValueError, match="must have the same lengths")
    ):
        history.load_state_dict({"steps": steps, "values": values})
        assert history.names() == list(steps)
        assert [len(history.get_history(name)) for name in steps] == list(map(len, values.values()))


@given(shapes(1, 5))
@example((2, 3, 1))
@example((4, 2, 3, 3))
@example((2, 3, 2))
@example((0, 3))
def test_put_image_adds_missing_axes_or_refuses_the_shape(shape: tuple[int, ...]) -> None:
    received: list[tuple[int, ...]] = []

    class Shapes(tp.MonitorBase):
        def process_image(self, name: str, val: Array) -> None:
            received.append(val.shape)

    put = tp.CallbackFactory(trigger=lambda cb: cb.trainer.monitors.put_image("x", np.zeros(shape)))
    full = {2: (1, *shape, 1), 3: (1, *shape), 4: shape}.get(len(shape), (0,))
    refused = 0 in full or full[-1] not in {1, 3}
    with pytest.raises(ValueError, match="put_image") if refused else nullcontext():
        train_constant(put, Shapes(), epochs=1)
    assert received == ([] if refused else [full])


def test_batch_columns_have_the_names_of_the_dataset() -> None:
    from minispore.dataset import NumpySlicesDataset

    data = NumpySlicesDataset({"x": np.ones((4, 2), np.float32), "y": np.zeros(4)}).batch(2)
    shapes: list[tuple[int, ...]] = []

    def measure(x: Array, y: Array) -> None:
        shapes.append((*x.shape, *y.shape))

    process = tp.ProcessTensors(["x", "y"], measure)
    Model(ConstantLoss()).train(1, data, [process])
    assert shapes == [(2, 2, 2)] * 2


def test_predictor_calls_the_network_in_evaluation_mode() -> None:
    """And its summaries do not reach those who subscribed to the training's."""

    class Network(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.scalar = ops.ScalarSummary()

        def construct(self, x: Tensor, *_: Tensor) -> Tensor:
            self.scalar("training", Tensor(float(self.training)))
            return x * 2

    outputs: list[float] = []

    def predict(cb: tp.Callback) -> None:
        trainer, before = cb.trainer, dict(cb.trainer.summaries)
        assert trainer.is_chief
        assert trainer.loop.epoch_num == 1
        predictor = trainer.get_predictor(["x"], ["output", "training"])
        outputs.extend(output.item() for output in predictor(np.full(1, 3.0)))
        assert trainer.summaries == before
        with pytest.raises(TypeError, match=r"inputs must be \['x'\]"):
            predictor()
        with pytest.raises(ValueError, match="no output 'ouput'; did you mean 'output'"):
            trainer.get_predictor(["x"], ["ouput"])(np.zeros(1))
        with pytest.raises(RuntimeError, match="ProcessTensors cannot be registered"):
            trainer.register_callback(tp.ProcessTensors("loss", print))

    network = Network()
    callbacks = [tp.CallbackFactory(trigger=predict), tp.MergeAllSummaries()]
    Model(network).train(1, Batches(1), callbacks)
    assert outputs == [6.0, 0.0]
    assert network.training


def test_unknown_array_error_suggests_names_and_unsubscribes() -> None:
    before = list(summary_subscribers())
    with pytest.raises(ValueError, match="no array 'los'; did you mean 'loss'"):
        train_counting(tp.ProcessTensors("los", print))
    assert summary_subscribers() == before


def test_loop_logs_loss_learning_rate_and_metrics() -> None:
    history = tp.ScalarHistory()
    make({"accuracy"}).fit(2, Rows(), Rows(), 2, callbacks=[history])
    assert history.names() == ["loss", "learning_rate", "accuracy", "eval_loss"]
    assert [step for step, _ in history.get_history("loss")] == [3, 6]
    assert history.get_history("learning_rate") == [(3, 0.1), (6, 0.1)]
    assert [step for step, _ in history.get_history("accuracy")] == [6]
    assert 0 <= history.get_latest("accuracy") <= 1


def test_no_learning_rate_is_logged_after_its_list_ends() -> None:
    net = nn.Dense(4, 3)
    optimizer = nn.SGD(net.trainable_params(), [0.1, 0.2, 0.3])
    history = tp.ScalarHistory()
    Model(net, nn.CrossEntropyLoss(), optimizer).train(1, Rows(), [history])
    assert history.names() == ["loss"]


@pytest.mark.parametrize("output", [None, Tensor(np.zeros(0))])
def test_no_loss_is_logged_without_output(output: Tensor | None) -> None:
    class Silent(nn.Cell):
        def construct(self, *inputs: Tensor) -> Tensor | None:
            return output

    history = tp.ScalarHistory()
    Model(Silent()).train(1, Batches(3), [history])
    assert history.names() == []
