# The names of the module; each is imported when it is first used.

from minispore.ops.parameter import Parameter as Parameter
from minispore.ops.parameter import ParameterTuple as ParameterTuple
