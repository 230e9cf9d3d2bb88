"""The public functions and classes, each with a valid value for every argument."""

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import partial
from importlib import import_module
from inspect import isclass, signature
from types import MappingProxyType
from typing import Any, NamedTuple, get_type_hints

from minispore import Tensor, nn, ops
from minispore.common.initializer import Initializer, initializer
from tests.helpers import valid_arguments
from tests.helpers.valid_arguments import (
    BY_CALLABLE,
    BY_NAME,
    FURTHER,
    NOT_CALLED,
    OPERATIONS,
    total,
    x,
)

# For each package the modules of its names, and those that define them.
PACKAGES = {
    "nn": (("nn", "common.initializer"), ("nn", "ops.initializer")),
    "ops": (("ops",), ("ops",)),
    "train": (("train", "amp"), ("train", "amp", "_metrics")),
    "dataset": (
        ("dataset", "dataset.transforms", "dataset.vision", "dataset.config", "dataset.digits"),
        ("dataset",),
    ),
    "tensorpack": (("tensorpack",), ("tensorpack",)),
}


class Call(NamedTuple):
    """A function or class with valid arguments.

    Attributes:
        name: Its name in the recorded tables.
        function: What has the signature.
        arguments: A valid value for each argument.
        run: Calls it.
    """

    name: str
    function: Callable[..., object]
    arguments: dict[str, object]
    run: Callable[..., object]

    def annotations(self) -> dict[str, object]:
        """Return the annotation of each argument that has one."""
        function: Any = self.function.__init__ if isclass(self.function) else self.function
        return get_type_hints(getattr(function, "func", function))


def exported(package: str) -> Iterator[tuple[str, Callable[..., object]]]:
    """Yield the functions and classes with arguments that a package exports, each once."""
    found: set[int] = set()
    paths, homes = PACKAGES[package]
    for path in paths:
        module = import_module(f"minispore.{path}")
        for name in dir(module):
            value: Any = getattr(module, name)
            is_own = getattr(value, "__module__", "").startswith(
                tuple(f"minispore.{home}" for home in homes)
            )
            if not is_own or name[0] == "_" or not callable(value) or id(value) in found:
                continue
            if name in NOT_CALLED[package]:
                continue
            found.add(id(value))
            is_called = not isclass(value) or not (
                issubclass(value, BaseException | Enum) or getattr(value, "_is_protocol", False)
            )
            if is_called and signature(value).parameters:
                yield (value.__name__ if isclass(value) else name), value


def make_call(
    name: str, function: Callable[..., object], special: Mapping[str, object] = MappingProxyType({})
) -> Call:
    """Return the call of a function; arguments that are not given have their defaults."""
    given = {**BY_CALLABLE.get(name, {}), **special}
    arguments: dict[str, object] = {}
    for parameter in signature(function).parameters.values():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            continue
        is_required = parameter.default is parameter.empty and parameter.name not in given
        assert not is_required or parameter.name in BY_NAME, (
            f"Add to BY_NAME in {valid_arguments.__file__} a valid value for the argument "
            f"{parameter.name!r} of {name!r}, or to BY_CALLABLE, if other functions need another "
            "one for arguments of this name. A name that is not to be called belongs to NOT_CALLED."
        )
        default = BY_NAME[parameter.name] if is_required else parameter.default
        arguments[parameter.name] = given.get(parameter.name, default)
    return Call(name, function, arguments, function)


def calls(package: str) -> list[Call]:
    """Return the calls of a package, in the order of the recorded tables."""
    found: list[Call] = []
    operations: set[int] = set()
    if package == "ops":
        for name, arguments in OPERATIONS.items():
            operation = getattr(ops, name)
            operations.add(id(operation))
            found.append(Call(name, operation, arguments, partial(call_operation, operation)))
    for name, function in exported(package):
        if name in FURTHER[package] or id(function) in operations:
            continue
        call = make_call(name, function)
        if isclass(function) and issubclass(function, Initializer):
            call = call._replace(run=partial(fill, function))
        found.append(call)
        if isclass(function) and issubclass(function, nn.LearningRateSchedule):
            schedule: Any = call.run(**call.arguments)
            found.append(
                Call(f"{name}()", schedule.construct, {"global_step": Tensor(2)}, schedule)
            )
    further = FURTHER[package].items()
    return found + [make_call(name, function, given) for name, (function, given) in further]


def fill(make: Callable[..., Initializer], **arguments: object) -> Tensor:
    """Return a tensor that an initializer has filled."""
    return initializer(make(**arguments), (2, 3))


def call_operation(function: Callable[..., object], **arguments: object) -> object:
    """Call an operation; if the result is a function, call that, too."""
    result = function(**arguments)
    if callable(result) and not isinstance(result, Tensor):
        made: object = result(total) if function is ops.GradOperation else result
        assert callable(made)
        return made(x(), Tensor(1.0)) if arguments.get("sens_param") is True else made(x())
    return result


NAMES: dict[int, set[str]] = {}
for op_name in dir(ops):
    NAMES.setdefault(id(getattr(ops, op_name)), set()).add(op_name)
NAMES[id(ops.sub)].add("subtract")  # the name of its rule


def names_of(function: object) -> set[str]:
    """Return all names of an operation, or the name of another function or class."""
    return NAMES.get(id(function)) or {str(getattr(function, "__name__", ""))}
