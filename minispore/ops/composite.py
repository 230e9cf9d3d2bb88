"""The module that MindSpore's older scripts import as C."""

from minispore.ops.functional import GradOperation, matmul, ones_like, zeros_like

__all__ = ["GradOperation", "matmul", "ones_like", "zeros_like"]
