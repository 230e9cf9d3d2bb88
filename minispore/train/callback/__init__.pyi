# The names of the module; each is imported when it is first used.

from minispore.train.callback._backup_and_restore import BackupAndRestore as BackupAndRestore
from minispore.train.callback._best_checkpoint import BestCheckpoint as BestCheckpoint
from minispore.train.callback._callback import Callback as Callback
from minispore.train.callback._callback import RunContext as RunContext
from minispore.train.callback._callback import _CallbackManager as _CallbackManager
from minispore.train.callback._callback import _InternalCallbackParam as _InternalCallbackParam
from minispore.train.callback._checkpoint import CheckpointConfig as CheckpointConfig
from minispore.train.callback._checkpoint import ModelCheckpoint as ModelCheckpoint
from minispore.train.callback._csv_logger import CSVLogger as CSVLogger
from minispore.train.callback._early_stopping import EarlyStopping as EarlyStopping
from minispore.train.callback._flops_collector import (
    FlopsUtilizationCollector as FlopsUtilizationCollector,
)
from minispore.train.callback._history import History as History
from minispore.train.callback._lambda_callback import LambdaCallback as LambdaCallback
from minispore.train.callback._learning_rate_scheduler import (
    LearningRateScheduler as LearningRateScheduler,
)
from minispore.train.callback._loss_monitor import LossMonitor as LossMonitor
from minispore.train.callback._on_request_exit import OnRequestExit as OnRequestExit
from minispore.train.callback._progress_bar import ProgressBar as ProgressBar
from minispore.train.callback._reduce_lr_on_plateau import ReduceLROnPlateau as ReduceLROnPlateau
from minispore.train.callback._summary_collector import SummaryCollector as SummaryCollector
from minispore.train.callback._summary_landscape import SummaryLandscape as SummaryLandscape
from minispore.train.callback._terminate_on_nan import TerminateOnNaN as TerminateOnNaN
from minispore.train.callback._time_monitor import TimeMonitor as TimeMonitor
from minispore.train.callback._weight_averaging import WeightAveraging as WeightAveraging
