"""Array namespaces and devices: the protocol of array libraries, and numpy and CuPy as backends.

A derivative rule obtains the functions of an array's library by `namespace(x)` and so runs on each
of them. `register_namespace` adds an array type, and `register_backend` a device.

Examples:
    >>> import numpy as np
    >>> x = np.array([0.0, 1.0])
    >>> namespace(x).maximum(x, 0.5).tolist()
    [0.5, 1.0]
"""

from minispore.engine.array._numpy import is_by_columns as is_by_columns
from minispore.engine.array.capture_hooks import commit_numbers as commit_numbers
from minispore.engine.array.capture_hooks import host_branch as host_branch
from minispore.engine.array.capture_hooks import host_check as host_check
from minispore.engine.array.capture_hooks import host_numbers as host_numbers
from minispore.engine.array.capture_hooks import host_values as host_values
from minispore.engine.array.device import NUMPY_TYPES as NUMPY_TYPES
from minispore.engine.array.device import DeviceTarget as DeviceTarget
from minispore.engine.array.device import address_of as address_of
from minispore.engine.array.device import as_buffer as as_buffer
from minispore.engine.array.device import bytes_of as bytes_of
from minispore.engine.array.device import copied_together as copied_together
from minispore.engine.array.device import current_namespace as current_namespace
from minispore.engine.array.device import device_namespace as device_namespace
from minispore.engine.array.device import device_of as device_of
from minispore.engine.array.device import device_target as device_target
from minispore.engine.array.device import dlpack_device as dlpack_device
from minispore.engine.array.device import ensure_owned as ensure_owned
from minispore.engine.array.device import from_dlpack as from_dlpack
from minispore.engine.array.device import from_host as from_host
from minispore.engine.array.device import is_host as is_host
from minispore.engine.array.device import is_ndarray as is_ndarray
from minispore.engine.array.device import namespace as namespace
from minispore.engine.array.device import register_backend as register_backend
from minispore.engine.array.device import register_namespace as register_namespace
from minispore.engine.array.device import root_of as root_of
from minispore.engine.array.device import set_device_target as set_device_target
from minispore.engine.array.device import to_device as to_device
from minispore.engine.array.device import to_device_of as to_device_of
from minispore.engine.array.device import to_dlpack as to_dlpack
from minispore.engine.array.device import to_host as to_host
from minispore.engine.array.protocol import A as A
from minispore.engine.array.protocol import Array as Array
from minispore.engine.array.protocol import ArrayBackend as ArrayBackend
from minispore.engine.array.protocol import Axis as Axis
from minispore.engine.array.protocol import DeviceNamespace as DeviceNamespace
from minispore.engine.array.protocol import Namespace as Namespace
from minispore.engine.array.protocol import Shape as Shape
from minispore.engine.array.protocol import SupportsDLPack as SupportsDLPack
from minispore.utils.arrays import HostArray as HostArray
