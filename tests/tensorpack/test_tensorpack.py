"""The public names, and training with the default callbacks and monitors."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from minispore import tensorpack as tp
from minispore.tensorpack import DEFAULT_CALLBACKS, DEFAULT_MONITORS
from minispore.train import Model
from minispore.utils.unsupported import find_advice
from tests.helpers.stub_models import Batches, ConstantLoss
from tests.tensorpack.small_trainings import train_counting

# The names of tensorpack 0.11's callbacks and train.
CALLBACKS = """
BinaryClassificationStats Callback CallbackFactory CallbackToHook Callbacks CheckNumerics
ClassificationError CometMLMonitor DataParallelInferenceRunner DumpParamAsImage DumpTensor
DumpTensorAsImage DumpTensors EnableCallbackIf EstimatedTimeLeft GPUMemoryTracker
GPUUtilizationTracker GraphProfiler GraphVarParam HookToCallback HostMemoryTracker
HumanHyperParamSetter HyperParam HyperParamSetter HyperParamSetterWithFunc InferenceRunner
InferenceRunnerBase Inferencer InjectShell JSONWriter MaxSaver MergeAllSummaries MinSaver ModelSaver
MonitorBase Monitors MovingAverageSummary ObjAttrParam PeakMemoryTracker PeriodicCallback
PeriodicTrigger ProcessTensors ProgressBar ProxyCallback RunOp RunUpdateOps ScalarPrinter
ScalarStats ScheduledHyperParamSetter SendMonitorData SendStat SessionRunTimeout
SimpleMovingAverage StartProcOrThread StatMonitorParamSetter TFEventWriter TFLocalCLIDebugHook
TensorPrinter ThroughputTracker
"""
TRAIN = """
AsyncMultiGPUTrainer AutoResumeTrainConfig BytePSTrainer DEFAULT_CALLBACKS DEFAULT_MONITORS
DistributedTrainerParameterServer DistributedTrainerReplicated HorovodTrainer ModelDesc
ModelDescBase NoOpTrainer QueueInputTrainer SimpleTrainer SingleCostTrainer StopTraining
SyncMultiGPUTrainer SyncMultiGPUTrainerParameterServer SyncMultiGPUTrainerReplicated TowerTrainer
TrainConfig Trainer launch_train_with_config
"""


@pytest.mark.parametrize(("module", "names"), [(tp.callbacks, CALLBACKS), (tp.train, TRAIN)])
def test_every_name_of_tensorpack_exists_or_has_advice(module: ModuleType, names: str) -> None:
    for name in names.split():
        if name in module.__all__:
            assert getattr(tp, name) is getattr(module, name)
        else:
            assert find_advice(f"{module.__name__}.{name}") == find_advice(f"{tp.__name__}.{name}")
            assert find_advice(f"{module.__name__}.{name}"), name
    assert sum(name in module.__all__ for name in names.split()) in {50, 6}


def config(**arguments: Any) -> tp.TrainConfig:  # noqa: ANN401
    default: dict[str, Any] = {"dataflow": Batches(3), "model": Model(ConstantLoss())}
    return tp.TrainConfig(**default | arguments)


def test_configuration_trains_its_epochs_with_callbacks_before_monitors() -> None:
    calls: list[object] = []
    hook = tp.CallbackFactory(trigger=lambda cb: calls.append((cb.epoch_num, cb.global_step)))

    class Monitor(tp.MonitorBase):
        def _trigger(self) -> None:
            calls.append("monitor")

    tp.launch_train_with_config(
        config(
            callbacks=[hook, tp.ProgressBar()], monitors=[Monitor()], starting_epoch=2, max_epoch=3,
            steps_per_epoch=3,
        )
    )  # fmt: skip
    assert calls == [(2, 6), "monitor", (3, 9), "monitor"]


def test_default_callbacks_and_monitors_write_files(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train_counting(*DEFAULT_CALLBACKS(), *DEFAULT_MONITORS())
    assert {path.name.split(".")[0] for path in folder.iterdir()} == {"events", "stats"}
    rows = json.loads((folder / "stats.json").read_text("utf-8"))
    assert [row["half"] for row in rows] == [1.5, 3]
