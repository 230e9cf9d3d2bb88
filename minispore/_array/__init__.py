"""Floor 1: which array library. The contract, numpy and CuPy behind it, and the device in use."""

from minispore._array.device import (
    DeviceTarget,
    as_buffer,
    beside,
    current,
    device_target,
    from_host,
    is_host,
    own,
    place,
    plug_in,
    set_device_target,
    target_of,
    to_host,
)
from minispore._array.protocol import A, Array, Axis, DeviceNamespace, Library, Namespace, Shape
from minispore._array.registry import device_namespace, namespace, register

__all__ = [
    "A",
    "Array",
    "Axis",
    "DeviceNamespace",
    "DeviceTarget",
    "Library",
    "Namespace",
    "Shape",
    "as_buffer",
    "beside",
    "current",
    "device_namespace",
    "device_target",
    "from_host",
    "is_host",
    "namespace",
    "own",
    "place",
    "plug_in",
    "register",
    "set_device_target",
    "target_of",
    "to_host",
]
