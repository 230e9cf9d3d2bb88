"""Move variables between devices; differentiable, since gradients move back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from minispore.engine import array, dtypes
from minispore.engine.array import Array, DeviceTarget, device_of
from minispore.engine.dispatch import OptionalPullback, Variable, apply1, cast_to, dtype_of
from minispore.engine.dtypes import DType
from minispore.engine.rules import elementwise as rules
from minispore.utils.checks import caller, check_bool, check_type, describe_value, type_error

if TYPE_CHECKING:
    from minispore.ops.tensors import Tensor


class ToOptions(NamedTuple):
    """The target of `Tensor.to`; None keeps the tensor's own device or type."""

    device: DeviceTarget | None
    dtype: DType | None
    copy: bool = False


def parse_to_arguments(args: Sequence[object], kwargs: Mapping[str, object]) -> ToOptions:
    """Return the arguments of `to`, in any of its three forms, as options.

    They are `(device, dtype, non_blocking, copy)`, `(dtype, non_blocking, copy)` and
    `(other, non_blocking, copy)`.

    Raises:
        TypeError: They are none of them.
        ValueError: There is no device of that name.
    """
    first: object = args[0] if args else None
    form: tuple[str, ...] = ("device", "dtype", "non_blocking", "copy")
    if isinstance(first, Variable) or "other" in kwargs:
        form = ("other", "non_blocking", "copy")
    elif first is not None and (not isinstance(first, str) or dtypes.is_dtype_name(first)):
        form = ("dtype", "non_blocking", "copy")
    arguments: dict[str, object] = dict(zip(form, args, strict=False))
    if len(args) > len(form) or not kwargs.keys() <= set(form) - arguments.keys():
        listed = ", ".join([*map(describe_value, args), *kwargs])
        raise TypeError(
            f"For '{caller()}', the arguments must be ({', '.join(form)}), but got {listed}."
        )
    arguments.update(kwargs)
    check_bool(arguments.get("non_blocking", False), "non_blocking")
    copy = check_type(arguments.get("copy", False), bool, "copy")
    if "other" in form:
        other = arguments["other"]
        if not isinstance(other, Variable):
            raise TypeError(
                f"For '{caller()}', 'other' must be a Tensor, got {describe_value(other)}."
            )
        return ToOptions(device_of(other._data), dtype_of(other), copy)
    device, dtype = arguments.get("device"), arguments.get("dtype")
    return ToOptions(
        None if device is None else check_device(device),
        None if dtype is None else dtypes.as_dtype(dtype),
        copy,
    )


def check_device(name: object) -> DeviceTarget:
    """Return the device of a name in any case; raise ValueError if there is none."""
    match name.upper() if isinstance(name, str) else name:
        case "CPU":
            return "CPU"
        case "GPU":
            return "GPU"
        case _:
            raise type_error(name, "device", "be one of 'CPU', 'GPU'", ValueError)


def to(x: Tensor, there: ToOptions) -> Tensor:
    """Return `x` on another device and in another type; `x` itself if nothing changes.

    Raises:
        RuntimeError: A GPU is requested, and there is none or CuPy is missing.
    """
    result = x if there.dtype is None else cast_to(x, there.dtype)
    if there.device is not None:
        result = to_device(result, there.device)
    return apply1(rules.copy, x) if there.copy and result is x else result


def to_device(x: Tensor, target: DeviceTarget) -> Tensor:
    """Return `x` on another device; `x` itself if it is there.

    Raises:
        RuntimeError: A GPU is requested, and there is none or CuPy is missing.
    """
    home = device_of(x._data)
    if home == target:
        return x

    def put(a: Array, where: DeviceTarget) -> Array:
        # In a second derivative the rule is applied to variables.
        if isinstance(a, Variable):
            return cast("Array", to_device(cast("Tensor", a), where))
        return array.to_device(a, where)

    def move(a: Array) -> tuple[Array, tuple[OptionalPullback]]:
        return put(a, target), (lambda g: put(g, home),)

    return apply1(move, x)
