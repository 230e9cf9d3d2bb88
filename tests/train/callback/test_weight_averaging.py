"""WeightAveraging: the averages, where they are set, and that they do not change the training."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import minispore
from minispore import Parameter, Tensor, nn, set_seed, train
from minispore.common.dtype import DType
from minispore.testing import Scenario
from minispore.train.callback import _best_checkpoint
from tests.helpers.stub_models import Rows, make

Weights = list[NDArray[np.float32]]


def weights_of(run_context: train.RunContext) -> Weights:
    network = run_context.original_args().network
    return [parameter.asnumpy().copy() for parameter in network.get_parameters()]


class Recorder(train.Callback):
    """Record the weights after each step, and in each evaluation."""

    def __init__(self) -> None:
        self.trained: list[Weights] = []
        self.evaluated: list[Weights] = []
        self.begun: list[Weights] = []
        self.last: Weights = []

    def on_train_step_end(self, run_context: train.RunContext) -> None:
        self.trained.append(weights_of(run_context))

    def on_eval_step_end(self, run_context: train.RunContext) -> None:
        self.evaluated.append(weights_of(run_context))

    def on_eval_end(self, run_context: train.RunContext) -> None:
        self.begun.append(weights_of(run_context))

    def on_train_end(self, run_context: train.RunContext) -> None:
        self.last = weights_of(run_context)


def averages(trained: list[Weights], decay: float | None, every: int, start: int) -> Weights:
    """Return the averages after these steps."""
    steps = range(start, len(trained) + 1)
    used = [trained[step - 1] for step in steps if step % every == 0]
    if not used:
        return trained[-1]
    shares = [1 / len(used)] * len(used)
    if decay is not None:
        shares = [(1 - decay) * decay ** (len(used) - 1 - i) for i in range(len(used))]
        shares[0] = decay ** (len(used) - 1)
    return [
        np.tensordot(np.array(shares, np.float32), np.stack(values), axes=1)
        for values in zip(*used, strict=True)
    ]


@pytest.mark.filterwarnings("ignore:WeightAveraging can do nothing in this run")
@given(st.none() | st.floats(0, 1), st.integers(1, 4), st.integers(1, 6))
@example(0.5, 1, 1)
@example(None, 2, 3)
def test_evaluations_use_the_averages_and_training_does_not_change(
    decay: float | None, every: int, start: int
) -> None:
    scenario, plain, recorder = Scenario("fit", 3, 2, 1), Recorder(), Recorder()
    scenario.run([plain])
    scenario.run([train.WeightAveraging(decay, every, start), recorder])
    for actual, expected in zip(recorder.trained, plain.trained, strict=True):
        assert all(map(np.array_equal, actual, expected))
    for after, actual in zip((2, 4, 6), recorder.evaluated, strict=True):
        expected = averages(plain.trained[:after], decay, every, start)
        for one, other in zip(actual, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
    # When the results are known, the weights are those of the training.
    for actual, expected in zip(recorder.begun, plain.trained[1::2], strict=True):
        assert all(map(np.array_equal, actual, expected))
    assert all(map(np.array_equal, recorder.last, recorder.evaluated[-1]))


def normalizing(metrics: set[str] | None = None) -> train.Model:
    """Return a model with moving statistics, and a parameter of integers, which has no average."""
    net = nn.SequentialCell(nn.Dense(4, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Dense(5, 3))
    net.insert_param_to_cell("count", Parameter(Tensor([7]), requires_grad=False))
    optimizer = nn.Adam(net.trainable_params(), 0.1)
    return train.Model(net, nn.CrossEntropyLoss(), optimizer, metrics=metrics)


@given(st.none() | st.floats(0, 1), st.integers(1, 3))
@example(0.5, 1)
@example(None, 2)
def test_moving_statistics_are_averaged_like_the_weights(decay: float | None, every: int) -> None:
    plain, recorder = Recorder(), Recorder()
    set_seed(1)
    normalizing({"loss"}).fit(3, Rows(8), Rows(8), callbacks=[plain])
    set_seed(1)
    model = normalizing({"loss"})
    model.fit(3, Rows(8), Rows(8), callbacks=[train.WeightAveraging(decay, every), recorder])
    for actual, expected in zip(recorder.trained, plain.trained, strict=True):
        assert all(map(np.array_equal, actual, expected))
    names = [parameter.name for parameter in model.predict_network.get_parameters()]
    assert {"1.moving_mean", "1.moving_variance", "count"} < {*names}
    averaged = averages([values[1:] for values in plain.trained], decay, every, 1)
    assert names[0] == "count"
    assert recorder.last[0] == 7
    for name, one, other in zip(names[1:], recorder.last[1:], averaged, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("first", [True, False])
@given(decay=st.sampled_from([None, 0.5, 0.75]), epochs=st.integers(1, 4))
def test_saved_averages_are_those_that_were_evaluated(
    first: bool, decay: float | None, epochs: int
) -> None:
    """Each file of BestCheckpoint has its value again, and the training is the same without it."""
    set_seed(1)
    plain = normalizing({"loss"})
    plain.fit(epochs, Rows(8), Rows(8), callbacks=[train.WeightAveraging(decay)])
    with TemporaryDirectory() as folder:
        best = train.BestCheckpoint("eval_loss", "min", 9, directory=folder, save_last=True)
        callbacks = [train.WeightAveraging(decay), best][:: 1 if first else -1]
        set_seed(1)
        model = normalizing({"loss"})
        model.fit(epochs, Rows(8), Rows(8), callbacks=callbacks)
        for mine, other in zip(
            model.train_network.get_parameters(), plain.train_network.get_parameters(), strict=True
        ):
            assert np.array_equal(mine.asnumpy(), other.asnumpy()), mine.name
        assert len(best.files) == epochs
        last = Path(folder, "best-last.ckpt")
        files = {**best.files, str(last): model.eval(Rows(8))["loss"]}
        for path, value in files.items():
            loaded = normalizing({"loss"})
            train.load_param_into_net(loaded.predict_network, train.load_checkpoint(path))
            assert loaded.eval(Rows(8))["loss"] == pytest.approx(value, rel=1e-6), path


def test_weights_are_restored_after_a_save_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder()

    def fail(*arguments: object, **options: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(_best_checkpoint, "save_checkpoint", fail)
    model = normalizing()
    callbacks = [
        recorder,
        train.WeightAveraging(0.5),
        train.BestCheckpoint("loss", directory=tmp_path),
    ]
    with pytest.raises(OSError, match="No space"):
        model.train(1, Rows(8), callbacks)
    now = [parameter.asnumpy() for parameter in model.predict_network.get_parameters()]
    assert all(map(np.array_equal, now, recorder.trained[-1]))


@pytest.mark.parametrize(
    ("dtype", "error"), [(minispore.float16, 1e-3), (minispore.float64, 1e-12)]
)
def test_averages_are_not_rounded_to_a_smaller_type(dtype: DType, error: float) -> None:
    """In float16, each update of an average by a thousandth would be rounded to nothing."""
    network = nn.Dense(1, 1, weight_init="zeros", has_bias=False, dtype=dtype)
    context = train.RunContext({"network": network, "cur_step_num": 1})
    averaging = train.WeightAveraging(0.999)
    averaging.on_train_step_end(context)
    network.weight.set_data(Tensor([[1.0]], dtype))
    for _ in range(1000):
        averaging.on_train_step_end(context)
    averaging.on_train_end(context)
    assert network.weight.dtype == dtype
    assert network.weight.item() == pytest.approx(1 - 0.999**1000, rel=error)


class Ends(train.Callback):
    """A user's callback that sets the weights with which the training ends."""

    sets_final_weights = True

    def on_train_end(self, run_context: train.RunContext) -> None:
        for parameter in run_context.original_args().network.trainable_params():
            parameter.set_data(parameter * 2)


def restoring(monitor: str = "acc") -> train.EarlyStopping:
    return train.EarlyStopping(monitor, patience=2, restore_best_weights=True)


# Callbacks that change weights or the learning rate, or stop the training.
WRITERS: dict[str, Callable[[], train.Callback]] = {
    "WeightAveraging": lambda: train.WeightAveraging(0.5),
    "SWA": lambda: train.WeightAveraging(None, 2),
    "restoring": restoring,
    "restoring another": lambda: restoring("loss"),
    "a user's": Ends,
    "EarlyStopping": lambda: train.EarlyStopping("acc", patience=2),
    "ReduceLROnPlateau": lambda: train.ReduceLROnPlateau("acc", patience=1),
    "LearningRateScheduler": lambda: train.LearningRateScheduler(lambda rate, step: rate * 0.9),
    "TerminateOnNaN": train.TerminateOnNaN,
}
SETTERS = list(WRITERS)[:5]


@pytest.mark.parametrize("name", SETTERS)
@pytest.mark.parametrize("other", WRITERS)
def test_result_of_two_callbacks_is_the_same_in_both_orders_or_refused(
    name: str, other: str, tmp_path: Path
) -> None:
    """Two that set the weights with which a training ends are refused, before anything is done."""
    table = tmp_path / "table.csv"
    table.write_text("earlier", "utf-8")

    def final(names: list[str]) -> Weights:
        set_seed(1)
        model = make({"acc"})
        callbacks = [train.CSVLogger(table), *(WRITERS[name]() for name in names)]
        model.fit(4, Rows(8), Rows(8), callbacks=callbacks)
        return [parameter.asnumpy() for parameter in model.predict_network.trainable_params()]

    if other in SETTERS:
        for names in ([name, other], [other, name]):
            kinds = " and ".join(type(WRITERS[name]()).__name__ for name in names)
            with pytest.raises(ValueError, match=f"only one callback .* but got {kinds}"):
                final(names)
        assert table.read_text("utf-8") == "earlier"
    else:
        assert all(map(np.array_equal, final([name, other]), final([other, name])))


def test_other_evaluations_use_the_weights() -> None:
    averaging, recorder = train.WeightAveraging(0.5), Recorder()
    model: train.Model = make({"accuracy"})
    model.train(1, Rows(), averaging)
    weight = next(iter(model.predict_network.trainable_params()))
    weight.set_data(weight * 2)
    model.eval(Rows(), [averaging, recorder])
    assert np.array_equal(recorder.evaluated[0][0], weight.asnumpy())
