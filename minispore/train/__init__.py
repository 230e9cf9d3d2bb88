"""Training: `Model`, callbacks, metrics and checkpoints, with MindSpore's names."""

from minispore import _metrics
from minispore._metrics import *  # noqa: F403
from minispore.train import serialization
from minispore.train.amp import build_train_network
from minispore.train.callback import (
    BackupAndRestore,
    BestCheckpoint,
    Callback,
    CheckpointConfig,
    CSVLogger,
    EarlyStopping,
    FlopsUtilizationCollector,
    History,
    LambdaCallback,
    LearningRateScheduler,
    LossMonitor,
    ModelCheckpoint,
    OnRequestExit,
    ProgressBar,
    ReduceLROnPlateau,
    RunContext,
    SummaryCollector,
    SummaryLandscape,
    TerminateOnNaN,
    TimeMonitor,
    WeightAveraging,
)
from minispore.train.dataset_helper import DatasetHelper
from minispore.train.loss_scale_manager import (
    DynamicLossScaleManager,
    FixedLossScaleManager,
    LossScaleManager,
)
from minispore.train.model import Model
from minispore.train.protocol import (
    CallbackManager,
    DatasetLike,
    InternalCallbackParam,
    SaveReason,
    StateSaver,
    SupportsState,
    TrainingState,
)
from minispore.train.serialization import *  # noqa: F403
from minispore.train.summary import SummaryRecord

__all__: list[str] = [
    "BackupAndRestore",
    "BestCheckpoint",
    "Callback",
    "CSVLogger",
    "CallbackManager",
    "CheckpointConfig",
    "DatasetHelper",
    "DatasetLike",
    "DynamicLossScaleManager",
    "EarlyStopping",
    "FixedLossScaleManager",
    "FlopsUtilizationCollector",
    "History",
    "InternalCallbackParam",
    "LambdaCallback",
    "LearningRateScheduler",
    "LossMonitor",
    "LossScaleManager",
    "Model",
    "ModelCheckpoint",
    "OnRequestExit",
    "ProgressBar",
    "ReduceLROnPlateau",
    "RunContext",
    "SaveReason",
    "StateSaver",
    "SummaryCollector",
    "SummaryLandscape",
    "SummaryRecord",
    "SupportsState",
    "TerminateOnNaN",
    "TimeMonitor",
    "WeightAveraging",
    "TrainingState",
    "build_train_network",
]
__all__ += _metrics.__all__
__all__ += serialization.__all__
