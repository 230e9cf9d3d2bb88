"""Guards of a captured step: the objects that it reads, and a check that they are unchanged.

While a step runs, `Watch` notes which Python code runs. `Guards` then follow the names in that code
from the step's function: attributes, global variables, closures, items. A value is admitted for its
type: it is immutable, or what it holds is guarded, place by place, and compared before each replay.
Code of the package is known to depend on its arguments and on what is guarded; other code must show
it in its instructions. Everything else is a reason to run the step eagerly.
"""

import builtins
import dis
import gc
import operator
import os
import sys
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from enum import property as enum_property
from functools import partial
from itertools import chain, islice, repeat
from operator import is_
from os.path import dirname, join
from types import (
    BuiltinFunctionType,
    CellType,
    ClassMethodDescriptorType,
    CodeType,
    FrameType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import ClassVar, Final, Generic, Protocol, TypeGuard

import numpy as np

from minispore.common._object_state import (
    STDLIB,
    State,
    is_immutable,
    nested_code,
    state_of,
    variable_reads,
)
from minispore.engine.dispatch import Variable
from minispore.graph.tape import Tape
from minispore.utils.checks import is_dict, is_mapping

ROOT: Final = join(dirname(dirname(__file__)), "")
# This package and those below it. The code of those above is judged as a program's.
_PACKAGES: Final = (
    *("__init__", "_metrics", "common", "communication", "context", "dataset", "engine", "graph"),
    *("log", "nn", "ops", "utils"),
)
_FILES: Final = tuple(join(ROOT, f"{name}{end}") for name in _PACKAGES for end in (os.sep, ".py"))
# The modules whose code depends on its arguments and on attributes of cells only.
PURE: Final = tuple(
    join(ROOT, *path.split("/"))
    for path in (
        "engine/",
        "graph/",
        "nn/",
        "ops/",
        "common/dtype.py",
        "utils/checks.py",
    )
)
IMPURE: Final = (join(ROOT, "ops", "summary.py"),)
_NUMPY: Final = join(dirname(np.__file__), "")
# Functions written in Python that depend on their arguments and on guarded attributes only, though
# their instructions do not show it.
_PURE_CODE: Final = frozenset([enum_property.__get__.__code__])

_PURE_BUILTINS: Final = frozenset(
    [
        *(abs, all, any, bool, dict, divmod, enumerate, filter, float, int, isinstance, issubclass),
        *(len, list, map, max, min, range, reversed, round, slice, sorted, str, sum, super, tuple),
        *(type, zip, object, set, frozenset, complex, bytes, property, staticmethod, classmethod),
        *(ArithmeticError, AssertionError, IndexError, KeyError, NotImplementedError),
        *(RuntimeError, TypeError, ValueError, Exception, BaseException, LookupError),
    ]
)
# Classes of C whose instances are made of their arguments only.
_PURE_CLASSES: Final = frozenset([partial, OrderedDict, Generic, np.dtype])
_OPERATORS: Final = frozenset(
    function
    for name, function in vars(operator).items()
    if isinstance(function, BuiltinFunctionType)
    and name not in ("setitem", "delitem", "length_hint", "call")
)
# What a class holds for a slot, or an item of a named tuple.
_DESCRIPTORS_OF_FIELDS: Final = (MemberDescriptorType, type(State.fields))
_C_METHODS: Final = (MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType)
# Items of classes whose code is seen to run, or that depend on their arguments only.
_HAVE_CODE: Final = (FunctionType, *_C_METHODS)
# Methods by which a container is compared.
_METHODS_OF_CONTAINERS: Final = ("__iter__", "__len__", "keys", "values")
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
_MAY_HOLD_TENSORS: tuple[type, ...] = (Variable, tuple)
# The flag of classes whose instances keep their class, and that cannot be changed.
_IMMUTABLE_TYPE: Final = 1 << 8
# Attributes of cells that a step does not read unless its code names them.
_UNREAD: Final = frozenset(["_flags", "_initial_arguments", "_names_in_parameter_tuples"])
# Longer containers would take longer to compare than a step takes to run.
_MAX_ITEMS: Final = 10_000
_BUILTINS: Final[dict[str, object]] = builtins.__dict__
_MISSING: Final = object()
_ABSENT: Final = repeat(_MISSING)
_GET: Final[Callable[[dict[str, object], str, object], object]] = dict[str, object].get


_Dict = Mapping[str, object] | Mapping[object, object]


class _Holder(Protocol):
    """The class attributes of `Cell` that graph mode reads."""

    _transient: ClassVar[tuple[str, ...]]
    _captured: ClassVar[frozenset[str] | None]


def is_cell(value: object) -> TypeGuard[_Holder]:
    """Return whether `value` is a cell."""
    return hasattr(type(value), "_transient")


def in_package(code: CodeType) -> bool:
    """Return whether code belongs to graph mode or to what it knows."""
    return code.co_filename.startswith(_FILES)


def _of_package(kind: type) -> bool:
    top, package, *_ = f"{kind.__module__}.".split(".")
    return top == "minispore" and package in _PACKAGES


class Watch:
    """Notes which Python code runs.

    Args:
        tape: While it is paused, nothing is noted.

    Attributes:
        package: The package's code.
        library: Functions of Python and numpy that the package has called.
        other: All other code: the user's, and functions of libraries that the user's code calls.
    """

    def __init__(self, tape: Tape) -> None:
        self.package: set[CodeType] = set()
        self.library: set[CodeType] = set()
        self.other: set[CodeType] = set()
        self._tape = tape
        self._collects = gc.isenabled()

    def start(self) -> None:
        """Begin."""
        # The garbage collector would call code that has nothing to do with the step.
        gc.disable()
        sys.setprofile(self._note)

    def stop(self) -> None:
        """End; it may be called again."""
        sys.setprofile(None)
        if self._collects:
            gc.enable()

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or self._tape.paused:
            return
        code = frame.f_code
        if in_package(code) or _is_generated(frame):
            self.package.add(code)
        elif code in _PURE_CODE or (_is_library(frame) and _is_called_by_package(frame)):
            self.library.add(code)
        else:
            self.other.add(code)

    def impure(self) -> list[CodeType]:
        """Return the code of the package that depends on more than its arguments."""
        return [
            code
            for code in self.package
            if in_package(code)
            and (not code.co_filename.startswith(PURE) or code.co_filename in IMPURE)
        ]


def _is_generated(frame: FrameType) -> bool:
    """Return whether a frame runs a method of a named tuple, or of a data class of the package."""
    module = str(frame.f_globals.get("__name__"))
    return frame.f_code.co_filename == "<string>" and module.startswith(
        ("namedtuple_", "minispore.")
    )


def _is_library(frame: FrameType) -> bool:
    """Return whether a frame runs code of numpy or of Python itself, without site-packages."""
    top, file = str(frame.f_globals.get("__name__")).partition(".")[0], frame.f_code.co_filename
    if top not in sys.stdlib_module_names:
        return file.startswith(_NUMPY)
    # Code in an archive may name the file that it was compiled from, which was elsewhere.
    places = tuple(join(at, f"{top}{end}") for at in STDLIB for end in (os.sep, ".py"))
    return file.startswith("<frozen ") or str(frame.f_globals.get("__file__")).startswith(places)


def _is_called_by_package(frame: FrameType) -> bool:
    caller = frame.f_back
    while caller is not None and _is_library(caller):
        caller = caller.f_back
    return caller is not None and in_package(caller.f_code)


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
        self._other = watch.other
        self._executed = watch.other | watch.library | watch.package
        # The user's code must not read what cannot be guarded. The package's code reads what the
        # package has stored itself.
        self._names = _names(watch.other)
        self._all_names = self._names | _names(watch.package | watch.library)
        if "get_flags" in self._names:
            self._names.add("_flags")
        self._seen: set[tuple[int, bool, bool]] = set()
        self._classes: set[type] = set()
        self._guarded: set[tuple[int, str]] = set()
        # The objects that were met, by their identities, which others get if they are freed.
        self._kept: dict[int, object] = {}
        # What is compared: the keys of dicts, the items of collections, attributes, and variables.
        self._dicts: list[_Dict] = []
        self._keys: list[list[object]] = []
        self._dict_paths: list[str] = []
        self._collections: list[Collection[object]] = []
        self._sizes: list[int] = []
        self._items: list[object] = []
        self._collection_paths: list[str] = []
        self._attributes: tuple[list[object], list[str]] = ([], [])
        self._attribute_values: list[object] = []
        self._attribute_paths: list[str] = []
        self._bindings: tuple[list[dict[str, object]], list[str]] = ([], [])
        self._binding_values: list[object] = []
        self._binding_paths: list[str] = []
        for root in roots:
            self._visit(root, "the step")
        for key in self.tensors:
            self.host.pop(key, None)

    def first_change(self) -> str | None:
        """Return what differs from what was read; None if nothing does."""
        # Every replay compares all of it, so only functions of C are called.
        if (
            list(map(list, self._dicts)) == self._keys
            and list(map(len, self._collections)) == self._sizes
            and all(map(is_, chain.from_iterable(self._collections), self._items))
            and all(map(is_, map(getattr, *self._attributes, _ABSENT), self._attribute_values))
            and all(map(is_, map(_GET, *self._bindings, _ABSENT), self._binding_values))
        ):
            return None
        return self._first_difference()

    def _first_difference(self) -> str:
        for mapping, keys, path in zip(self._dicts, self._keys, self._dict_paths, strict=True):
            if list(mapping) != keys:
                return f"an attribute or item of {path} has changed"
        items = iter(self._items)
        for collection, size, path in zip(
            self._collections, self._sizes, self._collection_paths, strict=True
        ):
            if len(collection) != size or not all(map(is_, collection, islice(items, size))):
                return f"an attribute or item of {path} has changed"
        attributes = map(getattr, *self._attributes, _ABSENT)
        bindings = map(_GET, *self._bindings, _ABSENT)
        found: Iterator[object] = chain(attributes, bindings)
        for value, path in zip(
            (*self._attribute_values, *self._binding_values),
            (*self._attribute_paths, *self._binding_paths),
            strict=True,
        ):
            if next(found) is not value:
                return f"{path} has changed"
        return "what it reads has changed"

    def _guard_container(self, container: Collection[object], path: str) -> None:
        """Check the keys and items of a container."""
        if (id(container), "items") in self._guarded:
            return
        self._guarded.add((id(container), "items"))
        self._kept[id(container)] = container
        for name in _METHODS_OF_CONTAINERS:
            if isinstance(getattr(type(container), name, None), FunctionType):
                self._refuse(f"the class of {path} defines '{name}'")
                return
        if len(container) > _MAX_ITEMS:
            self._refuse(f"{path} holds {len(container)} items, more than {_MAX_ITEMS}")
        if is_mapping(container):
            if all(type(key) is str for key in container):
                # Equal texts are the same key, and are compared faster than identities.
                self._dicts.append(container)
                self._keys.append(list(container))
                self._dict_paths.append(path)
            else:
                self._guard_items(container, path)
            self._guard_items(container.values(), path)
        elif not isinstance(container, tuple | frozenset):
            self._guard_items(container, path)

    def _guard_items(self, collection: Collection[object], path: str) -> None:
        self._collections.append(collection)
        self._sizes.append(len(collection))
        self._items.extend(collection)
        self._collection_paths.append(path)

    def _guard_attribute(self, holder: object, name: str, path: str) -> None:
        if (id(holder), name) not in self._guarded:
            self._guarded.add((id(holder), name))
            self._attributes[0].append(holder)
            self._attributes[1].append(name)
            self._attribute_values.append(getattr(holder, name, _MISSING))
            self._attribute_paths.append(path)

    def _guard_binding(self, mapping: dict[str, object], name: str, path: str) -> None:
        self._bindings[0].append(mapping)
        self._bindings[1].append(name)
        self._binding_values.append(mapping.get(name, _MISSING))
        self._binding_paths.append(path)

    def guard_tensor(self, tensor: Variable, *, memory: bool) -> None:
        """Check that a tensor is or is not differentiated, and has its memory, in each replay."""
        path = f"'{getattr(tensor, 'name', 'a tensor')}'"
        self._guard_attribute(tensor, "_node", f"'requires_grad' of {path}")
        if memory:
            self._guard_attribute(tensor, "_data", f"the memory of {path}")

    def _refuse(self, reason: str) -> None:
        self.reason = self.reason or reason

    def _visit(self, value: object, path: str, *, host: bool = False, needed: bool = True) -> None:
        """Follow one value.

        Args:
            value: The value.
            path: How to call it in a reason.
            host: Whether only the host reads it.
            needed: Whether the user's code can read it, so that all of it must be guarded.
        """
        if isinstance(type(value).__getattribute__, FunctionType):
            self._refuse(f"the class of {path} computes its attributes")
        if self.reason is not None or is_immutable(value) or _is_function_of_numpy(value):
            return
        key = id(value), host, needed
        if key in self._seen:
            return
        self._seen.add(key)
        self._kept[id(value)] = value
        if isinstance(value, Variable):
            self._visit_tensor(value, path, host=host)
        elif is_cell(value):
            self._visit_cell(value, path, host=host)
        elif isinstance(value, type):
            self._visit_class(value, path)
        elif isinstance(value, ModuleType):
            if type(value) is not ModuleType:
                self._visit_class(type(value), path)
            if not isinstance(vars(value).get("__getattr__"), FunctionType | None):
                self._refuse(f"the attributes of {path} are computed by C")
            self._bind(vars(value), self._names & vars(value).keys(), f" of '{value.__name__}'")
        elif isinstance(value, BuiltinFunctionType):
            self._visit_builtin(value, path)
        elif (state := state_of(value)) is not None:
            self._visit_state(value, state, path, host=host, needed=needed)
        elif (needed or callable(value)) and not (
            isinstance(value, _DESCRIPTORS_OF_FIELDS) or _is_pure_method(value)
        ):
            self._refuse(f"{path} is a {type(value).__name__}, whose changes cannot be seen")

    def _visit_state(
        self, value: object, state: State, path: str, *, host: bool, needed: bool
    ) -> None:
        """Guard the class, fields, attributes and items of an object, and follow them."""
        if isinstance(value, FunctionType):
            self._visit_function(value, path)
            return
        if not type(value).__flags__ & _IMMUTABLE_TYPE:
            self._guard_attribute(value, "__class__", f"the class of {path}")
            self._visit_class(type(value), path)
        for name in state.fields:
            if not _is_read_as_field(value, name):
                self._refuse(f"{path}.{name} is hidden by a subclass")
            self._guard_attribute(value, name, f"{path}.{name}")
            self._visit(getattr(value, name, None), f"{path}.{name}", host=host, needed=needed)
        self._visit_attributes(value, state.attributes, path, host=host, needed=needed)
        items = state.items
        if items is None:
            return
        if needed or not host:
            self._guard_container(items, path)
        if self.reason is not None:
            return
        keys: Iterable[object] = items if is_dict(items) else range(len(items))
        values = items.values() if is_dict(items) else items
        for key, item in zip(keys, values, strict=True):
            self._visit(key, f"a key of {path}", host=host, needed=needed)
            self._visit(item, f"{path}[{key!r}]", host=host, needed=needed)

    def _visit_attributes(
        self,
        holder: object,
        attributes: Mapping[str, object],
        path: str,
        *,
        host: bool,
        needed: bool,
    ) -> None:
        kind = type(holder) if is_cell(holder) else None
        captured, transient = (kind._captured, kind._transient) if kind else (None, ())
        if (needed or not host) and hasattr(holder, "__dict__"):
            self._guard_attribute(holder, "__dict__", f"the attributes of {path}")
            self._guard_container(attributes, path)
        for name, value in attributes.items():
            by_user = name in self._names
            if name in transient or not (
                by_user
                or (name in self._all_names and name not in _UNREAD)
                or is_cell(value)
                or isinstance(value, _MAY_HOLD_TENSORS)
            ):
                continue
            if by_user and host:
                self._guard_binding(vars(holder), name, f"{path}.{name}")
            is_host = host or (captured is not None and name not in captured)
            self._visit(value, f"{path}.{name}", host=is_host, needed=by_user)

    def _visit_tensor(self, tensor: Variable, path: str, *, host: bool) -> None:
        (self.host if host else self.tensors)[id(tensor)] = tensor
        if tensor._node is not None and tensor._node.rule is not None:
            self._refuse(f"{path} has a hook, or its gradient is computed")
        self._visit_class(type(tensor), path)
        state = state_of(tensor)
        if state is not None:
            self._visit_attributes(tensor, state.attributes, path, host=host, needed=True)
            for name in self._names.intersection(state.fields):
                self._guard_attribute(tensor, name, f"{path}.{name}")
                self._visit(getattr(tensor, name, None), f"{path}.{name}")

    def _visit_cell(self, cell: _Holder, path: str, *, host: bool) -> None:
        kind, attributes = type(cell), vars(cell)
        if not host:
            if attributes.get("_hooks") is not None or hasattr(cell, "bprop"):
                self._refuse(f"the cell {path} of class {kind.__name__} has a hook or a 'bprop'")
            if kind._captured is not None and not _of_package(kind):
                self._refuse(f"the optimizer {kind.__name__} is not one of minispore's")
            self._guard_attribute(cell, "__class__", f"the class of {path}")
            if kind._transient:
                self.transient.append((cell, kind._transient))
            self._visit_class(kind, path)
        self._visit_attributes(cell, attributes, path, host=host, needed=False)

    def _visit_class(self, kind: type, path: str) -> None:
        if kind in self._classes:
            return
        self._classes.add(kind)
        self._guard_attribute(kind, "__mro__", f"the bases of '{kind.__name__}'")
        if type(kind) is not type:
            self._guard_attribute(kind, "__class__", f"the metaclass of '{kind.__name__}'")
            self._visit_class(type(kind), f"the metaclass of {path}")
        for cls in kind.__mro__:
            attributes, of_package = vars(cls), _of_package(cls)
            if cls in _PURE_BUILTINS or cls in _PURE_CLASSES or _is_number_of_numpy(cls):
                continue
            if any(
                isinstance(item, _C_METHODS) and item.__objclass__ is cls
                for item in attributes.values()
            ):
                self._refuse(f"{path} is of the class '{cls.__name__}', which is written in C")
                continue
            if "__class__" in attributes:
                self._refuse(f"the class '{cls.__name__}' computes its attributes")
            if not of_package:
                self._guard_container(attributes, f"the class '{cls.__name__}'")
            for name, value in attributes.items():
                codes = _codes(value)
                by_user = (
                    name in self._names
                    or codes & self._other
                    or (not of_package and _is_implicit_call(name, value))
                )
                if of_package and (
                    by_user or (name in self._all_names and codes <= self._executed)
                ):
                    self._guard_class_attribute(kind, name)
                if by_user:
                    self._visit(value, f"'{name}' of the class '{cls.__name__}'")

    def _guard_class_attribute(self, kind: type, name: str) -> None:
        # A class method is a new object each time.
        if getattr(kind, name) is getattr(kind, name):
            self._guard_attribute(kind, name, f"'{name}' of the class '{kind.__name__}'")

    def _visit_builtin(self, function: BuiltinFunctionType, path: str) -> None:
        if function.__module__ != "math" and function not in _PURE_BUILTINS | _OPERATORS:
            # Such as the `append` of a list, as a hook: no code of it runs that could be seen.
            self._refuse(f"{path} is the function '{function.__qualname__}', which is written in C")

    def _visit_function(self, function: FunctionType, path: str) -> None:
        code = function.__code__
        attributes = vars(function)
        if names := self._names & attributes.keys():
            self._guard_attribute(function, "__dict__", f"the attributes of {path}")
            self._bind(attributes, names, f" of {path}")
        in_minispore = in_package(code)
        if not in_minispore and code not in self._executed:
            return
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self._visit_closure(cell, f"'{name}' of {code.co_name}", needed=not in_minispore)
        self._visit((function.__defaults__, function.__kwdefaults__), path)
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            self._guard_attribute(function, name, f"'{name}' of {path}")
        if in_minispore:
            return
        own_builtins = function.__globals__.get("__builtins__", builtins)
        if own_builtins is not builtins and own_builtins is not vars(builtins):
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
            value = mapping.get(name, _MISSING)
            self._guard_binding(mapping, name, f"'{name}'{where}")
            if value is _MISSING:
                value = _BUILTINS.get(name, _MISSING)
                self._guard_binding(_BUILTINS, name, f"'{name}'{where}")
                if not isinstance(value, Hashable) or value not in _PURE_BUILTINS:
                    self._refuse(f"'{name}'{where} is not a function of its arguments only")
            else:
                self._visit(value, name)

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

    def holds(self, value: object) -> bool:
        """Return whether the step reads an object besides its arguments."""
        return id(value) in self._kept

    def untracked_code(self, executed: Watch) -> str | None:
        """Return why the code that ran is not what the guards were made for; None if it is."""
        for code in executed.other - self._known:
            return f"{_where(code)} is called in a way that cannot be followed"
        for code in executed.impure():
            return f"it calls '{code.co_name}' of '{code.co_filename.removeprefix(ROOT)}'"
        return None


def _names(codes: Iterable[CodeType]) -> set[str]:
    return {name for code in codes for inner in nested_code(code) for name in inner.co_names}


def _codes(value: object) -> set[CodeType]:
    """Return the code of a function in a class."""
    function: object = getattr(value, "fget", value)
    function = getattr(function, "__func__", function)
    return {function.__code__} if isinstance(function, FunctionType) else set()


def _is_special(name: str) -> bool:
    return name[:2] == name[-2:] == "__"


def _is_implicit_call(name: str, value: object) -> bool:
    """Return whether an instruction may call an item of a class that shows no code of its own."""
    return _is_special(name) and callable(value) and not isinstance(value, _HAVE_CODE)


def _is_pure_method(value: object) -> bool:
    """Return whether a value is a method of C that reads its arguments, and nothing by text."""
    return (
        isinstance(value, MethodDescriptorType)
        and value.__objclass__ in _PURE_BUILTINS - {object, type}
        and value.__name__ not in _READ_BY_TEXT
    )


def _is_function_of_numpy(value: object) -> bool:
    """Return whether a function calls a tensor's methods, or code that is seen to run."""
    if isinstance(value, np.ufunc):
        return vars(np).get(value.__name__) is value
    return isinstance(value, type(np.sum))


def _is_number_of_numpy(kind: type) -> bool:
    return issubclass(kind, np.generic) and bool(kind.__flags__ & _IMMUTABLE_TYPE)


def _is_read_as_field(value: object, name: str) -> bool:
    """Return whether no subclass has another attribute with the name of a field."""
    found = next(vars(cls)[name] for cls in type(value).__mro__ if name in vars(cls))
    return isinstance(found, MemberDescriptorType | GetSetDescriptorType)


def _where(code: CodeType) -> str:
    return f"'{code.co_name}' ({code.co_filename}:{code.co_firstlineno})"
