"""Callbacks: those that come with the package, one file each, and the protocol they share."""

from minispore._left_out import refusing
from minispore.train._left_out import LEFT_OUT
from minispore.train.callback._backup_and_restore import BackupAndRestore
from minispore.train.callback._best_checkpoint import BestCheckpoint
from minispore.train.callback._callback import (
    Callback,
    RunContext,
    _CallbackManager,
    _InternalCallbackParam,
)
from minispore.train.callback._checkpoint import ModelCheckpoint
from minispore.train.callback._checkpoint_config import CheckpointConfig
from minispore.train.callback._early_stopping import EarlyStopping
from minispore.train.callback._flops_collector import FlopsUtilizationCollector
from minispore.train.callback._history import History
from minispore.train.callback._lambda_callback import LambdaCallback
from minispore.train.callback._learning_rate_scheduler import LearningRateScheduler
from minispore.train.callback._loss_monitor import LossMonitor
from minispore.train.callback._on_request_exit import OnRequestExit
from minispore.train.callback._reduce_lr_on_plateau import ReduceLROnPlateau
from minispore.train.callback._summary_collector import SummaryCollector
from minispore.train.callback._summary_landscape import SummaryLandscape
from minispore.train.callback._time_monitor import TimeMonitor

__all__ = [
    "FlopsUtilizationCollector",
    "BackupAndRestore",
    "BestCheckpoint",
    "Callback",
    "CheckpointConfig",
    "EarlyStopping",
    "History",
    "LambdaCallback",
    "LearningRateScheduler",
    "LossMonitor",
    "ModelCheckpoint",
    "OnRequestExit",
    "ReduceLROnPlateau",
    "RunContext",
    "SummaryCollector",
    "SummaryLandscape",
    "TimeMonitor",
    "_CallbackManager",
    "_InternalCallbackParam",
]

# In a dictionary, since a definition would tell type checkers that there is every attribute.
globals()["__getattr__"] = refusing(__name__, LEFT_OUT)
