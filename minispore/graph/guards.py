"""Guards of a captured step: what it reads, and a check that it is unchanged.

A step is replayed if it is written in a small language. Besides the package's code, only functions
run that read their arguments, global variables and those of enclosing functions, and chains of
attributes from there. What they find is immutable or of an enumeration, a tensor, a cell or another
object of the package, a tuple, list or dict of these, a module, or such a function. `Guards` follow
the names in the code to these values, and each place where one was found is compared before each
replay. What is not in the language is a reason to run the step eagerly.
"""

import builtins
import dis
import operator
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import EnumMeta
from enum import property as enum_property
from functools import partial
from operator import is_
from types import (
    BuiltinFunctionType,
    CellType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import ClassVar, Final, Generic, Protocol, TypeGuard

import numpy as np

from minispore.common._object_state import (
    is_a,
    is_immutable,
    nested_code,
    state_of,
    variable_reads,
)
from minispore.engine.dispatch import Variable
from minispore.graph.watch import Watch, in_package, is_of_package
from minispore.utils.checks import as_items, is_dict, is_tuple

_PURE_BUILTINS: Final = frozenset(
    [
        *(abs, all, any, bool, dict, divmod, enumerate, filter, float, int, isinstance, issubclass),
        *(len, list, map, max, min, range, reversed, round, slice, sorted, str, sum, super, tuple),
        *(type, zip, object, set, frozenset, complex, bytes, property, staticmethod, classmethod),
        *(ArithmeticError, AssertionError, IndexError, KeyError, NotImplementedError),
        *(RuntimeError, TypeError, ValueError, Exception, BaseException, LookupError),
    ]
)
_PURE_FUNCTIONS: Final = frozenset(
    function
    for name, function in vars(operator).items()
    if isinstance(function, BuiltinFunctionType)
    and name not in ("setitem", "delitem", "length_hint", "call")
)
# Instructions that change something, or that depend on more than the names in the code.
_REFUSED: Final = {
    "STORE_ATTR": "assigns the attribute",
    "DELETE_ATTR": "deletes the attribute",
    "STORE_GLOBAL": "assigns the global variable",
    "DELETE_GLOBAL": "deletes the global variable",
    "STORE_SUBSCR": "assigns an item",
    "STORE_SLICE": "assigns a slice",
    "DELETE_SUBSCR": "deletes an item",
    "IMPORT_NAME": "imports",
    "YIELD_VALUE": "is a generator",
    "RETURN_GENERATOR": "is a generator",
    "PUSH_EXC_INFO": "handles exceptions",
    "BEFORE_WITH": "uses 'with'",
    "LOAD_SPECIAL": "uses 'with'",
    "LOAD_BUILD_CLASS": "defines a class",
    "MATCH_CLASS": "matches a class",
}
# Attributes that are read by names which do not stand in the code.
_READ_BY_TEXT: Final = frozenset(["format", "format_map", "name"])
# Attributes of cells that a step does not read unless its code names them.
_UNREAD: Final = frozenset(["_flags", "_initial_arguments", "_names_in_parameter_tuples"])
# Types of C that are made of their fields.
_MADE_OF_FIELDS: Final = (MethodType, property, staticmethod, classmethod, partial, slice)
# What a class of C, or one with slots, holds for them, and what any class may hold of these.
_OF_C: Final = (
    *(MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType),
    *(MemberDescriptorType, GetSetDescriptorType),
)
_OF_INSTANCES: Final = ("__dict__", "__weakref__")
# Longer containers would take longer to compare than a step takes to run.
_MAX_ITEMS: Final = 10_000
_BUILTINS: Final[dict[str, object]] = builtins.__dict__
_MISSING: Final = object()


class _CellClass(Protocol):
    """The class attributes of `Cell` that graph mode reads."""

    _transient: ClassVar[tuple[str, ...]]
    _captured: ClassVar[frozenset[str] | None]


def _is_cell(value: object) -> TypeGuard[_CellClass]:
    return hasattr(type(value), "_transient")


class Guards:
    """What a step reads: found by following names from its root.

    Args:
        roots: The function or cell of the step, and its arguments that are no tensors.
        watch: The code that runs in the step.

    Attributes:
        tensors: The tensors that may be operands of the step.
        host: Those that only the host reads, such as learning rates.
        transient: The cells with attributes that a step replaces, and the names of these.
        reason: Why the step cannot be replayed; None if it can.
    """

    def __init__(self, roots: Iterable[object], watch: Watch) -> None:
        self.tensors: dict[int, Variable] = {}
        self.host: dict[int, Variable] = {}
        self.transient: list[tuple[object, tuple[str, ...]]] = []
        self.reason: str | None = None
        self._known: set[CodeType] = set()
        self._executed = watch.other | watch.library | watch.package
        self._other = watch.other
        # The user's code must not read what cannot be guarded. The package's code reads what the
        # package has stored itself.
        self._names = _names(watch.other)
        self._all_names = self._names | _names(watch.package | watch.library)
        if "get_flags" in self._names:
            self._names.add("_flags")
        self._seen: set[tuple[int, bool]] = set()
        self._classes: set[type] = set()
        # Each place is an expression that is true while it holds what it has held, and its name.
        self._places: dict[str, str] = {}
        # The objects that were met, by their names in the expressions. Kept, since others would get
        # the identities of freed ones.
        self._objects: dict[str, object] = {"is_": is_}
        self._all_hold: Callable[[], bool] | None = None
        for root in roots:
            self._visit(root, "the step")
        for key in self.tensors:
            self.host.pop(key, None)

    # What is compared.

    def first_change(self) -> str | None:
        """Return what differs from what was read; None if nothing does."""
        if self._all_hold is None:
            self._all_hold = _compiled(" and ".join(self._places) or "True", self._objects)
        if self._all_hold():
            return None
        changed = (
            name for place, name in self._places.items() if not _compiled(place, self._objects)()
        )
        return f"{next(changed, 'what it reads')} has changed"

    def _compare(self, place: str, name: str) -> None:
        self._places.setdefault(place, name)
        self._all_hold = None

    def _named(self, value: object) -> str:
        """Return the name of an object in the expressions."""
        name = _name_of(value)
        self._objects[name] = value
        return name

    def _guard_attribute(self, holder: object, name: str, path: str) -> None:
        value = self._named(getattr(holder, name, None))
        self._compare(f"{self._named(holder)}.{name} is {value}", path)

    def _guard_item(self, holder: Mapping[str, object], key: str, path: str) -> None:
        value, place = holder.get(key, _MISSING), self._named(holder)
        if value is _MISSING:
            self._compare(f"{key!r} not in {place}", path)
        else:
            self._compare(f"{place}[{key!r}] is {self._named(value)}", path)

    def _guard_keys(self, holder: Mapping[str, object], path: str) -> None:
        if not all(type(key) is str for key in holder):
            self._refuse(f"{path} has an attribute whose name is no str")
        # Equal texts are the same key.
        keys = self._named(list(holder))
        self._compare(f"[*{self._named(holder)}] == {keys}", f"an attribute or item of {path}")

    def _guard_items(self, holder: Iterable[object], items: Collection[object], path: str) -> None:
        """Compare the items of a list, or the keys or values of a dict."""
        place, now = self._named(holder), self._named(items)
        same = f"len({place}) == {len(items)} and all(map(is_, {place}, {now}))"
        self._compare(same, f"an attribute or item of {path}")

    def guard_tensor(self, tensor: Variable, *, memory: bool) -> None:
        """Check that a tensor is or is not differentiated, and has its memory, in each replay."""
        path = f"'{getattr(tensor, 'name', 'a tensor')}'"
        self._guard_attribute(tensor, "_node", f"'requires_grad' of {path}")
        if memory:
            self._guard_attribute(tensor, "_data", f"the memory of {path}")

    def holds(self, value: object) -> bool:
        """Return whether the step reads an object besides its arguments."""
        return _name_of(value) in self._objects

    def untracked_code(self, executed: Watch) -> str | None:
        """Return why the code that ran is not what the guards were made for; None if it is."""
        for code in executed.other - self._known:
            return f"{_where(code)} is called in a way that cannot be followed"
        return executed.impure()

    # What is read.

    def _refuse(self, reason: str) -> None:
        self.reason = self.reason or reason

    def _visit(self, value: object, path: str, *, needed: bool = True) -> None:
        """Follow one value.

        Args:
            value: The value.
            path: How to call it in a reason.
            needed: Whether the user's code can read it, so that all of it must be guarded.
        """
        if self.reason is not None or is_immutable(value) or _is_function_of_numpy(value):
            return
        if (id(value), needed) in self._seen:
            return
        self._seen.add((id(value), needed))
        self._named(value)
        kind = type(value)
        if is_a(value, Variable):
            self._visit_tensor(value, path)
        elif _is_container(value):
            self._visit_container(value, path, needed=needed)
        elif is_a(value, FunctionType):
            self._visit_function(value, path)
        elif kind in _MADE_OF_FIELDS:
            self._visit_fields(value, path)
        elif is_a(value, type):
            self._visit_class(value, path)
        elif is_a(value, ModuleType):
            self._visit_module(value, path)
        elif kind is enum_property:
            self._visit(vars(value)["fget"], path)
        elif (
            _is_cell(value)
            or (is_of_package(kind) and hasattr(value, "__dict__"))
            or is_a(kind, EnumMeta)
        ):
            self._visit_object(value, path)
        elif is_a(value, BuiltinFunctionType) and not _is_pure(value):
            # Such as the `append` of a list, as a hook: no code of it runs that could be seen.
            self._refuse(f"{path} is the function '{value.__qualname__}', which is written in C")
        elif (needed or callable(value)) and not _is_pure(value):
            self._refuse(f"{path} is of the class '{kind.__name__}', whose changes cannot be seen")

    def _visit_container(self, items: Collection[object], path: str, *, needed: bool) -> None:
        if len(items) > _MAX_ITEMS:
            self._refuse(f"{path} holds {len(items)} items, more than {_MAX_ITEMS}")
            return
        keys: Collection[object] = range(len(items))
        if is_dict(items):
            keys = [*items]
            self._guard_items(items, keys, path)
            items = items.values()
        if not is_tuple(items):
            self._guard_items(items, [*items], path)
        for key, item in zip(keys, items, strict=True):
            self._visit(key, f"a key of {path}", needed=needed)
            self._visit(item, f"{path}[{key!r}]", needed=needed)

    def _visit_fields(self, value: object, path: str) -> None:
        state = state_of(value)
        if state is None or self._names & state.attributes.keys():
            self._refuse(f"{path} has attributes of its own")
            return
        for name in state.fields:
            self._guard_attribute(value, name, f"{path}.{name}")
            self._visit(getattr(value, name), f"{path}.{name}")

    def _visit_tensor(self, tensor: Variable, path: str) -> None:
        self.tensors[id(tensor)] = tensor
        if tensor._node is not None and tensor._node.rule is not None:
            self._refuse(f"{path} has a hook, or its gradient is computed")
        kind, state = type(tensor), state_of(tensor)
        if state is None or state.attributes or not is_of_package(kind):
            self._refuse(f"{path} is of a class of the user, or has attributes of its own")
            return
        self._visit_class(kind, path)
        for name in self._names.intersection(state.fields) - {"_node", "_data"}:
            self._guard_attribute(tensor, name, f"{path}.{name}")

    def _visit_object(self, value: object, path: str) -> None:
        """Follow the attributes of a cell, or of another object of the package."""
        kind, attributes = type(value), vars(value)
        captured: frozenset[str] | None = None
        transient: tuple[str, ...] = ()
        if _is_cell(value):
            captured, transient = value._captured, value._transient
            if attributes.get("_hooks") is not None or hasattr(value, "bprop"):
                self._refuse(f"the cell {path} of class {kind.__name__} has a hook or a 'bprop'")
            if captured is not None and not is_of_package(kind):
                self._refuse(f"the optimizer {kind.__name__} is not one of minispore's")
            if transient:
                self.transient.append((value, transient))
        self._compare(f"type({self._named(value)}) is {self._named(kind)}", f"the class of {path}")
        self._visit_class(kind, path)
        self._guard_attribute(value, "__dict__", f"the attributes of {path}")
        self._guard_keys(attributes, path)
        for name, item in attributes.items():
            needed = name in self._names
            is_host = captured is not None and name not in captured
            if is_host:
                self._find_host_tensors(item)
            is_read = needed or (name in self._all_names and name not in _UNREAD)
            if name in transient or not (is_read or _may_hold_tensors(item)):
                continue
            if name.isidentifier() and not any(name in vars(cls) for cls in kind.__mro__):
                self._guard_attribute(value, name, f"{path}.{name}")
            else:
                self._guard_item(attributes, name, f"{path}.{name}")
            if needed or not is_host:
                self._visit(item, f"{path}.{name}", needed=needed)

    def _find_host_tensors(self, value: object) -> None:
        """Note the tensors that an optimizer reads to compute the numbers of a step."""
        if is_a(value, Variable):
            self.host[id(value)] = value
        elif not self.holds(value) and _may_hold_tensors(value):
            self._named(value)
            for item in vars(value).values() if _is_cell(value) else as_items(value) or ():
                self._find_host_tensors(item)

    def _visit_class(self, kind: type, path: str) -> None:
        if kind in _PURE_BUILTINS or kind is np.dtype or kind in self._classes:
            return
        self._classes.add(kind)
        bases = [cls for cls in kind.__mro__ if cls not in _PURE_BUILTINS and cls is not Generic]
        if not all(map(is_of_package, bases)):
            if not hasattr(kind, "_transient") and type(kind) is not EnumMeta:
                self._refuse(
                    f"{path} is of the class '{kind.__name__}', which is no class of cells"
                )
                return
            self._guard_attribute(kind, "__mro__", f"the bases of '{kind.__name__}'")
            if not is_of_package(type(kind)) and type(kind) not in (type, EnumMeta):
                self._refuse(f"{path} is of the class '{kind.__name__}', which has a metaclass")
        for cls in bases:
            if is_of_package(cls):
                self._guard_class(kind, cls)
            else:
                self._visit_users_class(cls, path)

    def _guard_class(self, kind: type, cls: type) -> None:
        """Compare the attributes that a class has from one of the package, and that are read."""
        for name, value in vars(cls).items():
            codes, path = _codes(value), f"'{name}' of the class '{cls.__name__}'"
            if codes & self._other:  # the user has put it there
                self._visit(value, path)
            # A class method is a new object each time.
            is_read = name in self._all_names and codes <= self._executed
            if is_read and getattr(kind, name) is getattr(kind, name):
                self._guard_attribute(kind, name, path)

    def _visit_users_class(self, cls: type, path: str) -> None:
        attributes = vars(cls)
        if "__class__" in attributes or is_a(attributes.get("__getattribute__"), FunctionType):
            self._refuse(f"the class '{cls.__name__}' computes its attributes")
        if any(
            issubclass(type(item), _OF_C) and name not in _OF_INSTANCES and item.__objclass__ is cls
            for name, item in attributes.items()
        ):
            self._refuse(f"{path} is of the class '{cls.__name__}', which has slots or is of C")
        self._guard_keys(attributes, f"the class '{cls.__name__}'")
        for name, value in attributes.items():
            # Python calls special methods, whose names do not stand in the code.
            implicit = _is_special(name) and callable(value) and type(value) not in _OF_C
            if implicit or name in self._all_names or _codes(value) & self._other:
                self._guard_item(attributes, name, f"'{name}' of the class '{cls.__name__}'")
            if implicit or name in self._names or _codes(value) & self._other:
                self._visit(value, f"'{name}' of the class '{cls.__name__}'")

    def _visit_module(self, module: ModuleType, path: str) -> None:
        if type(module) is not ModuleType or not isinstance(
            vars(module).get("__getattr__"), FunctionType | None
        ):
            self._refuse(f"the attributes of {path} are computed by a class or by C")
        self._bind(vars(module), self._names & vars(module).keys(), f" of '{module.__name__}'")

    def _visit_function(self, function: FunctionType, path: str) -> None:
        code = function.__code__
        if self._names & vars(function).keys():
            self._refuse(f"{path} has attributes of its own")
        in_minispore = in_package(code)
        if not in_minispore and code not in self._executed:
            return
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self._visit_closure(cell, f"'{name}' of {code.co_name}", needed=not in_minispore)
        if in_minispore:
            return
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            self._guard_attribute(function, name, f"'{name}' of {path}")
        self._visit((function.__defaults__, function.__kwdefaults__), path)
        own_builtins = function.__globals__.get("__builtins__", builtins)
        if own_builtins is not builtins and own_builtins is not _BUILTINS:
            self._refuse(f"{_where(code)} has built-in functions of its own")
        nested = nested_code(code)
        self._known.update(nested)
        for inner in nested:
            self._check(inner, top=code)
        names = {read.name for read in variable_reads(code) if read.is_global}
        self._bind(function.__globals__, names, f", which {_where(code)} reads,")

    def _visit_closure(self, cell: CellType, path: str, *, needed: bool) -> None:
        try:
            value: object = cell.cell_contents
        except ValueError:
            self._refuse(f"{path} is not assigned yet")
            return
        self._guard_attribute(cell, "cell_contents", path)
        self._visit(value, path, needed=needed)

    def _bind(self, mapping: dict[str, object], names: Iterable[str], where: str) -> None:
        for name in sorted(names):
            path = f"'{name}'{where}"
            self._guard_item(mapping, name, path)
            if name in mapping:
                self._visit(mapping[name], name)
            else:
                self._guard_item(_BUILTINS, name, path)
                if not _is_pure(_BUILTINS.get(name)):
                    self._refuse(f"{path} is not a function of its arguments only")

    def _check(self, code: CodeType, top: CodeType) -> None:
        for instruction in dis.get_instructions(code):
            name, operand = instruction.opname, instruction.argval
            is_free = name in ("STORE_DEREF", "DELETE_DEREF") and operand in top.co_freevars
            if name in _REFUSED or is_free:
                action = _REFUSED.get(name, "assigns the variable")
                shown = f" '{operand}'" if isinstance(operand, str) else ""
                self._refuse(f"{_where(code)} {action}{shown}")
        hidden = [name for name in code.co_names if name in _READ_BY_TEXT or _is_special(name)]
        if hidden:
            self._refuse(f"{_where(code)} reads '{hidden[0]}'")


def _name_of(value: object) -> str:
    return f"x{id(value)}"


def _compiled(condition: str, objects: dict[str, object]) -> Callable[[], bool]:
    """Return a function that returns whether a condition is true, and false where it fails.

    Python's compiler makes the comparisons several times as fast as functions of C that are mapped
    over lists.
    """
    body = f"try: return {condition}\n except (AttributeError, KeyError, ValueError): return False"
    space: dict[str, Callable[[], bool]] = {}
    exec(f"def holds():\n {body}", objects, space)  # noqa: S102 (of our own text)
    return space["holds"]


def _may_hold_tensors(value: object) -> bool:
    return issubclass(type(value), Variable | tuple | list) or _is_cell(value)


def _is_container(value: object) -> TypeGuard[Collection[object]]:
    """Return whether a value is of a type that holds its items and nothing else."""
    kind = type(value)
    return kind in (tuple, list, dict) or (is_of_package(kind) and issubclass(kind, tuple))


def _names(codes: Iterable[CodeType]) -> set[str]:
    return {name for code in codes for inner in nested_code(code) for name in inner.co_names}


def _codes(value: object) -> set[CodeType]:
    """Return the code of a function in a class."""
    function: object = getattr(value, "fget", value)
    function = getattr(function, "__func__", function)
    return {function.__code__} if isinstance(function, FunctionType) else set()


def _is_special(name: str) -> bool:
    return name[:2] == name[-2:] == "__"


def _is_pure(function: object) -> bool:
    """Return whether a function or class of C depends on its arguments only."""
    if is_a(function, MethodDescriptorType):
        # Such as `str.upper`. A text can name attributes that `str.format` reads.
        known = function.__objclass__ in _PURE_BUILTINS - {object, type}
        return known and function.__name__ not in _READ_BY_TEXT
    if is_a(function, BuiltinFunctionType):
        return function.__module__ == "math" or function in _PURE_BUILTINS | _PURE_FUNCTIONS
    return is_a(function, type) and function in _PURE_BUILTINS


def _is_function_of_numpy(value: object) -> bool:
    """Return whether a function calls a tensor's methods, or code that is seen to run."""
    if is_a(value, np.ufunc):
        return vars(np).get(value.__name__) is value
    return issubclass(type(value), type(np.sum))


def _where(code: CodeType) -> str:
    return f"'{code.co_name}' ({code.co_filename}:{code.co_firstlineno})"
