"""Floor 5: metrics, the measures of quality that an evaluation takes batch by batch."""

from minispore._metrics._accuracy import Accuracy
from minispore._metrics._auc import auc
from minispore._metrics._confusion_matrix import ConfusionMatrix
from minispore._metrics._confusion_matrix_metric import ConfusionMatrixMetric
from minispore._metrics._cosine_similarity import CosineSimilarity
from minispore._metrics._dice import Dice
from minispore._metrics._fbeta import F1, Fbeta
from minispore._metrics._loss import Loss
from minispore._metrics._mae import MAE
from minispore._metrics._metric import Metric, rearrange_inputs
from minispore._metrics._mse import MSE
from minispore._metrics._names import get_metric_fn, names
from minispore._metrics._perplexity import Perplexity
from minispore._metrics._precision import Precision
from minispore._metrics._recall import Recall
from minispore._metrics._roc import ROC
from minispore._metrics._topk import (
    Top1CategoricalAccuracy,
    Top5CategoricalAccuracy,
    TopKCategoricalAccuracy,
)

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
