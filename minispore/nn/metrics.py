"""The metrics under the name that older releases have for them: `nn.metrics`, `nn.Accuracy`."""

from minispore._left_out import refusing
from minispore._metrics import (
    F1,
    MAE,
    MSE,
    ROC,
    Accuracy,
    ConfusionMatrix,
    ConfusionMatrixMetric,
    CosineSimilarity,
    Dice,
    Fbeta,
    Loss,
    Metric,
    Perplexity,
    Precision,
    Recall,
    Top1CategoricalAccuracy,
    Top5CategoricalAccuracy,
    TopKCategoricalAccuracy,
    auc,
    get_metric_fn,
    names,
    rearrange_inputs,
)
from minispore._metrics._left_out import LEFT_OUT

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

# In a dictionary, since a definition would tell type checkers that there is every attribute.
globals()["__getattr__"] = refusing(__name__, LEFT_OUT)
