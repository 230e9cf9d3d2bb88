"""tensorpack's callbacks."""

from minispore.tensorpack.adapter import Callback, MonitorBase
from minispore.tensorpack.factory import CallbackFactory
from minispore.tensorpack.protocol import StopTraining
from minispore.tensorpack.proxy import ProxyCallback
from minispore.tensorpack.triggers import (
    EnableCallbackIf,
    Every,
    PeriodicCallback,
    PeriodicTrigger,
)

__all__ = [
    "Callback",
    "CallbackFactory",
    "EnableCallbackIf",
    "Every",
    "MonitorBase",
    "PeriodicCallback",
    "PeriodicTrigger",
    "ProxyCallback",
    "StopTraining",
]
