# The names of the module; each is imported when it is first used.

from minispore.common.dtype import bool_ as bool_
from minispore.common.dtype import float16 as float16
from minispore.common.dtype import float32 as float32
from minispore.common.dtype import float64 as float64
from minispore.common.dtype import float_ as float_
from minispore.common.dtype import int8 as int8
from minispore.common.dtype import int16 as int16
from minispore.common.dtype import int32 as int32
from minispore.common.dtype import int64 as int64
from minispore.common.dtype import int_ as int_
from minispore.common.dtype import uint8 as uint8
from minispore.common.dtype import uint16 as uint16
from minispore.common.dtype import uint32 as uint32
from minispore.common.dtype import uint64 as uint64
from minispore.numpy._functions import *
