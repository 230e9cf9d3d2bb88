"""Metrics by name, by attribute, and those that are left out."""

from importlib import import_module

import numpy as np
import pytest

from minispore import nn, train
from minispore.nn import metrics as nn_metrics
from minispore.train import Metric, get_metric_fn, names
from minispore.train import metrics as train_metrics

ARGUMENTS: dict[str, tuple[object, ...]] = {"confusion_matrix": (2,), "topk": (1,)}
MODULES = ("minispore.train", "minispore.train.metrics", "minispore.nn", "minispore.nn.metrics")
LEFT_OUT = {
    "bleu_score": "BleuScore",
    "hausdorff_distance": "HausdorffDistance",
    "mean_surface_distance": "MeanSurfaceDistance",
    "occlusion_sensitivity": "OcclusionSensitivity",
    "root_mean_square_distance": "RootMeanSquareDistance",
}


@pytest.mark.parametrize("name", [name for name in names() if name != "auc"])
def test_a_name_gives_a_new_metric(name: str) -> None:
    one, other = (get_metric_fn(name, *ARGUMENTS.get(name, ())) for _ in range(2))
    assert isinstance(one, Metric)
    assert one is not other


def test_auc_is_a_function() -> None:
    assert get_metric_fn("auc", np.array([0.0, 1.0]), np.array([0.0, 1.0])) == 0.5


def test_an_unknown_name() -> None:
    with pytest.raises(KeyError, match="unsupported metric 'nope'; it must be one of .*'topk'"):
        get_metric_fn("nope")
    with pytest.raises(KeyError, match="unsupported metric 3"):
        get_metric_fn(3)  # type: ignore[call-overload]


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_is_left_out_says_so(name: str) -> None:
    assert name not in names()
    with pytest.raises(KeyError, match=f"'{name}' is left out of minispore. .* three methods"):
        get_metric_fn(name)
    for module in MODULES:
        with pytest.raises(ImportError, match=f"'{module}.{LEFT_OUT[name]}' is left out") as caught:
            exec(f"from {module} import {LEFT_OUT[name]}")
        assert "three methods" in str(caught.value)
        with pytest.raises(ImportError, match="is left out"):
            getattr(import_module(module), LEFT_OUT[name])


@pytest.mark.parametrize("module", MODULES)
def test_an_unknown_attribute_is_one_as_ever(module: str) -> None:
    assert not hasattr(import_module(module), "Accurracy")
    with pytest.raises(ImportError, match="cannot import name 'Accurracy'"):
        exec(f"from {module} import Accurracy")


def test_nn_has_the_same_metrics_as_train() -> None:
    for module in (nn, nn_metrics, train_metrics):
        for name in train_metrics.__all__:
            assert getattr(module, name) is getattr(train, name)
