"""Where MindSpore keeps its compiler: what scripts import from there, under its names."""

from minispore.common.jit import jit

# What MindSpore 1.x calls it.
ms_function = jit

__all__ = ["jit", "ms_function"]
