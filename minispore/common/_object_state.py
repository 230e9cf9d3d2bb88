"""Where Python objects hold what code can read from them.

Graph mode guards these places before a replay, and a resume compares what they hold. Both trust a
value for its type, and not for the place where its code is stored.
"""

import dis
import os
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from types import (
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    NotImplementedType,
)
from typing import Final, NamedTuple, TypeGuard, TypeVar, cast

import numpy as np

from minispore.engine.dtypes import DType

T = TypeVar("T")

# Where Python's library is: a folder, or an archive for what is not frozen or written in C.
STDLIB: Final = (os.path.dirname(os.__file__), os.path.dirname(dis.__file__))

_IMMUTABLE: Final = frozenset(
    [
        *(type(None), bool, int, float, complex, str, bytes),
        *(range, type(...), NotImplementedType, DType),
    ]
)
# The types of C whose state is their items, or that are immutable, and may have subclasses.
_BASES: Final = (
    *(OrderedDict, defaultdict, dict, list, tuple, set, frozenset),
    *(str, bytes, int, float, complex, object),
)
_Iterate = Callable[[object], Iterable[object]]
# The containers, and how their items are read without a call of a method of a subclass.
_ITERATE: Final[Mapping[type[object], _Iterate]] = {
    **{kind: vars(kind)["__iter__"] for kind in (list, tuple, set, frozenset)},
    dict: vars(dict)["items"],
}
# The attributes of types of C that hold their state.
_FIELDS: Final[Mapping[type, tuple[str, ...]]] = {
    FunctionType: ("__code__", "__defaults__", "__kwdefaults__", "__closure__"),
    CellType: ("cell_contents",),
    MethodType: ("__func__", "__self__"),
    partial: ("func", "args", "keywords"),
    slice: ("start", "stop", "step"),
    property: ("fget", "fset", "fdel"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    type: (),
    ModuleType: (),
}
_FIELDS_OF_BASES: Final[Mapping[type, tuple[str, ...]]] = {defaultdict: ("default_factory",)}
_POINTER: Final = object.__basicsize__ // 2
# Flags of types whose instances store the dict or the weak references outside of the basic size.
_MANAGED_DICT: Final = 1 << 4
_MANAGED_WEAKREF: Final = 1 << 3
_GLOBAL_LOADS: Final = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_CLOSURE_LOADS: Final = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_NO_ATTRIBUTES: Final[Mapping[str, object]] = {}


class State(NamedTuple):
    """Where an object holds what code can read from it, besides its class.

    Attributes:
        attributes: Its dict of attributes; empty if it has none.
        fields: The names of its slots and of the attributes that are stored by C.
        items: The object itself if it is a container.
    """

    attributes: Mapping[str, object]
    fields: tuple[str, ...]
    items: Collection[object] | None


def is_a(value: object, kind: type[T]) -> TypeGuard[T]:
    """Return whether a value is of a type or a subclass, without a call of the user's code.

    `isinstance` also reads `__class__`, which a class may define as a property.
    """
    return issubclass(type(value), kind)


def is_immutable(value: object) -> bool:
    """Return whether a value is of a type whose values never change."""
    kind = type(value)
    if kind in _IMMUTABLE:
        return True
    if issubclass(kind, np.generic):
        return kind.__module__ == "numpy" and not issubclass(kind, np.void | np.object_)
    return issubclass(kind, np.dtype) and cast("np.dtype[np.generic]", value).fields is None


def state_of(value: object) -> State | None:
    """Return where an object holds its state; None if its type stores some out of sight.

    Args:
        value: The object.

    Returns:
        The places, or None for an object such as a numpy array, an iterator or a lock.

    Examples:
        >>> class Options(dict):
        ...     __slots__ = ("scale",)
        >>> state_of(Options(rate=0.1))
        State(attributes={}, fields=('scale',), items={'rate': 0.1})
        >>> state_of(iter([1])) is None
        True
    """
    kind = type(value)
    attributes = _attributes_of(value)
    if attributes is None:
        return None
    for described, fields in _FIELDS.items():
        if issubclass(kind, described):
            return State(attributes, fields, None)
    base = next(cls for cls in kind.__mro__ if cls in _BASES)
    slots = tuple(
        dict.fromkeys(
            name
            for cls in kind.__mro__
            if "__slots__" in vars(cls)  # a member of a class of C may be a part of a state
            for name, member in vars(cls).items()
            if isinstance(member, MemberDescriptorType)
        )
    )
    has_dict = kind.__dictoffset__ != base.__dictoffset__ and not kind.__flags__ & _MANAGED_DICT
    has_weakrefs = (
        kind.__weakrefoffset__ != base.__weakrefoffset__ and not kind.__flags__ & _MANAGED_WEAKREF
    )
    # As in `object.__reduce_ex__`: whatever else an instance stores is hidden.
    known = base.__basicsize__ + _POINTER * (has_dict + has_weakrefs + len(slots))
    if kind.__basicsize__ > known:
        return None
    items = cast("Collection[object]", value) if issubclass(kind, tuple(_ITERATE)) else None
    return State(attributes, (*slots, *_FIELDS_OF_BASES.get(base, ())), items)


def _attributes_of(value: object) -> Mapping[str, object] | None:
    """Return the dict of an object, without a call of the user's code; None if it is hidden."""
    kind = type(value)
    for cls in kind.__mro__:
        member = vars(cls).get("__dict__")
        if isinstance(member, GetSetDescriptorType | MemberDescriptorType):
            attributes: Mapping[str, object] = member.__get__(value)
            return attributes
    return None if kind.__dictoffset__ else _NO_ATTRIBUTES


def items_of(value: object) -> list[object]:
    """Return the items of a container, and the pairs of a dict, without a call of its methods."""
    iterate = next(function for kind, function in _ITERATE.items() if issubclass(type(value), kind))
    return list(iterate(value))


def read_field(value: object, name: str) -> object:
    """Return one of the fields of an object, without a call of the user's code.

    Raises:
        AttributeError: It is not set.
    """
    for cls in type(value).__mro__:
        member = vars(cls).get(name)
        if isinstance(member, MemberDescriptorType | GetSetDescriptorType):
            return member.__get__(value)
    raise AttributeError(name)


def nested_code(code: CodeType) -> list[CodeType]:
    """Return code and that of the functions defined in it."""
    inner = (const for const in code.co_consts if isinstance(const, CodeType))
    return [code, *chain.from_iterable(map(nested_code, inner))]


class Read(NamedTuple):
    """A read of a variable in code.

    Attributes:
        name: The variable.
        is_global: Whether it is global, and not of an enclosing function.
        steps: What is read of its value at once: the names of attributes, and keys in brackets.
    """

    name: str
    is_global: bool
    steps: tuple[str | tuple[str], ...]


def variable_reads(code: CodeType) -> Iterator[Read]:
    """Yield the reads of global variables and of those of enclosing functions.

    Args:
        code: The code of a function; the functions defined in it are included.

    Yields:
        The reads, in their order in the code.

    Examples:
        >>> def scaled(x):
        ...     return x * CONFIG.net["scale"]
        >>> list(variable_reads(scaled.__code__))
        [Read(name='CONFIG', is_global=True, steps=('net', ('scale',)))]
    """
    for scope in nested_code(code):
        instructions = [i for i in dis.get_instructions(scope) if i.opname != "EXTENDED_ARG"]
        for i, instruction in enumerate(instructions):
            is_global = instruction.opname in _GLOBAL_LOADS
            if is_global or instruction.opname in _CLOSURE_LOADS:
                steps = tuple(_steps(instructions, i + 1))
                yield Read(str(instruction.argval), is_global, steps)


def _steps(instructions: Sequence[dis.Instruction], i: int) -> Iterator[str | tuple[str]]:
    while i + 1 < len(instructions):
        this, following = instructions[i : i + 2]
        if this.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            yield str(this.argval)
            i += 1
        elif (
            this.opname == "LOAD_CONST"
            and isinstance(this.argval, str)
            and (following.opname == "BINARY_SUBSCR" or following.argrepr == "[]")
        ):
            yield (this.argval,)
            i += 2
        else:
            return
