"""Places where a step can keep state, the values that may be there, and changes of them.

A *holder* is a place with a reference to a value, such as a closure or an attribute. A *payload* is
a kind of value with a number in it, and the ways to change the number. Every holder can hold every
payload.
"""

# ruff: noqa: ANN401 (a holder holds anything)
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false

import array
import functools
import inspect
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from itertools import count, cycle
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import minispore as ms
from minispore import Parameter, Tensor, dataset, nn, ops, train
from minispore.common import initializer
from minispore.train import callback

# Payloads.


class Payload(NamedTuple):
    """A kind of value.

    Attributes:
        make: Returns a value whose number is 1.
        read: Returns the number of a value.
        changes: Functions that change the number of a value in place.
        effects: Functions that a step may call, which change the value.
    """

    make: Callable[[], Any]
    read: Callable[[Any], Any]
    changes: dict[str, Callable[[Any], object]] = {}
    effects: dict[str, Callable[[Any], object]] = {}


def _set(name: str, value: object = 3.0) -> dict[str, Callable[[Any], object]]:
    return {f"set .{name}": lambda holder: setattr(holder, name, value)}


def _attributed(make: Callable[[], Any]) -> Payload:
    """Return a payload whose number is an attribute of what `make` returns."""

    def made() -> Any:
        value = make()
        value.scale = 1.0
        return value

    def assign(value: Any) -> None:
        value.scale = value.scale + 1.0

    return Payload(
        made,
        lambda value: value.scale,
        {
            **_set("scale"),
            "vars": lambda value: vars(value).update(scale=3.0),
        },
        {"assign": assign},
    )


def _increment(value: Any) -> None:
    value += [1.0]


class Plain:
    """An object."""

    scale = 1.0


class Shadowed(Plain):
    """An object whose number is that of its class until it has one."""


class Replaced:
    """A class for `setattr(value, "__class__", Replaced)`."""

    def number(self) -> float:
        return 3.0


def _with_a_method() -> Any:
    class Method(type("Base", (), {})):  # type: ignore[misc]
        def number(self) -> float:
            return 1.0

    return Method()


TEMPLATE = "{.scale}"
_shared = Plain()
_proxied = {"scale": 1.0}
next_of: Callable[[Any], Any] = next


class Slotted:
    """An object with a slot."""

    __slots__ = ("scale",)

    def __init__(self) -> None:
        self.scale = 1.0

    def __setstate__(self, state: float) -> None:
        self.scale = state


class Descriptor:
    """An attribute that computes."""

    scale = 1.0

    def __get__(self, instance: object, owner: object = None) -> float:
        return self.scale


class Described:
    """An object with a property and a descriptor."""

    number = Descriptor()

    def __init__(self) -> None:
        self.parts = [1.0]

    @property
    def part(self) -> float:
        return self.parts[0]


class Meta(type):
    """A metaclass with an attribute."""

    scale = 1.0


@dataclass
class Data:
    """A data class."""

    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Frozen:
    """A frozen data class."""

    scale: float = 1.0


class Pair(NamedTuple):
    """A named tuple."""

    items: list[float]
    scale: float


class Kind(Enum):
    """An enumeration."""

    ONE = 1.0
    THREE = 3.0


def _subclass(base: type, *args: object) -> Callable[[], Any]:
    kind = type(f"Sub{base.__name__}", (base,), {})
    return lambda: kind(*args)


def _new_class() -> Any:
    return type("New", (Plain,), {"scale": 1.0})


def _class_of_a_metaclass() -> Any:
    return type("NewMeta", (Meta,), {"scale": 1.0})("New", (), {})


def _function() -> Any:
    def function() -> float:
        return 1.0

    return function


def _three() -> float:
    return 3.0


def _with_default(value: list[float]) -> Any:
    def function(items: list[float] = value, *, keyword: list[float] = value) -> float:
        return items[0] * keyword[0]

    return function


def _module() -> Any:
    module = ModuleType("settings")
    vars(module).update(__file__="settings.py", scale=1.0)
    return module


def _instance(kind: type) -> Callable[[], Any]:
    """Return a function that makes an instance of a new subclass, so that tests do not meet."""
    return lambda: type(kind.__name__, (kind,), {})()


def _bases(value: Any) -> None:
    del type(value).number
    type(value).__bases__ = (type("Other", (Replaced,), {}),)


def _shared_object() -> frozenset[Any]:
    _shared.scale = 1.0
    return frozenset([_shared])


def _proxy() -> Any:
    _proxied.update(scale=1.0)
    return MappingProxyType(_proxied)


PAYLOADS: dict[str, Payload] = {
    "number": Payload(lambda: 1.0, lambda value: value),
    "text": Payload(lambda: "1", lambda value: float(value)),
    "frozen data class": Payload(Frozen, lambda value: value.scale),
    "fraction": Payload(lambda: Fraction(1), lambda value: value.numerator),
    "enumeration": Payload(lambda: Kind.ONE, lambda value: value.value),
    "numpy number": Payload(lambda: np.float32(1), lambda value: float(value)),
    "list": Payload(
        lambda: [1.0],
        lambda value: value[0],
        {
            "item": lambda value: value.__setitem__(0, 3.0),
            "insert": lambda value: value.insert(0, 3.0),
        },
        {
            "append": lambda value: value.append(1.0),
            "extend": _increment,
            "map": lambda value: list(map(value.append, (1.0,))),
            "pop": lambda value: len(value) > 1 and value.pop(),
            "unbound": lambda value: list.append(value, 1.0),
        },
    ),
    "dict": Payload(
        lambda: {"scale": 1.0},
        lambda value: value["scale"],
        {"item": lambda value: value.update(scale=3.0)},
        {
            "update": lambda value: value.update(count=len(value)),
            "setdefault": lambda value: value.setdefault(len(value)),
        },
    ),
    "dict with other keys": Payload(
        lambda: {(1, "a"): 1.0, None: 2.0},
        lambda value: value[1, "a"],
        {"item": lambda value: value.update({(1, "a"): 3.0})},
    ),
    "dict as a whole": Payload(
        lambda: {"scale": 1.0},
        lambda value: sum(value.values()),
        {"new key": lambda value: value.update(other=2.0)},
    ),
    "list in a tuple": Payload(
        lambda: ([1.0],), lambda value: value[0][0], {"item": lambda v: v[0].__setitem__(0, 3.0)}
    ),
    "object in a dict in a list": Payload(
        lambda: [{"a": Data()}],
        lambda value: value[0]["a"].scale,
        {"item": lambda value: setattr(value[0]["a"], "scale", 3.0)},
    ),
    "named tuple": Payload(
        lambda: Pair([1.0], 1.0),
        lambda value: value.items[0] * value.scale,
        {"item": lambda value: value.items.__setitem__(0, 3.0)},
    ),
    "set": Payload(
        lambda: {1.0},
        lambda value: max(value),
        {"add": lambda value: value.add(3.0)},
        {"add": lambda value: value.add(float(len(value)) / 8)},
    ),
    "frozen set of objects": Payload(
        _shared_object,
        lambda value: min(member.scale for member in value),
        {"attribute": lambda value: setattr(next(iter(value)), "scale", 3.0)},
    ),
    "object": _attributed(_instance(Plain)),
    "object with a number in its class": Payload(
        _instance(Shadowed), lambda value: value.scale, _set("scale")
    ),
    "class of an object": Payload(
        _instance(Plain), lambda v: v.scale, {"class": lambda v: setattr(type(v), "scale", 3.0)}
    ),
    "method": Payload(
        _with_a_method,
        lambda value: value.number(),
        {
            "replace class": lambda value: setattr(value, "__class__", Replaced),
            "replace method": lambda value: setattr(type(value), "number", Replaced.number),
            "shadow method": lambda value: setattr(value, "number", _three),
            "bases": _bases,
        },
    ),
    "deleted attribute": Payload(
        lambda: _with_attribute(Shadowed(), 3.0),
        lambda value: value.scale,
        {"delete": lambda value: delattr(value, "scale")},
    ),
    "slot": Payload(
        Slotted, lambda v: v.scale, {**_set("scale"), "state": lambda v: v.__setstate__(3.0)}
    ),
    "property": Payload(
        Described, lambda value: value.part, {"item": lambda v: v.parts.__setitem__(0, 3.0)}
    ),
    "descriptor": Payload(
        _instance(Described),
        lambda value: value.number,
        {"attribute": lambda v: setattr(type(v), "number", 3.0)},
    ),
    "data class": Payload(Data, lambda value: value.scale, _set("scale")),
    "class": Payload(_new_class, lambda value: value.scale, _set("scale")),
    "metaclass": Payload(
        _class_of_a_metaclass,
        lambda value: value.scale,
        {"metaclass": lambda value: setattr(type(value), "scale", 3.0), **_set("scale")},
    ),
    "function": Payload(
        _function,
        lambda value: value(),
        {"code": lambda value: setattr(value, "__code__", _three.__code__)},
    ),
    "attribute of a function": _attributed(_function),
    "default of a function": Payload(
        lambda: _with_default([1.0]),
        lambda value: value(),
        {
            "item": lambda value: value.__defaults__[0].__setitem__(0, 3.0),
            "defaults": lambda value: setattr(value, "__defaults__", ([3.0],)),
            "keywords": lambda value: setattr(value, "__kwdefaults__", {"keyword": [3.0]}),
        },
    ),
    "partial": Payload(
        lambda: functools.partial(_multiplied, [1.0], factor=1.0),
        lambda value: value(),
        {
            "item": lambda value: value.args[0].__setitem__(0, 3.0),
            "keyword": lambda value: value.keywords.update(factor=3.0),
            "state": lambda value: value.__setstate__((_multiplied, ([3.0],), {}, None)),
        },
    ),
    "attribute of a partial": _attributed(lambda: functools.partial(_three)),
    "bound method": Payload(
        lambda: _Scale().get,
        lambda value: value(),
        {"attribute": lambda value: setattr(value.__self__, "scale", 3.0)},
    ),
    "decorated": Payload(
        lambda: _decorate([1.0]),
        lambda value: value(),
        {
            "closure": lambda v: v.__wrapped__.__closure__[1].cell_contents.__setitem__(0, 3.0),
            "wrapper": lambda value: setattr(value, "factor", 3.0),
        },
    ),
    "generic function": Payload(
        lambda: functools.singledispatch(_one_for),
        lambda value: value(1.0),
        {"register": lambda value: value.register(float, lambda _: 3.0)},
    ),
    "module": Payload(_module, lambda value: value.scale, _set("scale")),
    "format": Payload(
        _instance(Plain), lambda v: float(TEMPLATE.format(v)), _set("scale")
    ),
    "pattern": Payload(_instance(Plain), lambda value: _matched(value), _set("scale")),
    "subclass of dict": _attributed(_subclass(dict)),
    "subclass of list": _attributed(_subclass(list)),
    "subclass of tuple": _attributed(_subclass(tuple)),
    "subclass of str": _attributed(_subclass(str, "a")),
    "subclass of float": _attributed(_subclass(float, 2.0)),
    "subclass of int": _attributed(_subclass(int, 2)),
    "subclass of Parameter": _attributed(_subclass(Parameter, Tensor([2.0]))),
    "subclass of Tensor": _attributed(_subclass(Tensor, [2.0])),
    "subclass of Cell": _attributed(_subclass(nn.ReLU)),
    "subclass of partial": _attributed(_subclass(functools.partial, abs)),
    "subclass of deque": _attributed(_subclass(deque)),
    "items of a subclass": Payload(
        _subclass(dict, {"scale": 1.0}),
        lambda value: value["scale"],
        {"item": lambda value: value.update(scale=3.0)},
    ),
    "defaultdict": Payload(
        lambda: defaultdict(float, scale=1.0),
        lambda value: value["scale"],
        {"item": lambda value: value.update(scale=3.0)},
        {"missing": lambda value: value[len(value)]},
    ),
    "OrderedDict": Payload(
        lambda: OrderedDict(a=1.0, b=3.0),
        lambda value: next_of(value.values()),
        {"order": lambda value: value.move_to_end("a")},
    ),
    "Counter": Payload(
        lambda: Counter(a=1), lambda value: value["a"], {"item": lambda value: value.update(a=2)}
    ),
    "UserDict": Payload(
        lambda: UserDict(scale=1.0),
        lambda value: value["scale"],
        {"item": lambda value: value.update(scale=3.0)},
    ),
    "UserList": Payload(
        lambda: UserList([1.0]),
        lambda value: value[0],
        {"item": lambda value: value.__setitem__(0, 3.0)},
        {"append": lambda value: value.append(1.0)},
    ),
    "ChainMap": Payload(
        lambda: ChainMap({"scale": 1.0}),
        lambda value: value["scale"],
        {"item": lambda value: value.maps[0].update(scale=3.0)},
    ),
    "namespace": _attributed(SimpleNamespace),
    "mapping proxy": Payload(
        _proxy,
        lambda value: value["scale"],
        {"item": lambda _: _proxied.update(scale=3.0)},
    ),
    "deque": Payload(
        lambda: deque([1.0]),
        lambda value: value[0],
        {"item": lambda value: value.__setitem__(0, 3.0)},
        {"append": lambda value: value.append(1.0)},
    ),
    "bytearray": Payload(
        lambda: bytearray([1]),
        lambda value: value[0],
        {"item": lambda value: value.__setitem__(0, 3)},
        {"append": lambda value: value.append(1)},
    ),
    "array": Payload(
        lambda: array.array("d", [1.0]),
        lambda value: value[0],
        {"item": lambda value: value.__setitem__(0, 3.0)},
    ),
    "ndarray": Payload(
        lambda: np.ones(1),
        lambda value: value[0],
        {"item": lambda value: value.__setitem__(0, 3.0)},
        {"fill": lambda value: value.fill(2.0)},
    ),
    "record of numpy": Payload(
        lambda: np.ones(1, [("scale", "f8")])[0],
        lambda value: value["scale"],
        {"item": lambda value: value.__setitem__("scale", 3.0)},
    ),
    "iterator": Payload(
        lambda: cycle([1.0, 2.0]), lambda value: value and 1.0, {}, {"next": lambda v: next_of(v)}
    ),
    "counter": Payload(
        count, lambda value: 1.0, {}, {"zip": lambda value: list(zip("a", value, strict=False))}
    ),
    "generator of numbers": Payload(
        lambda: np.random.default_rng(1),
        lambda value: value and 1.0,
        {},
        {"draw": lambda value: value.random()},
    ),
    "tensor": Payload(
        lambda: Tensor([1.0]), lambda value: value, {"item": lambda value: value.add_(2.0)}
    ),
    "parameter": Payload(
        lambda: Parameter(Tensor([1.0]), name="p"),
        lambda value: value,
        {"data": lambda value: value.set_data(3.0), "item": lambda value: value.mul_(3.0)},
    ),
}  # fmt: skip


def _with_attribute(value: Any, scale: float) -> Any:
    value.scale = scale
    return value


def _multiplied(items: list[float], factor: float = 1.0) -> float:
    return items[0] * factor


class _Scale:
    scale = 1.0

    def get(self) -> float:
        return self.scale


def _decorate(factors: list[float]) -> Any:
    def function() -> Any:
        return factors[0] * decorated.factor

    @functools.wraps(function)
    def wrapper() -> Any:
        return function()

    decorated: Any = wrapper
    decorated.factor = 1.0
    return decorated


def _one_for(value: object) -> float:
    return 1.0


def _matched(value: object) -> float:
    match value:
        case Plain(scale=scale):
            return scale
        case _:
            return 0.0


# Holders.


class Held(NamedTuple):
    """What a holder returns.

    Attributes:
        get: Returns the value, in the way in which a step would read it.
        rebind: Replaces the value.
    """

    get: Callable[[], Any]
    rebind: Callable[[Any], object]


def closure(value: Any) -> Held:
    def rebind(other: Any) -> None:
        nonlocal value
        value = other

    return Held(lambda: value, rebind)


def _keyword_defaults(function: Any) -> Any:
    return function.__kwdefaults__


def default(value: Any) -> Held:
    def get(held: Any = value) -> Any:
        return held

    return Held(get, lambda other: setattr(get, "__defaults__", (other,)))


def keyword_default(value: Any) -> Held:
    def get(*, held: Any = value) -> Any:
        return held

    return Held(get, lambda other: _keyword_defaults(get).update(held=other))


HELD: Any = None


def global_variable(value: Any) -> Held:
    globals()["HELD"] = value
    return Held(lambda: HELD, lambda other: globals().update(HELD=other))


def function_attribute(value: Any) -> Held:
    def function() -> None: ...

    function.held = value  # type: ignore[attr-defined]
    return Held(
        lambda: function.held,  # type: ignore[attr-defined]
        lambda other: setattr(function, "held", other),
    )


def partial_keyword(value: Any) -> Held:
    get = functools.partial(lambda held: held, held=value)
    return Held(lambda: get(), lambda other: get.keywords.update(held=other))


def partial_argument(value: Any) -> Held:
    get = functools.partial(lambda held: held, value)
    return Held(lambda: get(), lambda other: get.__setstate__((get.func, (other,), {}, None)))  # type: ignore[attr-defined]


def module_attribute(value: Any) -> Held:
    module: Any = _module()
    module.held = value
    return Held(lambda: module.held, lambda other: setattr(module, "held", other))


def dict_item(value: Any) -> Held:
    held = {"value": value}
    return Held(lambda: held["value"], lambda other: held.update(value=other))


def list_item(value: Any) -> Held:
    held = [value]
    return Held(lambda: held[0], lambda other: held.__setitem__(0, other))


def argument_of_a_property(value: Any) -> Held:
    class Holder:
        def __init__(self) -> None:
            self._held = value

        @property
        def held(self) -> Any:
            return self._held

    holder = Holder()
    return Held(lambda: holder.held, lambda other: setattr(holder, "_held", other))


def slot(value: Any) -> Held:
    class Holder:
        __slots__ = ("held",)

    holder: Any = Holder()
    holder.held = value
    return Held(lambda: holder.held, lambda other: setattr(holder, "held", other))


def descriptor(value: Any) -> Held:
    class Field:
        def __init__(self) -> None:
            self.content = value

        def __get__(self, instance: object, owner: object = None) -> Any:
            return self.content

    class Holder:
        held = Field()

    holder = Holder()
    field = vars(Holder)["held"]
    return Held(lambda: holder.held, lambda other: setattr(field, "content", other))


def class_attribute(value: Any) -> Held:
    holder: Any = type("Holder", (), {"held": value})
    return Held(lambda: holder.held, lambda other: setattr(holder, "held", other))


def metaclass_attribute(value: Any) -> Held:
    meta: Any = type("Meta", (type,), {"held": value})
    holder: Any = meta("Holder", (), {})
    return Held(lambda: holder.held, lambda other: setattr(meta, "held", other))


def _attribute_of(holder: Any) -> Callable[[Any], Held]:
    def hold(value: Any) -> Held:
        target: Any = holder() if callable(holder) else holder
        target.held = value
        return Held(lambda: target.held, lambda other: setattr(target, "held", other))

    return hold


def _untyped(value: Any) -> Any:
    return value


def cell_attribute(value: Any) -> Held:
    class Net(nn.Cell):
        def construct(self) -> Any:
            return _untyped(self).held

    net: Any = Net()
    net.held = value
    return Held(lambda: net(), lambda other: setattr(net, "held", other))


def met_before(value: Any) -> Held:
    """A cell whose other attribute, which no code names, refers to the same value."""
    net: Any = nn.ReLU()
    net.unnamed = (value,)
    net.held = value

    def rebind(other: Any) -> None:
        net.unnamed, net.held = (other,), other

    return Held(lambda: net.held, rebind)


Hold = Callable[[Any], Held]
HOLDERS: dict[str, Hold] = {
    hold.__name__: hold
    for hold in (
        *(closure, default, keyword_default, global_variable, function_attribute),
        *(partial_keyword, partial_argument, module_attribute, dict_item, list_item),
        *(argument_of_a_property, slot, descriptor, class_attribute, metaclass_attribute),
        *(cell_attribute, met_before),
    )
}  # fmt: skip


def _made(kind: type) -> Callable[[], Any] | None:
    """Return a function that makes an object of a class of the package, if one is known."""
    make: dict[str, Callable[[], Any]] = {
        "params": lambda: [Parameter(Tensor([1.0]), name="w")],
        "network": lambda: nn.Dense(1, 1),
    }

    def instance() -> Any:
        required = [
            parameter.name
            for parameter in inspect.signature(kind).parameters.values()
            if parameter.default is parameter.empty and "VAR" not in parameter.kind.name
        ]
        return kind(**{name: make.get(name, lambda: 1)() for name in required})

    try:
        instance().held = 1
    except Exception:  # another argument is needed, or objects of the class have no attributes
        return None
    return instance


def _public_classes() -> dict[str, type]:
    found: dict[str, type] = {}
    modules: list[ModuleType] = [nn, train, dataset, callback, initializer, ops, ms]
    for module in modules:
        for name in dir(module):
            value = getattr(module, name, None)
            if inspect.isclass(value) and value.__module__.startswith("minispore"):
                found[value.__qualname__] = value
    return found


def package_holders() -> dict[str, Hold]:
    """Return holders that are attributes of objects of the package's public classes."""
    made = {name: _made(kind) for name, kind in _public_classes().items()}
    return {
        f"attribute of {name}": _attribute_of(make)
        for name, make in made.items()
        if make is not None
    }
