"""Training: `Model`, callbacks, metrics and checkpoints, under MindSpore's names."""

from minispore._left_out import refusing
from minispore._metrics._left_out import LEFT_OUT
from minispore.train.callback import (
    Callback,
    CheckpointConfig,
    LossMonitor,
    ModelCheckpoint,
    RunContext,
    TimeMonitor,
)
from minispore.train.metrics import (
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
from minispore.train.model import Model
from minispore.train.serialization import load_checkpoint, load_param_into_net, save_checkpoint

__all__ = [
    "F1",
    "MAE",
    "MSE",
    "ROC",
    "Accuracy",
    "Callback",
    "CheckpointConfig",
    "ConfusionMatrix",
    "ConfusionMatrixMetric",
    "CosineSimilarity",
    "Dice",
    "Fbeta",
    "Loss",
    "LossMonitor",
    "Metric",
    "Model",
    "ModelCheckpoint",
    "Perplexity",
    "Precision",
    "Recall",
    "RunContext",
    "TimeMonitor",
    "Top1CategoricalAccuracy",
    "Top5CategoricalAccuracy",
    "TopKCategoricalAccuracy",
    "auc",
    "get_metric_fn",
    "load_checkpoint",
    "load_param_into_net",
    "names",
    "rearrange_inputs",
    "save_checkpoint",
]

# In a dictionary, since a definition would tell type checkers that there is every attribute.
globals()["__getattr__"] = refusing(__name__, LEFT_OUT)
