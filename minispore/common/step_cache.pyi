# The name of the module, which is imported when it is first used.

from minispore.graph.cache import StepCache as StepCache
