"""Array namespaces and devices: the protocol of array libraries, and numpy and CuPy as backends.

A derivative rule obtains the functions of an array's library by `namespace(x)` and so runs on each
of them. `register_namespace` adds an array type, and `register_backend` a device.

Examples:
    >>> import numpy as np
    >>> x = np.array([0.0, 1.0])
    >>> namespace(x).maximum(x, 0.5).tolist()
    [0.5, 1.0]
"""

from minispore.engine.array._numpy import is_by_columns
from minispore.engine.array.device import (
    NUMPY_TYPES,
    DeviceTarget,
    as_buffer,
    current_namespace,
    device_namespace,
    device_of,
    device_target,
    dlpack_device,
    ensure_owned,
    from_dlpack,
    from_host,
    is_host,
    is_ndarray,
    namespace,
    register_backend,
    register_namespace,
    set_device_target,
    to_device,
    to_device_of,
    to_dlpack,
    to_host,
)
from minispore.engine.array.host import decide, host_advance, host_numbers, host_values, require
from minispore.engine.array.protocol import (
    A,
    Array,
    ArrayBackend,
    Axis,
    DeviceNamespace,
    HostArray,
    Namespace,
    Shape,
    SupportsDLPack,
)

__all__ = [
    "NUMPY_TYPES",
    "A",
    "Array",
    "ArrayBackend",
    "Axis",
    "DeviceNamespace",
    "DeviceTarget",
    "HostArray",
    "Namespace",
    "Shape",
    "SupportsDLPack",
    "as_buffer",
    "current_namespace",
    "decide",
    "device_namespace",
    "device_of",
    "device_target",
    "dlpack_device",
    "ensure_owned",
    "from_dlpack",
    "from_host",
    "host_advance",
    "host_numbers",
    "host_values",
    "is_by_columns",
    "is_host",
    "is_ndarray",
    "namespace",
    "register_backend",
    "register_namespace",
    "require",
    "set_device_target",
    "to_device",
    "to_device_of",
    "to_dlpack",
    "to_host",
]
