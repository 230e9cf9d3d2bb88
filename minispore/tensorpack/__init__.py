"""tensorpack's callbacks, triggers and monitors, in one list with MindSpore's.

Every one is a `minispore.train.Callback`, for `Model.train` and `Model.fit`.
"""

from minispore.tensorpack import logger
from minispore.tensorpack.adapter import Callback, MonitorBase
from minispore.tensorpack.arrays import (
    CheckNumerics,
    DumpTensors,
    MergeAllSummaries,
    MovingAverageSummary,
    ProcessTensors,
    SimpleMovingAverage,
)
from minispore.tensorpack.channel import Monitors, UnknownMetricError
from minispore.tensorpack.hyper_params import GraphVarParam, HyperParam, ObjAttrParam
from minispore.tensorpack.inference import (
    BinaryClassificationStats,
    ClassificationError,
    Inferencer,
    InferenceRunner,
    MetricInferencer,
    ScalarStats,
)
from minispore.tensorpack.json_writers import JSONLWriter, JSONWriter
from minispore.tensorpack.monitors import ScalarHistory, ScalarPrinter, TFEventWriter
from minispore.tensorpack.profiler import GraphProfiler
from minispore.tensorpack.protocol import RunValues, StopTraining, Trainer
from minispore.tensorpack.proxy import ProxyCallback
from minispore.tensorpack.running import (
    InjectShell,
    RunOp,
    RunUpdateOps,
    SendMonitorData,
    SendStat,
    StartProcOrThread,
)
from minispore.tensorpack.savers import MaxSaver, MinSaver, ModelSaver
from minispore.tensorpack.setters import (
    HumanHyperParamSetter,
    HyperParamSetter,
    HyperParamSetterWithFunc,
    ScheduledHyperParamSetter,
    StatMonitorParamSetter,
)
from minispore.tensorpack.trackers import (
    EstimatedTimeLeft,
    GPUUtilizationTracker,
    HostMemoryTracker,
    PeakMemoryTracker,
    ProgressBar,
    ThroughputTracker,
)
from minispore.tensorpack.triggers import (
    CallbackFactory,
    EnableCallbackIf,
    Every,
    PeriodicCallback,
    PeriodicTrigger,
)

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


def DEFAULT_CALLBACKS() -> list[Callback]:  # noqa: N802 (tensorpack's name)
    """Return the callbacks that a training usually has.

    Source: tensorpack.train.DEFAULT_CALLBACKS.

    >>> [type(callback).__name__ for callback in DEFAULT_CALLBACKS()]
    ['MovingAverageSummary', 'ProgressBar', 'MergeAllSummaries', 'RunUpdateOps']
    """
    return [MovingAverageSummary(), ProgressBar(), MergeAllSummaries(), RunUpdateOps()]


def DEFAULT_MONITORS() -> list[MonitorBase]:  # noqa: N802 (tensorpack's name)
    """Return the monitors that a training usually has.

    Source: tensorpack.train.DEFAULT_MONITORS.

    >>> [type(monitor).__name__ for monitor in DEFAULT_MONITORS()]
    ['TFEventWriter', 'JSONWriter', 'ScalarPrinter']
    """
    return [TFEventWriter(), JSONWriter(), ScalarPrinter()]
