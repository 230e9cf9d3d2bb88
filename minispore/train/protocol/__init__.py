"""The callback protocol: the events of a run, the run context, callback managers, and state saving.

A callback, a callback that saves checkpoints, or another callback API needs no other module.
"""

from minispore.train.checkpoint.retention import RetainedFiles
from minispore.train.protocol.callback import (
    EVENTS,
    Callback,
    CallbackManager,
    Event,
    Hook,
    flatten_callbacks,
    hook_for,
    make_callback_manager,
    manager_class,
    overrides,
    reject_legacy_hooks,
)
from minispore.train.protocol.dataset import (
    BatchIterable,
    DatasetLike,
    EpochIterator,
    SupportsState,
    check_dataset,
)
from minispore.train.protocol.learning_rate import as_float32, learning_rate_of
from minispore.train.protocol.monitor import (
    MonitoredMetric,
    as_array,
    first_output,
    is_finite,
    shortest_float,
)
from minispore.train.protocol.pending_values import PendingDeviceValues, is_on_device
from minispore.train.protocol.run_context import (
    InternalCallbackParam,
    RunContext,
    SaveReason,
    StateSaver,
)
from minispore.train.resume.training_state import TrainingState

__all__ = [
    "EVENTS",
    "Callback",
    "CallbackManager",
    "BatchIterable",
    "DatasetLike",
    "EpochIterator",
    "Event",
    "Hook",
    "InternalCallbackParam",
    "MonitoredMetric",
    "PendingDeviceValues",
    "RetainedFiles",
    "RunContext",
    "SaveReason",
    "StateSaver",
    "SupportsState",
    "TrainingState",
    "as_array",
    "as_float32",
    "check_dataset",
    "first_output",
    "flatten_callbacks",
    "hook_for",
    "is_finite",
    "is_on_device",
    "learning_rate_of",
    "make_callback_manager",
    "manager_class",
    "overrides",
    "reject_legacy_hooks",
    "shortest_float",
]


def __dir__() -> list[str]:
    return sorted(__all__)
