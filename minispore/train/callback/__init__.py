"""The callbacks of the package, one per module, and their base class."""

from minispore.train.callback._backup_and_restore import BackupAndRestore
from minispore.train.callback._best_checkpoint import BestCheckpoint
from minispore.train.callback._callback import (
    Callback,
    RunContext,
    _CallbackManager,
    _InternalCallbackParam,
)
from minispore.train.callback._checkpoint import CheckpointConfig, ModelCheckpoint
from minispore.train.callback._csv_logger import CSVLogger
from minispore.train.callback._early_stopping import EarlyStopping
from minispore.train.callback._flops_collector import FlopsUtilizationCollector
from minispore.train.callback._history import History
from minispore.train.callback._lambda_callback import LambdaCallback
from minispore.train.callback._learning_rate_scheduler import LearningRateScheduler
from minispore.train.callback._loss_monitor import LossMonitor
from minispore.train.callback._on_request_exit import OnRequestExit
from minispore.train.callback._progress_bar import ProgressBar
from minispore.train.callback._reduce_lr_on_plateau import ReduceLROnPlateau
from minispore.train.callback._summary_collector import SummaryCollector
from minispore.train.callback._summary_landscape import SummaryLandscape
from minispore.train.callback._terminate_on_nan import TerminateOnNaN
from minispore.train.callback._time_monitor import TimeMonitor
from minispore.train.callback._weight_averaging import WeightAveraging

__all__ = [
    "FlopsUtilizationCollector",
    "BackupAndRestore",
    "BestCheckpoint",
    "Callback",
    "CSVLogger",
    "CheckpointConfig",
    "EarlyStopping",
    "History",
    "LambdaCallback",
    "LearningRateScheduler",
    "LossMonitor",
    "ModelCheckpoint",
    "OnRequestExit",
    "ProgressBar",
    "ReduceLROnPlateau",
    "RunContext",
    "SummaryCollector",
    "SummaryLandscape",
    "TerminateOnNaN",
    "TimeMonitor",
    "WeightAveraging",
    "_CallbackManager",
    "_InternalCallbackParam",
]
