"""Training: `Model`, callbacks, metrics and checkpoints, with MindSpore's names."""

from minispore._metrics import *  # noqa: F403
from minispore.train.amp import build_train_network as build_train_network
from minispore.train.callback import BackupAndRestore as BackupAndRestore
from minispore.train.callback import BestCheckpoint as BestCheckpoint
from minispore.train.callback import Callback as Callback
from minispore.train.callback import CheckpointConfig as CheckpointConfig
from minispore.train.callback import CSVLogger as CSVLogger
from minispore.train.callback import EarlyStopping as EarlyStopping
from minispore.train.callback import FlopsUtilizationCollector as FlopsUtilizationCollector
from minispore.train.callback import History as History
from minispore.train.callback import LambdaCallback as LambdaCallback
from minispore.train.callback import LearningRateScheduler as LearningRateScheduler
from minispore.train.callback import LossMonitor as LossMonitor
from minispore.train.callback import ModelCheckpoint as ModelCheckpoint
from minispore.train.callback import OnRequestExit as OnRequestExit
from minispore.train.callback import ProgressBar as ProgressBar
from minispore.train.callback import ReduceLROnPlateau as ReduceLROnPlateau
from minispore.train.callback import RunContext as RunContext
from minispore.train.callback import SummaryCollector as SummaryCollector
from minispore.train.callback import SummaryLandscape as SummaryLandscape
from minispore.train.callback import TerminateOnNaN as TerminateOnNaN
from minispore.train.callback import TimeMonitor as TimeMonitor
from minispore.train.callback import WeightAveraging as WeightAveraging
from minispore.train.dataset_helper import DatasetHelper as DatasetHelper
from minispore.train.loss_scale_manager import DynamicLossScaleManager as DynamicLossScaleManager
from minispore.train.loss_scale_manager import FixedLossScaleManager as FixedLossScaleManager
from minispore.train.loss_scale_manager import LossScaleManager as LossScaleManager
from minispore.train.model import Model as Model
from minispore.train.protocol import CallbackManager as CallbackManager
from minispore.train.protocol import DatasetLike as DatasetLike
from minispore.train.protocol import InternalCallbackParam as InternalCallbackParam
from minispore.train.protocol import SaveReason as SaveReason
from minispore.train.protocol import StateSaver as StateSaver
from minispore.train.protocol import SupportsState as SupportsState
from minispore.train.protocol import TrainingState as TrainingState
from minispore.train.serialization import *  # noqa: F403
from minispore.train.summary import SummaryRecord as SummaryRecord

# Functions that are not exported here are called by those that a program calls.
_IS_FACADE = True
