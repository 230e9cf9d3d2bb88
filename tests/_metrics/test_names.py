"""Names of metrics, and unsupported metrics."""

from importlib import import_module
from typing import get_args

import numpy as np
import pytest

from minispore import nn, train
from minispore._metrics.metric import MetricName
from minispore.nn import metrics as nn_metrics
from minispore.train import Metric, get_metric_fn, names
from minispore.train import metrics as train_metrics

ARGUMENTS: dict[str, tuple[object, ...]] = {"confusion_matrix": (2,), "topk": (1,)}
MODULES = ("minispore.train", "minispore.train.metrics", "minispore.nn", "minispore.nn.metrics")
UNSUPPORTED = {
    "bleu_score": "BleuScore",
    "hausdorff_distance": "HausdorffDistance",
    "mean_surface_distance": "MeanSurfaceDistance",
    "occlusion_sensitivity": "OcclusionSensitivity",
    "root_mean_square_distance": "RootMeanSquareDistance",
}


CLASSES = {
    "acc": train.Accuracy,
    "topk": train.TopKCategoricalAccuracy,
    "top_1_accuracy": train.Top1CategoricalAccuracy,
    "top_5_accuracy": train.Top5CategoricalAccuracy,
}
BY_LOWER = {name.lower(): getattr(train, name) for name in dir(train_metrics)}


@pytest.mark.parametrize("name", [name for name in names() if name != "auc"])
def test_get_metric_fn_returns_a_new_metric(name: str) -> None:
    one, other = (get_metric_fn(name, *ARGUMENTS.get(name, ())) for _ in range(2))
    assert type(one) is CLASSES.get(name) or type(one) is BY_LOWER[name.replace("_", "").lower()]
    assert isinstance(one, Metric)
    assert one is not other


def test_literal_of_names_is_that_of_metrics_without_required_arguments() -> None:
    required = {"auc", *ARGUMENTS}
    assert {*get_args(MetricName)} == {*names()} - required
    for name in required:
        with pytest.raises(TypeError, match="required positional argument"):
            get_metric_fn(name)


def test_auc_is_a_function() -> None:
    assert get_metric_fn("auc", np.array([0.0, 1.0]), np.array([0.0, 1.0])) == 0.5


def test_unknown_name_raises() -> None:
    with pytest.raises(KeyError, match="unsupported metric 'nope'; it must be one of .*'topk'"):
        get_metric_fn("nope")
    with pytest.raises(KeyError, match="unsupported metric 3"):
        get_metric_fn(3)  # type: ignore[call-overload]


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_unsupported_metrics_raise(name: str) -> None:
    assert name not in names()
    with pytest.raises(KeyError, match=f"'{name}' is left out of minispore. .* three methods"):
        get_metric_fn(name)
    for module in MODULES:
        with pytest.raises(NotImplementedError, match="is left out of minispore. .* three methods"):
            getattr(import_module(module), UNSUPPORTED[name])()


@pytest.mark.parametrize("module", MODULES)
def test_unknown_attributes_raise(module: str) -> None:
    assert not hasattr(import_module(module), "Accurracy")
    with pytest.raises(ImportError, match="cannot import name 'Accurracy'"):
        exec(f"from {module} import Accurracy")


def test_nn_has_the_metrics_of_train() -> None:
    for module in (nn, nn_metrics, train_metrics):
        for name in dir(train_metrics):
            assert getattr(module, name) is getattr(train, name)


@pytest.mark.parametrize("module", [*MODULES[1:], "minispore.nn.layer", "minispore.nn.optim"])
def test_dir_lists_the_public_names(module: str) -> None:
    imported = import_module(module)
    assert dir(imported) == sorted(imported.__all__)
