"""The module that MindSpore's older scripts import as C."""

from minispore.ops.functional import (
    GradOperation,
    HyperMap,
    MultitypeFuncGraph,
    clip_by_global_norm,
    clip_by_value,
    matmul,
    ones_like,
    zeros_like,
)

__all__ = [
    "GradOperation", "HyperMap", "MultitypeFuncGraph", "clip_by_global_norm", "clip_by_value",
    "matmul", "ones_like", "zeros_like",
]  # fmt: skip
