"""Moving values from one device to another; differentiable, since a gradient moves back."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from minispore import _dtype
from minispore._array import Array, DeviceTarget, place, target_of
from minispore._checks import check_bool, described
from minispore._dtype import DType
from minispore._functional.apply import Pull, apply1
from minispore._functional.operands import cast_to, dtype_of
from minispore._functional.variable import T, Variable
from minispore._rules import elementwise as rules


class Destination(NamedTuple):
    """Where values go, and in which type; None for where and what they are."""

    device: DeviceTarget | None
    dtype: DType | None
    copy: bool = False


def destination(args: Sequence[object], kwargs: Mapping[str, object], owner: str) -> Destination:
    """What the arguments of `to` say, in any of its three forms.

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
    elif first is not None and not is_device(first):
        form = ("dtype", "non_blocking", "copy")
    given: dict[str, object] = dict(zip(form, args, strict=False))
    if len(args) > len(form) or not kwargs.keys() <= set(form) - given.keys():
        listed = ", ".join([*map(described, args), *kwargs])
        raise TypeError(
            f"For '{owner}', the arguments must be ({', '.join(form)}), but got {listed}."
        )
    given.update(kwargs)
    for name in ("non_blocking", "copy"):
        check_bool(given.get(name, False), name, owner)
    copy = cast("bool", given.get("copy", False))
    if "other" in form:
        other = given["other"]
        if not isinstance(other, Variable):
            raise TypeError(f"For '{owner}', 'other' must be a Tensor, got {described(other)}.")
        return Destination(target_of(other._data), dtype_of(other), copy)
    device, dtype = given.get("device"), given.get("dtype")
    return Destination(
        None if device is None else check_device(device, owner),
        None if dtype is None else _dtype.as_dtype(dtype, owner),
        copy,
    )


def is_device(name: object) -> bool:
    """Whether `name` is that of a device, or at least of no data type."""
    return isinstance(name, str) and not _dtype.is_name(name)


def check_device(name: object, owner: str) -> DeviceTarget:
    """The device of that name, in capitals or not; ValueError if there is none."""
    match name.upper() if isinstance(name, str) else name:
        case "CPU":
            return "CPU"
        case "GPU":
            return "GPU"
        case _:
            raise ValueError(
                f"For '{owner}', the argument 'device' must be one of 'CPU', 'GPU', "
                f"but got {described(name)}."
            )


def to(x: T, there: Destination, owner: str) -> T:
    """`x` on another device and in another type; itself if it is there, unless to be copied.

    Raises:
        RuntimeError: A GPU is asked for where there is none, or no CuPy.
    """
    found = x if there.dtype is None else cast_to(x, there.dtype)
    if there.device is not None:
        found = moved(found, there.device, owner)
    return apply1(rules.copy, x) if there.copy and found is x else found


def moved(x: T, target: DeviceTarget, owner: str) -> T:
    """`x` on another device; itself if it lives there.

    Raises:
        RuntimeError: A GPU is asked for where there is none, or no CuPy.
    """
    home = target_of(x._data)
    if home == target:
        return x

    def put(a: Array, where: DeviceTarget) -> Array:
        # In a second derivative the rule is applied to variables.
        if isinstance(a, Variable):
            return cast("Array", moved(a, where, owner))
        return place(a, where, owner)

    def move(a: Array) -> tuple[Array, tuple[Pull]]:
        return put(a, target), (lambda g: put(g, home),)

    return apply1(move, x)
