"""Floor 0: which array library. The contract, numpy and CuPy behind it, and the device in use."""

from minispore._array.device import (
    DeviceTarget,
    current,
    device_target,
    from_host,
    own,
    set_device_target,
    to_host,
)
from minispore._array.protocol import A, Array, Axis, DeviceNamespace, Namespace, Shape
from minispore._array.registry import device_namespace, namespace, register

__all__ = [
    "A",
    "Array",
    "Axis",
    "DeviceNamespace",
    "DeviceTarget",
    "Namespace",
    "Shape",
    "current",
    "device_namespace",
    "device_target",
    "from_host",
    "namespace",
    "own",
    "register",
    "set_device_target",
    "to_host",
]
