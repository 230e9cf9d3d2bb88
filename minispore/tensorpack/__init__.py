"""tensorpack's callbacks, triggers and monitors, for use in one list with MindSpore's.

Each of them is a `minispore.train.Callback`, for `Model.train` and `Model.fit`.
"""

from minispore.tensorpack import logger
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
from minispore.tensorpack.protocol import (
    Monitors,
    RunValues,
    StopTraining,
    Trainer,
    UnknownMetricError,
)
from minispore.tensorpack.savers import MaxSaver, MinSaver, ModelSaver
from minispore.tensorpack.tensors import (
    CheckNumerics,
    DumpTensors,
    MergeAllSummaries,
    MovingAverageSummary,
    ProcessTensors,
    SimpleMovingAverage,
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
from minispore.utils.unsupported import module_attributes

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

globals()["__getattr__"], globals()["__dir__"] = module_attributes(__name__)


def DEFAULT_CALLBACKS() -> list[Callback]:  # noqa: N802 (tensorpack's name)
    """Return the callbacks that most trainings use.

    Returns:
        New callbacks, with tensorpack's settings.

    Examples:
        >>> [type(callback).__name__ for callback in DEFAULT_CALLBACKS()]
        ['MovingAverageSummary', 'ProgressBar', 'MergeAllSummaries', 'RunUpdateOps']

    Source: tensorpack's `train.DEFAULT_CALLBACKS`.
    """
    return [MovingAverageSummary(), ProgressBar(), MergeAllSummaries(), RunUpdateOps()]


def DEFAULT_MONITORS() -> list[MonitorBase]:  # noqa: N802 (tensorpack's name)
    """Return the monitors that most trainings use.

    Returns:
        New monitors, with tensorpack's settings.

    Examples:
        >>> [type(monitor).__name__ for monitor in DEFAULT_MONITORS()]
        ['TFEventWriter', 'JSONWriter', 'ScalarPrinter']

    Source: tensorpack's `train.DEFAULT_MONITORS`.
    """
    return [TFEventWriter(), JSONWriter(), ScalarPrinter()]
