"""Evaluation during a training."""

from collections.abc import Sequence
from math import isclose
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore
from minispore import Tensor, nn, ops
from minispore import tensorpack as tp
from minispore.dataset import NumpySlicesDataset
from minispore.tensorpack.inference import Measures, Tower
from minispore.tensorpack.protocol import Array
from minispore.train import Accuracy, ConfusionMatrix, Model
from tests.helpers.stub_models import Batches, ConstantLoss, Rows, make
from tests.tensorpack.recording_callbacks import EventRecorder, Log


def measured(infs: Measures | list[Measures], tower: Tower | None = None) -> dict[str, float]:
    history = tp.ScalarHistory()
    make().train(1, Rows(4), [tp.InferenceRunner(Rows(), infs, tower_func=tower), history])
    return {name: history.get_latest(name) for name in history.names()}


def test_metrics_and_errors_agree_with_the_evaluation_of_the_model() -> None:
    history, model = tp.ScalarHistory(), make({"accuracy"})
    accuracy_of = tp.MetricInferencer(Accuracy(), "acc", ["output", "label"])
    infs: list[Measures] = [tp.ClassificationError(), Accuracy(), accuracy_of]
    model.train(2, Rows(), [tp.InferenceRunner(Rows(), infs), history])
    accuracy = model.eval(Rows())["accuracy"]
    assert isclose(history.get_latest("validation_error"), 1 - accuracy)
    assert history.get_latest("validation_accuracy") == history.get_latest("acc") == accuracy
    assert [step for step, _ in history.get_history("acc")] == [3, 6]


class LargerInTraining(nn.Cell):
    def construct(self, output: Tensor, label: Tensor) -> Tensor:
        return output.mean() + 1000.0 * self.training


def test_network_and_loss_are_in_evaluation_mode() -> None:
    history, net = tp.ScalarHistory(), nn.Dense(4, 3)
    model = Model(net, LargerInTraining(), nn.SGD(net.trainable_params()), metrics={"loss"})
    model.train(1, Rows(), [tp.InferenceRunner(Rows(), tp.ScalarStats("loss")), history])
    assert isclose(history.get_latest("validation_loss"), model.eval(Rows())["loss"])
    assert history.get_latest("loss") > 500


flags = st.booleans()
samples = st.lists(
    st.tuples(st.tuples(*[st.integers(-2, 2)] * 3), st.integers(0, 2), flags, flags),
    min_size=1,
    max_size=9,
)


@given(samples=samples, size=st.integers(1, 4), k=st.integers(1, 3))
def test_inferencers_compute_their_definitions(
    samples: list[tuple[tuple[int, ...], int, bool, bool]], size: int, k: int
) -> None:
    """Errors, precision and recall are of all samples; scalars are averaged over the batches."""
    columns = dict(zip(["output", "label", "p", "y"], map(list, zip(*samples)), strict=True))  # noqa: B905
    data = NumpySlicesDataset(columns, shuffle=False).batch(size)

    def tower(*batch: Tensor) -> dict[str, Tensor]:
        arrays = dict(zip(columns, batch, strict=True))
        return arrays | {"first": batch[0][0, 0]}

    infs: list[Measures] = [
        tp.ClassificationError(f"wrong-top{k}", "wrong"),
        tp.BinaryClassificationStats("p", "y"),
        tp.ScalarStats(["first", "label"]),
        tp.ScalarStats("first", "val"),
    ]
    history = tp.ScalarHistory()
    runner = tp.InferenceRunner(data, infs, tower_func=tower)
    Model(ConstantLoss()).train(1, Batches(1), [runner, history])
    wrong = [sum((-o, j) < (-x[i], i) for j, o in enumerate(x)) >= k for x, i, _, _ in samples]
    both = sum(p and y for _, _, p, y in samples)
    batches = [samples[i : i + size] for i in range(0, len(samples), size)]
    first = fmean(batch[0][0][0] for batch in batches)
    assert {name: history.get_latest(name) for name in runner.produces()} == pytest.approx(
        {
            "wrong": fmean(wrong),
            "val_precision": both / max(1, sum(p for _, _, p, _ in samples)),
            "val_recall": both / max(1, sum(y for _, _, _, y in samples)),
            "validation_first": first,
            "validation_label": fmean(fmean(i for _, i, _, _ in batch) for batch in batches),
            "val_first": first,
        }
    )


def test_inferencers_can_fetch_summaries() -> None:
    class Network(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.dense = nn.Dense(4, 3)
            self.summary = ops.ScalarSummary()

        def construct(self, x: Tensor) -> Tensor:
            self.summary("size", Tensor(float(x.shape[0])))
            return self.dense(x)

    network, history = Network(), tp.ScalarHistory()
    optimizer = nn.SGD(network.trainable_params(), 0.1)
    model = Model(network, nn.CrossEntropyLoss(), optimizer)
    model.train(1, Rows(), [tp.InferenceRunner(Rows(), tp.ScalarStats("size")), history])
    assert isclose(history.get_latest("validation_size"), 10 / 3)


def test_custom_inferencer_receives_its_fetches() -> None:
    class RecordsShapes(tp.Inferencer):
        def _before_inference(self) -> None:
            self.shapes: list[list[tuple[int, ...]]] = []

        def _get_fetches(self) -> Sequence[str]:
            return ["input", "label", "output", "loss"]

        def _on_fetches(self, results: Sequence[Array]) -> None:
            self.shapes.append([result.shape for result in results[:3]])

        def _after_inference(self) -> None:
            return None

    recorder = RecordsShapes()
    assert set(measured(recorder)) == {"loss", "learning_rate"}
    assert recorder.shapes[-1] == [(2, 4), (2,), (2, 3)]


def test_network_output_is_the_loss_without_loss_function() -> None:
    class Counts(tp.Inferencer):
        """It fetches nothing."""

        def _on_fetches(self, results: Sequence[Array]) -> None:
            sizes.append(len(results))

    class Labels(tp.Inferencer):
        def _get_fetches(self) -> Sequence[str]:
            return ["label"]

        def _on_fetches(self, results: Sequence[Array]) -> None:
            sizes.append(len(results[0]))

    sizes: list[int] = []
    history = tp.ScalarHistory()
    infs: list[Measures] = [tp.ScalarStats(["loss", "output"]), Counts(), Labels()]
    Model(ConstantLoss()).train(1, Batches(2), [tp.InferenceRunner(Batches(3), infs), history])
    values = [history.get_latest(f"validation_{name}") for name in ("loss", "output")]
    assert values == [history.get_latest("loss")] * 2
    assert sizes == [0, 4, 0, 4, 0, 4]


def test_non_numeric_results_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert set(measured(ConfusionMatrix(3))) == {"loss", "learning_rate"}
    assert "The result 'validation_confusionmatrix' is no number" in caplog.text


def test_inference_does_not_change_the_training() -> None:
    def weights(*callbacks: tp.Callback) -> Array:
        minispore.set_seed(3)
        model = make()
        model.train(2, Rows(), list(callbacks))
        assert model.predict_network.training
        return next(iter(model.predict_network.trainable_params())).asnumpy()

    np.testing.assert_array_equal(weights(tp.InferenceRunner(Rows(), Accuracy())), weights())


def test_inference_emits_no_eval_events() -> None:
    log = Log()
    model = make({"accuracy"})
    model.fit(
        1, Rows(), Rows(), callbacks=[EventRecorder(log, 0), tp.InferenceRunner(Rows(), Accuracy())]
    )
    assert [hook for _, hook, _ in log].count("on_eval_begin") == 1


@pytest.mark.parametrize(
    ("infs", "message"),
    [
        (tp.ClassificationError("output"), "'output' must be of shape"),
        (tp.BinaryClassificationStats("output", "label"), "must have the same shape"),
    ],
)
def test_unknown_or_misshaped_arrays_raise_errors(infs: tp.Inferencer, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        measured(infs)


@pytest.mark.parametrize(
    ("infs", "message"),
    [
        (
            tp.ClassificationError("wrong-top"),
            "no array 'wrong-top'.*incorrect_vector|did you mean",
        ),
        (tp.ScalarStats("nothing"), "no array 'nothing'; known names:"),
        (tp.ScalarStats(["loss", "accuracy"]), "no array 'accuracy'"),
    ],
)
@pytest.mark.parametrize("tower", [None, lambda *batch: {"loss": batch[0]}])
def test_unknown_arrays_are_refused_before_the_first_step(
    infs: tp.Inferencer, message: str, tower: Tower | None
) -> None:
    log = Log()
    runner = tp.InferenceRunner(Rows(), infs, tower_func=tower)
    with pytest.raises(ValueError, match=message):
        make().train(1, Rows(), [EventRecorder(log, 0), runner])
    assert "on_train_step_begin" not in [hook for _, hook, _ in log]


def test_the_check_of_names_draws_no_random_numbers() -> None:
    """What a function computes is known after a batch only."""
    drawn = list[float]()

    def tower(*batch: Tensor) -> dict[str, Tensor]:
        drawn.append(np.random.rand())  # noqa: NPY002
        return {"label": batch[1]}

    make().train(1, Rows(), [tp.InferenceRunner(Rows(), tp.ScalarStats("label"), tower_func=tower)])
    assert len(drawn) == len({*drawn}) + 1
    assert drawn[0] == drawn[1]


def test_a_dataset_that_ends_early_raises_an_error() -> None:
    class Short(Batches):
        def get_dataset_size(self) -> int:
            return 9

    def tower(*batch: Tensor) -> dict[str, Tensor]:
        return {}

    with pytest.raises(ValueError, match="3 batches instead of 9"):
        make().train(1, Rows(), [tp.InferenceRunner(Short(3), [], tower_func=tower)])
