"""tensorpack's callbacks."""

from minispore.tensorpack.adapter import Callback, MonitorBase
from minispore.tensorpack.channel import Monitors
from minispore.tensorpack.event_writer import TFEventWriter
from minispore.tensorpack.factory import CallbackFactory
from minispore.tensorpack.hyper_params import GraphVarParam, HyperParam, ObjAttrParam
from minispore.tensorpack.json_writers import JSONLWriter, JSONWriter
from minispore.tensorpack.monitors import ScalarHistory, ScalarPrinter
from minispore.tensorpack.names import UnknownMetricError
from minispore.tensorpack.protocol import StopTraining
from minispore.tensorpack.proxy import ProxyCallback
from minispore.tensorpack.savers import MaxSaver, MinSaver, ModelSaver
from minispore.tensorpack.sending import SendMonitorData, SendStat
from minispore.tensorpack.setters import (
    HumanHyperParamSetter,
    HyperParamSetter,
    HyperParamSetterWithFunc,
    ScheduledHyperParamSetter,
    StatMonitorParamSetter,
)
from minispore.tensorpack.triggers import (
    EnableCallbackIf,
    Every,
    PeriodicCallback,
    PeriodicTrigger,
)

__all__ = [
    "GraphVarParam",
    "HyperParam",
    "ObjAttrParam",
    "MaxSaver",
    "MinSaver",
    "ModelSaver",
    "HumanHyperParamSetter",
    "HyperParamSetter",
    "HyperParamSetterWithFunc",
    "ScheduledHyperParamSetter",
    "StatMonitorParamSetter",
    "Callback",
    "CallbackFactory",
    "EnableCallbackIf",
    "Every",
    "JSONLWriter",
    "JSONWriter",
    "MonitorBase",
    "Monitors",
    "PeriodicCallback",
    "PeriodicTrigger",
    "ProxyCallback",
    "ScalarHistory",
    "ScalarPrinter",
    "SendMonitorData",
    "SendStat",
    "StopTraining",
    "TFEventWriter",
    "UnknownMetricError",
]
