"""All callbacks, triggers and monitors; tensorpack's import path of them."""

from typing import TYPE_CHECKING

from minispore.tensorpack.adapter import Callback, MonitorBase
from minispore.tensorpack.external import (
    InjectShell,
    RunOp,
    RunUpdateOps,
    SendMonitorData,
    SendStat,
    StartProcOrThread,
)
from minispore.tensorpack.inference import (
    BinaryClassificationStats,
    ClassificationError,
    Inferencer,
    InferenceRunner,
    MetricInferencer,
    ScalarStats,
)
from minispore.tensorpack.monitors import (
    JSONLWriter,
    JSONWriter,
    ScalarHistory,
    ScalarPrinter,
    TFEventWriter,
)
from minispore.tensorpack.param import (
    GraphVarParam,
    HumanHyperParamSetter,
    HyperParam,
    HyperParamSetter,
    HyperParamSetterWithFunc,
    ObjAttrParam,
    ScheduledHyperParamSetter,
    StatMonitorParamSetter,
)
from minispore.tensorpack.protocol import Monitors
from minispore.tensorpack.savers import MaxSaver, MinSaver, ModelSaver
from minispore.tensorpack.tensors import (
    CheckNumerics,
    DumpParamAsImage,
    DumpTensor,
    DumpTensorAsImage,
    DumpTensors,
    MergeAllSummaries,
    MovingAverageSummary,
    ProcessTensors,
    SimpleMovingAverage,
    TensorPrinter,
)
from minispore.tensorpack.trackers import (
    EstimatedTimeLeft,
    GPUUtilizationTracker,
    GraphProfiler,
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
    ProxyCallback,
)
from minispore.utils.facade import facade

if not TYPE_CHECKING:  # type checkers take it for a definition of every name
    __getattr__, __dir__ = facade(__name__)

__all__ = [
    "BinaryClassificationStats", "Callback", "CallbackFactory", "CheckNumerics",
    "ClassificationError", "DumpParamAsImage", "DumpTensor", "DumpTensorAsImage", "DumpTensors",
    "EnableCallbackIf", "EstimatedTimeLeft", "Every", "GPUUtilizationTracker", "GraphProfiler",
    "GraphVarParam", "HostMemoryTracker", "HumanHyperParamSetter", "HyperParam", "HyperParamSetter",
    "HyperParamSetterWithFunc", "InferenceRunner", "Inferencer", "InjectShell", "JSONLWriter",
    "JSONWriter", "MaxSaver", "MergeAllSummaries", "MetricInferencer", "MinSaver", "ModelSaver",
    "MonitorBase", "Monitors", "MovingAverageSummary", "ObjAttrParam", "PeakMemoryTracker",
    "PeriodicCallback", "PeriodicTrigger", "ProcessTensors", "ProgressBar", "ProxyCallback",
    "RunOp", "RunUpdateOps", "ScalarHistory", "ScalarPrinter", "ScalarStats",
    "ScheduledHyperParamSetter", "SendMonitorData", "SendStat", "SimpleMovingAverage",
    "StartProcOrThread", "StatMonitorParamSetter", "TFEventWriter", "TensorPrinter",
    "ThroughputTracker",
]  # fmt: skip
