"""The module from which MindSpore's scripts import the names of its compiler."""

from minispore.graph.jit import jit

# The name in MindSpore 1.x.
ms_function = jit

__all__ = ["jit", "ms_function"]
