"""tensorpack's callbacks, triggers and monitors, in one list with MindSpore's.

Every one is a `minispore.train.Callback`, for `Model.train` and `Model.fit`.
"""

from minispore.tensorpack import logger
from minispore.tensorpack.adapter import Callback, MonitorBase
from minispore.tensorpack.arrays import CheckNumerics, DumpTensors, ProcessTensors
from minispore.tensorpack.averages import (
    MergeAllSummaries,
    MovingAverageSummary,
    SimpleMovingAverage,
)
from minispore.tensorpack.channel import Monitors
from minispore.tensorpack.clocks import EstimatedTimeLeft, ThroughputTracker
from minispore.tensorpack.defaults import DEFAULT_CALLBACKS, DEFAULT_MONITORS
from minispore.tensorpack.event_writer import TFEventWriter
from minispore.tensorpack.factory import CallbackFactory
from minispore.tensorpack.hyper_params import GraphVarParam, HyperParam, ObjAttrParam
from minispore.tensorpack.inference import InferenceRunner
from minispore.tensorpack.inferencers import (
    BinaryClassificationStats,
    ClassificationError,
    Inferencer,
    MetricInferencer,
    ScalarStats,
)
from minispore.tensorpack.json_writers import JSONLWriter, JSONWriter
from minispore.tensorpack.monitors import ScalarHistory, ScalarPrinter
from minispore.tensorpack.names import UnknownMetricError
from minispore.tensorpack.profiler import GraphProfiler
from minispore.tensorpack.progress import ProgressBar
from minispore.tensorpack.protocol import StopTraining
from minispore.tensorpack.proxy import ProxyCallback
from minispore.tensorpack.running import RunOp, RunUpdateOps, StartProcOrThread
from minispore.tensorpack.savers import MaxSaver, MinSaver, ModelSaver
from minispore.tensorpack.sending import SendMonitorData, SendStat
from minispore.tensorpack.setters import (
    HumanHyperParamSetter,
    HyperParamSetter,
    HyperParamSetterWithFunc,
    ScheduledHyperParamSetter,
    StatMonitorParamSetter,
)
from minispore.tensorpack.shell import InjectShell
from minispore.tensorpack.trackers import (
    GPUUtilizationTracker,
    HostMemoryTracker,
    PeakMemoryTracker,
)
from minispore.tensorpack.trainer import RunValues, Trainer
from minispore.tensorpack.triggers import EnableCallbackIf, Every, PeriodicCallback, PeriodicTrigger

__all__ = [
    "BinaryClassificationStats", "Callback", "CallbackFactory", "CheckNumerics",
    "ClassificationError", "DEFAULT_CALLBACKS", "DEFAULT_MONITORS", "DumpTensors",
    "EnableCallbackIf", "EstimatedTimeLeft", "Every", "GPUUtilizationTracker", "GraphProfiler",
    "GraphVarParam", "HostMemoryTracker", "HumanHyperParamSetter", "HyperParam",
    "HyperParamSetter", "HyperParamSetterWithFunc", "InferenceRunner", "Inferencer",
    "InjectShell", "JSONLWriter", "JSONWriter", "MaxSaver", "MergeAllSummaries",
    "MetricInferencer", "MinSaver", "ModelSaver", "MonitorBase", "Monitors",
    "MovingAverageSummary", "ObjAttrParam", "PeakMemoryTracker", "PeriodicCallback",
    "PeriodicTrigger", "ProcessTensors", "ProgressBar", "ProxyCallback", "RunOp",
    "RunUpdateOps", "RunValues", "ScalarHistory", "ScalarPrinter", "ScalarStats",
    "ScheduledHyperParamSetter", "SendMonitorData", "SendStat", "SimpleMovingAverage",
    "StartProcOrThread", "StatMonitorParamSetter", "StopTraining", "TFEventWriter",
    "ThroughputTracker", "Trainer", "UnknownMetricError", "logger",
]  # fmt: skip
