"""MindSpore's training stack, small enough to read.

`import minispore as ms` gives MindSpore's top-level names; `minispore.nn`, `minispore.ops`,
`minispore.dataset` and `minispore.train` are its packages.

A name is imported when it is first used: a program that only differentiates functions loads
neither datasets nor callbacks, and starts that much faster. `__init__.pyi` has the same names for
type checkers; a test keeps the two alike.
"""

import sys
from importlib import import_module

__version__ = "0.1.0"

# Where each name comes from.
_HOMES = {
    "minispore": (
        "common", "communication", "context", "dataset", "nn", "ops", "tensorpack", "train",
    ),
    "minispore.common": ("dtype",),
    "minispore.common.context": (
        "GRAPH_MODE",
        "PYNATIVE_MODE",
        "get_context",
        "set_context",
        "set_device",
    ),
    "minispore.common.dtype": (
        "bool_", "byte", "double", "dtype_to_nptype", "dtype_to_pytype", "float16", "float32",
        "float64", "float_", "half", "int8", "int16", "int32", "int64", "int_", "long",
        "pytype_to_dtype", "short", "single", "ubyte", "uint", "uint8", "uint16", "uint32",
        "uint64", "ushort",
    ),
    "minispore.common.jit": ("jit",),
    "minispore.common.parallel": (
        "ParallelMode",
        "get_auto_parallel_context",
        "reset_auto_parallel_context",
        "set_auto_parallel_context",
    ),
    "minispore.common.parameter": ("Parameter", "ParameterTuple"),
    "minispore.common.seed": ("get_seed", "set_seed"),
    "minispore.common.tensor": ("Tensor", "from_numpy", "tensor"),
    "minispore.ops": ("GradOperation", "get_grad", "grad", "value_and_grad"),
    "minispore.train": (
        "F1", "MAE", "MSE", "ROC", "Accuracy", "BackupAndRestore", "Callback", "CheckpointConfig",
        "ConfusionMatrix", "ConfusionMatrixMetric", "CosineSimilarity", "Dice", "EarlyStopping",
        "Fbeta", "FlopsUtilizationCollector", "History", "LambdaCallback", "LearningRateScheduler",
        "Loss", "LossMonitor", "Metric", "Model", "ModelCheckpoint", "OnRequestExit", "Perplexity",
        "Precision", "Recall", "ReduceLROnPlateau", "RunContext", "SummaryCollector",
        "SummaryLandscape", "SummaryRecord", "TimeMonitor", "Top1CategoricalAccuracy",
        "Top5CategoricalAccuracy", "TopKCategoricalAccuracy", "async_ckpt_thread_status", "auc",
        "ckpt_to_safetensors", "get_metric_fn", "load_checkpoint", "load_checkpoint_async",
        "load_param_into_net", "names", "rearrange_inputs", "safetensors_to_ckpt",
        "save_checkpoint",
    ),
}  # fmt: skip
_HOME = {name: home for home, names in _HOMES.items() for name in names}
# MindSpore has these here, too; asked for them, `minispore.train` says what to use instead.
_LEFT_OUT = {
    "BleuScore", "ConvertModelUtils", "ConvertNetUtils", "DatasetHelper", "DynamicLossScaleManager",
    "FixedLossScaleManager", "HausdorffDistance", "LossScaleManager", "MeanSurfaceDistance",
    "OcclusionSensitivity", "RootMeanSquareDistance", "TrainFaultTolerance",
    "build_searched_strategy", "build_train_network", "connect_network_with_dataset", "data_sink",
    "export", "export_split_mindir", "get_ckpt_path_with_strategy", "load",
    "load_distributed_checkpoint", "merge_sliced_parameter", "restore_group_info_list",
}  # fmt: skip

# Type checkers read `__init__.pyi` instead.
__all__ = list(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    home = "minispore.train" if name in _LEFT_OUT else _HOME.get(name)
    if home is None:
        # With these two, Python's traceback suggests the name that was meant.
        raise AttributeError(
            f"module 'minispore' has no attribute '{name}'", name=name, obj=sys.modules[__name__]
        )
    if home in ("minispore", "minispore.common"):
        value: object = import_module(f"{home}.{name}")
    else:
        value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
