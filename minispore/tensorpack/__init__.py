"""tensorpack's callbacks."""

from minispore.tensorpack.adapter import Callback, MonitorBase
from minispore.tensorpack.protocol import StopTraining

__all__ = ["Callback", "MonitorBase", "StopTraining"]
