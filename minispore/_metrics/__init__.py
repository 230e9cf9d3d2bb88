"""Metrics, which measure the quality of predictions batch by batch."""

from minispore._metrics.classification import (
    F1,
    Accuracy,
    Dice,
    Fbeta,
    Precision,
    Recall,
    Top1CategoricalAccuracy,
    Top5CategoricalAccuracy,
    TopKCategoricalAccuracy,
)
from minispore._metrics.confusion import ConfusionMatrix, ConfusionMatrixMetric
from minispore._metrics.curves import ROC, auc
from minispore._metrics.loss import Loss, Perplexity
from minispore._metrics.metric import Metric, rearrange_inputs
from minispore._metrics.names import get_metric_fn, names
from minispore._metrics.regression import MAE, MSE, CosineSimilarity

__all__ = [
    "F1",
    "MAE",
    "MSE",
    "ROC",
    "Accuracy",
    "ConfusionMatrix",
    "ConfusionMatrixMetric",
    "CosineSimilarity",
    "Dice",
    "Fbeta",
    "Loss",
    "Metric",
    "Perplexity",
    "Precision",
    "Recall",
    "Top1CategoricalAccuracy",
    "Top5CategoricalAccuracy",
    "TopKCategoricalAccuracy",
    "auc",
    "get_metric_fn",
    "names",
    "rearrange_inputs",
]
