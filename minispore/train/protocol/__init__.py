"""The callback protocol: the events of a run, the run context, callback managers, and state saving.

A callback, a callback that saves checkpoints, or another callback API needs no other module.
"""

from minispore.train.checkpoint.retention import RetainedFiles as RetainedFiles
from minispore.train.protocol.callback import EVENTS as EVENTS
from minispore.train.protocol.callback import Callback as Callback
from minispore.train.protocol.callback import CallbackEvent as CallbackEvent
from minispore.train.protocol.callback import CallbackManager as CallbackManager
from minispore.train.protocol.callback import Hook as Hook
from minispore.train.protocol.callback import InternalCallbackParam as InternalCallbackParam
from minispore.train.protocol.callback import RunContext as RunContext
from minispore.train.protocol.callback import SaveReason as SaveReason
from minispore.train.protocol.callback import StateSaver as StateSaver
from minispore.train.protocol.callback import flatten_callbacks as flatten_callbacks
from minispore.train.protocol.callback import hook_for as hook_for
from minispore.train.protocol.callback import make_callback_manager as make_callback_manager
from minispore.train.protocol.callback import manager_class as manager_class
from minispore.train.protocol.callback import overrides as overrides
from minispore.train.protocol.callback import reject_legacy_hooks as reject_legacy_hooks
from minispore.train.protocol.dataset import BatchIterable as BatchIterable
from minispore.train.protocol.dataset import DatasetLike as DatasetLike
from minispore.train.protocol.dataset import EpochIterator as EpochIterator
from minispore.train.protocol.dataset import SupportsState as SupportsState
from minispore.train.protocol.dataset import check_dataset as check_dataset
from minispore.train.protocol.learning_rate import as_float32 as as_float32
from minispore.train.protocol.learning_rate import learning_rate_of as learning_rate_of
from minispore.train.protocol.monitor import MonitoredMetric as MonitoredMetric
from minispore.train.protocol.outputs import PendingDeviceValues as PendingDeviceValues
from minispore.train.protocol.outputs import as_array as as_array
from minispore.train.protocol.outputs import first_output as first_output
from minispore.train.protocol.outputs import is_finite as is_finite
from minispore.train.protocol.outputs import is_on_device as is_on_device
from minispore.train.protocol.outputs import shortest_float as shortest_float
from minispore.train.protocol.training_state import TrainingState as TrainingState
