# The names of the module; each is imported when it is first used.

from minispore.ops.initializer import *
