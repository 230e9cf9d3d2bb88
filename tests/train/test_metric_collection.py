"""The `metrics` argument of `Model`, and the results of metrics of any type."""

import numpy as np
import numpy.typing as npt
import pytest

from minispore import Tensor, nn, train
from minispore.dataset import NumpySlicesDataset
from minispore.train._metric_collection import get_metrics
from tests.helpers.stub_models import Outputs

RANDOM = np.random.RandomState(0)
SCORES = RANDOM.random_sample((10, 6)).astype(np.float32)
CLASSES = RANDOM.randint(0, 6, 10).astype(np.int32)
MASKS = RANDOM.randint(0, 2, (10, 3)).astype(np.float32)
LABELS = RANDOM.randint(0, 2, (10, 3)).astype(np.float32)
OF_CLASSES = {"F1", "acc", "accuracy", "perplexity", "precision", "recall"} | {
    "top_1_accuracy",
    "top_5_accuracy",
}
WITH_ARGUMENTS = {"auc", "confusion_matrix", "topk"}


def data(x: npt.NDArray[np.generic], y: npt.NDArray[np.generic]) -> NumpySlicesDataset:
    return NumpySlicesDataset({"x": x, "y": y}, shuffle=False)


def evaluate(metrics: set[str] | dict[str, train.Metric], x: object, y: object) -> dict[str, float]:
    model = train.Model(
        nn.Dense(1, 1), eval_network=Outputs(), eval_indexes=[0, 1, 2], metrics=metrics
    )
    assert isinstance(x, np.ndarray)
    assert isinstance(y, np.ndarray)
    return model.eval(data(x, y).batch(4))


@pytest.mark.parametrize(
    "name", sorted(set(train.names()) - WITH_ARGUMENTS - {"cosine_similarity"})
)
def test_metric_is_created_from_its_name(name: str) -> None:
    x, y = (SCORES, CLASSES) if name in OF_CLASSES else (MASKS, LABELS)
    expected = 0.25 if name == "loss" else train.get_metric_fn(name)(x, y)
    results = evaluate({name}, x, y)
    assert list(results) == [name]
    np.testing.assert_equal(results[name], expected)


def test_eval_returns_cosine_similarity() -> None:
    metric = train.CosineSimilarity().set_indexes([0])
    results = evaluate({"similarity": metric}, SCORES, CLASSES)
    np.testing.assert_array_equal(results["similarity"], train.CosineSimilarity()(SCORES))
    with pytest.raises(ValueError, match=r"needs 1 input .*: 'set_indexes' chooses among them"):
        evaluate({"cosine_similarity"}, SCORES, CLASSES)


def test_eval_returns_array_results() -> None:
    metrics: dict[str, train.Metric] = {
        "matrix": train.ConfusionMatrix(6),
        "precision": train.Precision(),
        "roc": train.ROC(6),
        "top 2": train.TopKCategoricalAccuracy(2),
    }
    classes = np.array([*range(6), *CLASSES[6:]], np.int32)
    results = evaluate(metrics, SCORES, classes)
    for name, metric in metrics.items():
        expected = metric(SCORES, classes)
        if name == "roc":
            continue
        np.testing.assert_array_equal(results[name], expected)
    fpr, tpr, thresholds = results["roc"]  # type: ignore[misc]
    assert len(fpr) == len(tpr) == len(thresholds) == 6  # type: ignore[has-type]


def test_metrics_argument_accepts_names_and_dicts() -> None:
    accuracy = train.Accuracy()
    assert get_metrics(None) == {}
    assert get_metrics({"a": accuracy}) == {"a": accuracy}
    assert list(get_metrics({"loss", "accuracy", "acc"})) == ["acc", "accuracy", "loss"]
    mixed = get_metrics({"a": accuracy, "f": "F1"})
    assert mixed["a"] is accuracy
    assert isinstance(mixed["f"], train.F1)
    for wrong in (["accuracy"], ("accuracy",), "accuracy", accuracy):
        with pytest.raises(TypeError, match="'metrics' must be one of dict, set"):
            get_metrics(wrong)  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="nope"):
        get_metrics({"nope"})
    with pytest.raises(KeyError, match="unsupported metric 1;"):
        get_metrics({"nope", None, 1})  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="left out"):
        get_metrics({"bleu_score"})


@pytest.mark.parametrize("name", ["confusion_matrix", "topk"])
def test_metric_name_that_needs_arguments_raises(name: str) -> None:
    with pytest.raises(TypeError, match="missing") as caught:
        get_metrics({name})
    (note,) = caught.value.__notes__
    assert note == (
        f"For 'Model', the metric '{name}' cannot be created from its name, since it needs "
        f"arguments: pass 'metrics' a dict, {{'{name}': the metric}}."
    )


def test_single_output_is_passed_to_metric() -> None:
    class Alone(nn.Cell):
        def construct(self, x: Tensor, y: Tensor) -> Tensor:
            return x

    class Shapes(train.Metric):
        def clear(self) -> None:
            self.shapes: list[object] = []

        def update(self, *inputs: object) -> None:
            self.shapes += [value.shape for value in inputs if isinstance(value, Tensor)]

        def eval(self) -> object:
            return self.shapes

    metrics: dict[str, train.Metric] = {"shapes": Shapes()}
    model = train.Model(nn.Dense(1, 1), metrics=metrics, eval_network=Alone())
    result: object = model.eval(data(SCORES, CLASSES).batch(4))["shapes"]
    assert result == [(4, 6), (4, 6), (2, 6)]
