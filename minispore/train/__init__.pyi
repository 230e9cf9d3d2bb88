# The names of the module; each is imported when it is first used.

from minispore._metrics import *
from minispore.train.amp import build_train_network as build_train_network
from minispore.train.callback import *
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
from minispore.train.serialization import *
from minispore.train.summary import SummaryRecord as SummaryRecord
