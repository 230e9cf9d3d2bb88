# The names of the module; each is imported when it is first used.

from minispore.engine.array import Array as Array
from minispore.engine.array import ArrayBackend as ArrayBackend
from minispore.engine.array import DeviceNamespace as DeviceNamespace
from minispore.engine.array import Namespace as Namespace
from minispore.engine.array import namespace as namespace
from minispore.engine.array import register_backend as register_backend
from minispore.engine.array import register_namespace as register_namespace
from minispore.engine.dispatch import Variable as Variable
from minispore.engine.dispatch import apply_rule as apply_rule
from minispore.engine.dtypes import DType as DType
from minispore.engine.graph import Node as Node
from minispore.engine.graph import backward_pass as backward_pass
from minispore.engine.graph import is_recording as is_recording
from minispore.engine.graph import record as record
from minispore.engine.rules import Pullback as Pullback
from minispore.engine.rules.normal import erf as erf
from minispore.engine.rules.normal import erfc as erfc
from minispore.engine.rules.normal import normal_cdf as normal_cdf
