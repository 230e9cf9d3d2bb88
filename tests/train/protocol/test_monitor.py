"""`MonitoredMetric`: reading the value, missing values, and comparison."""

import math
import re
import warnings
from collections.abc import Callable
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Tensor, train
from minispore.train.protocol.monitor import MonitoredMetric
from minispore.train.protocol.outputs import shortest_float
from tests.helpers.callback_driver import run_context
from tests.helpers.stub_models import Batches, ConstantLoss, Rows, make

MONITORS: list[type[train.EarlyStopping | train.ReduceLROnPlateau | train.BestCheckpoint]] = [
    train.EarlyStopping,
    train.ReduceLROnPlateau,
    train.BestCheckpoint,
]
finite = st.floats(-1e6, 1e6)
modes = st.sampled_from(["min", "max"])


def value_of(name: str, **params: object) -> float | None:
    return MonitoredMetric(name, "min").value(train.RunContext(params))


# Comparison.


@given(modes, finite, finite, finite)
@example("min", 0.5, 0.5, 0.0)
@example("max", 0.75, 0.5, 0.25)
@example("max", 0.6, 0.5, 0.25)
@example("min", 0.25, 0.5, -0.25)
def test_improvement_is_a_difference_beyond_min_delta(
    mode: str, value: float, than: float, delta: float
) -> None:
    actual = MonitoredMetric("value", mode, delta).is_improvement(value, than)
    sign = -1 if mode == "min" else 1
    assert actual == (sign * value > sign * than + abs(delta))


@given(modes, st.sampled_from([math.nan]) | finite, finite)
def test_every_number_and_no_nan_improves_on_the_worst(
    mode: str, value: float, delta: float
) -> None:
    metric = MonitoredMetric("value", mode, delta)
    assert metric.is_improvement(value, metric.worst) == (value == value)  # noqa: PLR0124 (NaN)
    assert not metric.is_improvement(metric.worst, value)


SMALLER = [
    "loss", "mse", "mae", "perplexity", "rmse", "error", "err", "distance", "nll", "hinge",
    "cross_entropy", "crossentropy", "kl_divergence", "logloss", "mape",
    "negative_log_likelihood", "mse2", "accuracy_loss",
]  # fmt: skip
GREATER = [
    "accuracy", "acc", "acc1", "F1", "precision", "recall", "auc", "top_1_accuracy", "dice",
    "r2", "mAP", "iou", "bleu_score", "log_likelihood", "cosine_similarity",
    "occlusion_sensitivity", "neg_mean_squared_error",
]  # fmt: skip
UNKNOWN = ["x", "lossless", "1", "value", "score", "quality", "valacc"]
PREFIXES = st.sampled_from(["", "val_", "eval_", "train/", "best "])
CASES = st.sampled_from([str, str.upper, str.title])


@pytest.mark.parametrize("monitor", MONITORS)
@given(st.sampled_from(SMALLER + GREATER + UNKNOWN), PREFIXES, CASES, modes | st.just("auto"))
@example("nll", "val_", str, "auto")
@example("value", "", str, "auto")
@example("value", "", str, "max")
def test_direction_is_known_by_the_name_or_a_warning_says_that_it_is_not(
    monitor: type[train.EarlyStopping], name: str, prefix: str, case: "type[str]", mode: str
) -> None:
    full = prefix + case(name)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        monitored = monitor(full, mode=mode)._monitored
    assert monitored.mode == (mode if mode != "auto" else "min" if name in SMALLER else "max")
    message = (
        f"For '{monitor.__name__}', whether smaller or greater is better is not known of the "
        f"'monitor' {full!r}: greater is taken as better. Set 'mode' to 'min' or 'max'."
    )
    warned = [(str(warning.message), warning.filename) for warning in caught]
    assert warned == [(message, __file__)] * (mode == "auto" and name in UNKNOWN)


@given(st.floats(width=32, allow_nan=False))
@example(0.1)
def test_shortest_float_is_the_same_number_and_text(value: float) -> None:
    number = np.float32(value)
    actual = shortest_float(number)
    assert np.float32(actual) == number
    assert actual == float(str(number))
    assert len(repr(actual)) <= len(repr(float(number)))


# The value.


@given(st.floats(width=32, allow_nan=False), st.sampled_from([
    float, np.float32, lambda value: np.array([value]), Tensor, lambda value: Tensor([value]),
    lambda value: np.array([[[value]]], np.float32),
]))  # fmt: skip
@example(2, int)
@example(1, bool)
def test_value_is_read_from_any_single_number(value: float, kind: "type[float]") -> None:
    given_value = kind(value)
    for actual in (
        value_of("value", metrics={"value": given_value}),
        value_of("loss", net_outputs=given_value),
        value_of("loss", net_outputs=(given_value, Tensor([1.0, 3.0]))),
    ):
        assert actual == value
        assert type(actual) is float


@pytest.mark.parametrize("make_callback", MONITORS)
@pytest.mark.parametrize("result", [np.zeros(2), Tensor([]), "0.5", (0.5,), {}, np.complex64(1)])
def test_value_that_is_no_single_number_raises(
    make_callback: type[train.EarlyStopping], result: object
) -> None:
    context = run_context(cur_epoch_num=1, metrics={"value": result})
    with pytest.raises(ValueError, match="'monitor' must be a single number, but 'value' is") as e:
        make_callback("value", mode="max").on_train_epoch_end(context)
    assert str(e.value).startswith(f"For '{make_callback.__name__}', ")


@given(st.lists(st.floats(-9, 9, width=32), min_size=2, max_size=5))
def test_loss_of_several_elements_is_their_mean(losses: list[float]) -> None:
    assert value_of("loss", net_outputs=Tensor(losses)) == pytest.approx(np.mean(losses), abs=1e-5)


@given(st.sets(st.sampled_from(["metrics", "eval_results"])), st.booleans())
def test_eval_results_take_precedence_over_metrics(names: set[str], unfinished: bool) -> None:
    """`fit` sets both; a custom loop as in MindSpore's documentation may set one."""
    values = {"metrics": {"value": 0.75}, "eval_results": {"value": 0.25}}
    context = train.RunContext({name: values[name] for name in names})
    if unfinished:
        context.leave_epoch()
    actual = MonitoredMetric("value", "min").value(context)
    expected = None if unfinished or not names else values[min(names)]["value"]
    assert actual == expected


# Missing values.


class Steps(train.Callback):
    """Count the steps."""

    count = 0

    def on_train_step_begin(self, run_context: train.RunContext) -> None:
        self.count += 1


@pytest.mark.parametrize("monitor", MONITORS)
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("acuracy", "'loss', 'accuracy', 'eval_loss', but got 'acuracy'. Did you mean 'accuracy'?"),
        ("val_loss", "but got 'val_loss'. Did you mean 'eval_loss'?"),
        ("zzz", "'loss', 'accuracy', 'eval_loss', but got 'zzz'."),
    ],
)
def test_unknown_monitor_raises_before_first_step(
    monitor: type[train.EarlyStopping], name: str, message: str
) -> None:
    steps = Steps()
    with pytest.raises(ValueError, match=f"(?m)'monitor' must be one of .*{re.escape(message)}$"):
        make({"accuracy"}).fit(3, Rows(), Rows(), callbacks=[steps, monitor(name, mode="max")])
    assert steps.count == 0
    # A custom loop does not say before what it measures.
    context = run_context(cur_epoch_num=1, metrics={"other": 1.0})
    message = (
        f"^For '{monitor.__name__}', the argument 'monitor' must be one of .*'loss', 'other', b"
    )
    with pytest.raises(ValueError, match=message):
        monitor(name, mode="max").on_train_epoch_end(context)


@pytest.mark.parametrize("monitor", MONITORS)
@given(
    st.integers(0, 2),
    st.integers(1, 3),
    st.integers(1, 7) | st.lists(st.integers(0, 7), max_size=3),
)
@example(0, 3, 4)
@example(2, 1, 2)
@example(2, 1, [2, 4])
def test_evaluation_that_never_comes_raises_before_first_step(
    monitor: type[train.EarlyStopping], initial: int, epochs: int, frequency: int | list[int]
) -> None:
    last = initial + epochs
    due = [
        epoch
        for epoch in range(initial + 1, last + 1)
        if (epoch % frequency == 0 if isinstance(frequency, int) else epoch in frequency)
    ]
    steps, evaluated = Steps(), list[int]()
    note = train.LambdaCallback(
        on_eval_begin=lambda run: evaluated.append(run.original_args().cur_epoch_num)
    )

    def fit(*callbacks: train.Callback) -> None:
        model = make({"accuracy"})
        model.fit(last, Rows(), Rows(), frequency, [*callbacks], initial_epoch=initial)

    fit(steps, note)
    assert (steps.count, evaluated) == (3 * epochs, due)
    if not due:
        with TemporaryDirectory() as folder:
            best = train.BestCheckpoint("accuracy", directory=folder)
            callback = best if issubclass(monitor, train.BestCheckpoint) else monitor("accuracy")
            with pytest.raises(ValueError, match="'monitor' must be one of .* 'valid_frequency'"):
                fit(steps, callback)
        assert steps.count == 3 * epochs


# Each with the number of steps, of an epoch of three, that it needs to do anything.
PATIENT: dict[str, Callable[[int], train.Callback]] = {
    "starting": lambda number: train.WeightAveraging(update_starting_at_step=number),
    "every": lambda number: train.WeightAveraging(update_every_n_steps=number),
}


@pytest.mark.parametrize("name", PATIENT)
@given(st.integers(0, 2), st.integers(1, 3), st.integers(1, 12))
@example(1, 2, 6)
@example(1, 2, 7)
def test_callback_that_a_run_is_too_short_for_warns(
    name: str, initial: int, epochs: int, number: int
) -> None:
    callback = PATIENT[name](number)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make({"accuracy"}).fit(
            initial + epochs, Rows(), Rows(), callbacks=callback, initial_epoch=initial
        )
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == (number > 3 * epochs)
    for message in messages:
        assert message.startswith(f"{type(callback).__name__} can do nothing in this run")


def test_eval_loss_requires_loss_output() -> None:
    model = train.Model(ConstantLoss(), eval_network=ConstantLoss(), metrics={"loss"})
    with pytest.raises(ValueError, match="but got 'eval_loss'"):
        model.fit(1, Batches(1), Batches(1), callbacks=train.EarlyStopping())


def test_early_stop_finishes_training() -> None:
    context = run_context(cur_epoch_num=1, metrics={"value": math.nan})
    train.EarlyStopping("value", patience=1, mode="max").on_train_epoch_end(context)
    assert context.get_stop_requested()
    assert not context.is_interrupted()
