"""MindSpore's training stack, small enough to read.

`import minispore as ms` gives MindSpore's top-level names; `minispore.nn`, `minispore.ops`,
`minispore.dataset` and `minispore.train` are its packages.
"""

from minispore import common as common
from minispore import ops as ops
from minispore.common import dtype as dtype
from minispore.common.context import (
    GRAPH_MODE,
    PYNATIVE_MODE,
    get_context,
    set_context,
    set_device,
)
from minispore.common.dtype import (
    bool_,
    dtype_to_nptype,
    dtype_to_pytype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    pytype_to_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from minispore.common.parameter import Parameter, ParameterTuple
from minispore.common.seed import get_seed, set_seed
from minispore.common.tensor import Tensor
from minispore.ops import GradOperation, get_grad, grad, value_and_grad

__version__ = "0.1.0"

from_numpy = Tensor.from_numpy
