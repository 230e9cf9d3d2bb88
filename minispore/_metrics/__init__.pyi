# The names of the module; each is imported when it is first used.

from minispore._metrics import loss as loss
from minispore._metrics.classification import F1 as F1
from minispore._metrics.classification import Accuracy as Accuracy
from minispore._metrics.classification import Dice as Dice
from minispore._metrics.classification import Fbeta as Fbeta
from minispore._metrics.classification import Precision as Precision
from minispore._metrics.classification import Recall as Recall
from minispore._metrics.classification import Top1CategoricalAccuracy as Top1CategoricalAccuracy
from minispore._metrics.classification import Top5CategoricalAccuracy as Top5CategoricalAccuracy
from minispore._metrics.classification import TopKCategoricalAccuracy as TopKCategoricalAccuracy
from minispore._metrics.confusion import ConfusionMatrix as ConfusionMatrix
from minispore._metrics.confusion import ConfusionMatrixMetric as ConfusionMatrixMetric
from minispore._metrics.curves import ROC as ROC
from minispore._metrics.curves import auc as auc
from minispore._metrics.loss import Loss as Loss
from minispore._metrics.loss import Perplexity as Perplexity
from minispore._metrics.metric import Metric as Metric
from minispore._metrics.metric import rearrange_inputs as rearrange_inputs
from minispore._metrics.registry import get_metric_fn as get_metric_fn
from minispore._metrics.registry import names as names
from minispore._metrics.regression import MAE as MAE
from minispore._metrics.regression import MSE as MSE
from minispore._metrics.regression import CosineSimilarity as CosineSimilarity
