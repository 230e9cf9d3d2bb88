"""Names of numpy's array types, by the type of their elements.

`HostArray` has elements of a type that only the program knows.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

HostArray = NDArray[Any]
AnyArray = NDArray[np.generic]
UInt8Array = NDArray[np.uint8]
Int64Array = NDArray[np.int64]
IndexArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]
Float32Array = NDArray[np.float32]
Float64Array = NDArray[np.float64]
