# The names of the module; each is imported when it is first used.

from minispore._metrics import *
from minispore.train.amp import build_train_network as build_train_network
from minispore.train.callback import *
from minispore.train.checkpoint.conversion import ckpt_to_safetensors as ckpt_to_safetensors
from minispore.train.checkpoint.conversion import safetensors_to_ckpt as safetensors_to_ckpt
from minispore.train.checkpoint.load_into_net import load_param_into_net as load_param_into_net
from minispore.train.checkpoint.loading import load_checkpoint as load_checkpoint
from minispore.train.checkpoint.loading import load_checkpoint_async as load_checkpoint_async
from minispore.train.checkpoint.saving import async_ckpt_thread_status as async_ckpt_thread_status
from minispore.train.checkpoint.saving import save_checkpoint as save_checkpoint
from minispore.train.checkpoint.saving import wait_for_saves as wait_for_saves
from minispore.train.dataset_helper import DatasetHelper as DatasetHelper
from minispore.train.loss_scale_manager import DynamicLossScaleManager as DynamicLossScaleManager
from minispore.train.loss_scale_manager import FixedLossScaleManager as FixedLossScaleManager
from minispore.train.loss_scale_manager import LossScaleManager as LossScaleManager
from minispore.train.model import Model as Model
from minispore.train.protocol import Callback as Callback
from minispore.train.protocol import CallbackManager as CallbackManager
from minispore.train.protocol import DatasetLike as DatasetLike
from minispore.train.protocol import InternalCallbackParam as InternalCallbackParam
from minispore.train.protocol import RunContext as RunContext
from minispore.train.protocol import SaveReason as SaveReason
from minispore.train.protocol import StateSaver as StateSaver
from minispore.train.protocol import SupportsState as SupportsState
from minispore.train.protocol import TrainingState as TrainingState
from minispore.train.summary import SummaryRecord as SummaryRecord
