# The names of the module; each is imported when it is first used.

from minispore.graph.jit import jit as jit
from minispore.graph.jit import ms_function as ms_function
