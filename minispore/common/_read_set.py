"""What a step reads besides its inputs, and whether all of that is as it was.

While a step runs, `Watch` notes which Python code runs. A `ReadSet` then follows the names in that
code from the step's function: attributes of cells, global variables, closures, items of lists. What
it finds is checked before each replay. What it cannot follow is a reason to run the step eagerly.
"""

import builtins
import dis
import gc
import math
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, islice, repeat
from operator import is_
from os.path import dirname, join
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FrameType,
    FunctionType,
    MethodType,
    ModuleType,
)
from typing import ClassVar, Final, Protocol, Self, TypeGuard

import numpy as np

from minispore.engine.array.recording import Tape
from minispore.engine.dispatch import Variable
from minispore.utils.checks import is_dict, is_list, is_sequence

ROOT: Final = join(dirname(dirname(__file__)), "")
# The modules whose code depends on its arguments and on attributes of cells only.
PURE: Final = tuple(
    join(ROOT, *each.split("/"))
    for each in (
        "engine/",
        "_cli/tutorial.py",
        "_functional/",
        "nn/",
        "ops/",
        "common/_numpy_protocol.py",
        "common/_read_set.py",
        "common/dtype.py",
        "common/graph_mode.py",
        "common/jit.py",
        "common/parameter.py",
        "common/tensor.py",
        "utils/checks.py",
    )
)
IMPURE: Final = (join(ROOT, "ops", "summary.py"),)
# Code that only the package calls, or the user's code by names that are checked.
LIBRARIES: Final = (join(dirname(os.__file__), ""), join(dirname(np.__file__), ""), "<frozen ")

_BUILTINS: Final = frozenset(
    [
        "abs",
        "all",
        "any",
        "bool",
        "dict",
        "divmod",
        "enumerate",
        "filter",
        "float",
        "int",
        "isinstance",
        "issubclass",
        "len",
        "list",
        "map",
        "max",
        "min",
        "range",
        "reversed",
        "round",
        "slice",
        "sorted",
        "str",
        "sum",
        "super",
        "tuple",
        "type",
        "zip",
        "ArithmeticError",
        "AssertionError",
        "IndexError",
        "KeyError",
        "NotImplementedError",
        "RuntimeError",
        "TypeError",
        "ValueError",
    ]
)
_MAY_HOLD_TENSORS: tuple[type, ...] = (Variable, tuple)
_DESCRIPTORS: tuple[type, ...] = (property, staticmethod, classmethod)
_CONSTANTS: Final = (
    *(type(None), bool, int, float, complex, str, bytes),
    *(slice, range, type(...), np.generic, np.dtype),
)
_MUTATORS: Final = frozenset(
    [
        "add",
        "append",
        "clear",
        "discard",
        "extend",
        "insert",
        "pop",
        "popitem",
        "remove",
        "reverse",
        "setdefault",
        "sort",
        "update",
    ]
)
# Instructions of user code that change something, or that depend on more than its names.
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
    "PUSH_EXC_INFO": "handles exceptions",
    "BEFORE_WITH": "uses 'with'",
    "LOAD_SPECIAL": "uses 'with'",
    "LOAD_BUILD_CLASS": "defines a class",
}
# Attributes of cells that a step does not read unless the user's code names them.
_UNREAD: Final = frozenset(["_flags", "_initial_arguments", "_listed"])
_MISSING: Final = object()
_ABSENT: Final = repeat(_MISSING)
_GET: Final[Callable[[dict[str, object], str, object], object]] = dict[str, object].get


_Dict = Mapping[str, object] | Mapping[object, object]


class _Holder(Protocol):
    """What the class of a cell says of its attributes."""

    _transient: ClassVar[tuple[str, ...]]
    _recorded: ClassVar[frozenset[str] | None]


def is_cell(value: object) -> TypeGuard[_Holder]:
    """Return whether `value` is a cell."""
    return hasattr(type(value), "_transient")


def in_package(code: CodeType) -> bool:
    """Return whether code belongs to the package."""
    return code.co_filename.startswith(ROOT)


def of_package(value: object) -> bool:
    """Return whether a class, function or module is of the package."""
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
    return str(name).partition(".")[0] == "minispore"


class Watch:
    """A context manager that notes which Python code runs in its block.

    Args:
        tape: While it is paused, nothing is noted.

    Attributes:
        ran: The code.
        changed: The lists, dicts and sets that were changed by their methods.
    """

    def __init__(self, tape: Tape) -> None:
        self.ran: set[CodeType] = set()
        self.changed: list[object] = []
        self._tape = tape

    def __enter__(self) -> Self:
        # The garbage collector would call code that has nothing to do with the step.
        self._collects = gc.isenabled()
        gc.disable()
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        if self._collects:
            gc.enable()

    def _note(self, frame: FrameType, event: str, argument: object) -> None:
        if self._tape.paused:
            return
        if event == "call":
            code = frame.f_code
            # Named tuples and data classes have code of their own.
            generated = code.co_filename == "<string>" and str(
                frame.f_globals.get("__name__")
            ).startswith(("namedtuple_", "minispore."))
            if not generated:
                self.ran.add(code)
        elif event == "c_call" and getattr(argument, "__name__", "") in _MUTATORS:
            self.changed.append(getattr(argument, "__self__", None))

    def user_code(self) -> set[CodeType]:
        """Return the code that is neither the package's nor its libraries'."""
        return {
            code
            for code in self.ran
            if not in_package(code) and not code.co_filename.startswith(LIBRARIES)
        }

    def impure(self) -> list[CodeType]:
        """Return the code of the package that depends on more than its arguments."""
        return [
            code
            for code in self.ran
            if in_package(code)
            and (not code.co_filename.startswith(PURE) or code.co_filename in IMPURE)
        ]


class ReadSet:
    """What a step reads: found by following names from its root.

    Args:
        roots: The function or cell of the step, and its arguments that are no tensors.
        ran: The user code that runs in the step.

    Attributes:
        tensors: The tensors that may be operands of the step.
        host: Those that only the host reads, such as learning rates.
        transient: The cells with attributes that a step replaces, and the names of these.
        reason: Why the step cannot be replayed; "" if it can.
    """

    def __init__(self, roots: Iterable[object], ran: set[CodeType]) -> None:
        self.tensors: dict[int, Variable] = {}
        self.host: dict[int, Variable] = {}
        self.transient: list[tuple[object, tuple[str, ...]]] = []
        self.reason: str = ""
        self.known: set[CodeType] = set()
        self.containers: dict[int, object] = {}
        self._ran = ran
        self._names = {name for code in ran for each in _nested(code) for name in each.co_names}
        if "get_flags" in self._names:
            self._names.add("_flags")
        self._seen: set[tuple[int, bool]] = set()
        self._kept: list[object] = []
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

    def differs(self) -> str:
        """Return what differs from what was read; "" if nothing does."""
        # Every replay compares all of it, so only functions of C are called.
        if (
            list(map(list, self._dicts)) == self._keys
            and list(map(len, self._collections)) == self._sizes
            and all(map(is_, chain.from_iterable(self._collections), self._items))
            and all(map(is_, map(getattr, *self._attributes, _ABSENT), self._attribute_values))
            and all(map(is_, map(_GET, *self._bindings, _ABSENT), self._binding_values))
        ):
            return ""
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

    def _guard_items(self, collection: Collection[object], path: str) -> None:
        self._collections.append(collection)
        self._sizes.append(len(collection))
        self._items.extend(collection)
        self._collection_paths.append(path)

    def _guard_attribute(self, holder: object, name: str, value: object, path: str) -> None:
        self._attributes[0].append(holder)
        self._attributes[1].append(name)
        self._attribute_values.append(value)
        self._attribute_paths.append(path)

    def _guard_binding(self, mapping: dict[str, object], name: str, path: str) -> None:
        self._bindings[0].append(mapping)
        self._bindings[1].append(name)
        self._binding_values.append(mapping.get(name, _MISSING))
        self._binding_paths.append(path)

    def guard_tensor(self, tensor: Variable, *, memory: bool) -> None:
        """Check that a tensor is or is not differentiated, and has its memory, in each replay."""
        path = f"'{getattr(tensor, 'name', 'a tensor')}'"
        self._guard_attribute(tensor, "_node", tensor._node, f"'requires_grad' of {path}")
        if memory:
            self._guard_attribute(tensor, "_data", tensor._data, f"the memory of {path}")

    def _refuse(self, reason: str) -> None:
        self.reason = self.reason or reason

    def _visit(  # noqa: PLR0912 (a case for each type)
        self, value: object, path: str, *, host: bool = False, needed: bool = True
    ) -> None:
        """Follow one value.

        Args:
            value: The value.
            path: How to call it in a reason.
            host: Whether only the host reads it.
            needed: Whether the user's code can read it, which it must not if it is of a kind whose
                changes cannot be seen.
        """
        if isinstance(value, _CONSTANTS) or (id(value), host) in self._seen:
            return
        self._seen.add((id(value), host))
        self._kept.append(value)
        if isinstance(value, Variable):
            (self.host if host else self.tensors)[id(value)] = value
            if value._node is not None and value._node.rule is not None:
                self._refuse(f"{path} has a hook, or its gradient is computed")
        elif is_cell(value):
            self._visit_cell(value, path, host=host)
        elif is_sequence(value):
            if is_list(value) and not host:
                self._guard_items(value, path)
                self.containers[id(value)] = value
            for i, item in enumerate(value):
                self._visit(item, f"{path}[{i}]", host=host, needed=needed)
        elif is_dict(value):
            self._whole(value, path)
            self.containers[id(value)] = value
            for key, item in value.items():
                self._visit(item, f"{path}[{key!r}]", host=host, needed=needed)
        elif isinstance(value, FunctionType):
            self._visit_function(value, path)
        elif isinstance(value, MethodType):
            self._visit(value.__func__, path)
            self._visit(value.__self__, path)
        elif isinstance(value, partial):
            self._visit((value.func, value.args, value.keywords), path)
        elif isinstance(value, _DESCRIPTORS):
            self._visit(_inner(value), path)
        elif isinstance(value, type):
            if not of_package(value) and value not in vars(builtins).values():
                self._visit_class(value, path)
        elif isinstance(value, ModuleType):
            if not of_package(value) and value is not math:
                self._visit_module(value, path)
        elif of_package(type(value)) and hasattr(value, "__dict__"):
            self._whole(vars(value), path)
            for name, item in vars(value).items():
                self._visit(item, f"{path}.{name}", needed=False)
        elif isinstance(value, BuiltinFunctionType) and value.__module__ == "math":
            return
        elif isinstance(value, BuiltinFunctionType) and not isinstance(value.__self__, ModuleType):
            # Such as the `append` of a list, as a hook: no code of it runs that could be seen.
            self._refuse(f"{path} is a method of a {type(value.__self__).__name__}")
        elif needed and not of_package(type(value)):
            self._refuse(f"{path} is a {type(value).__name__}, whose changes cannot be seen")

    def _whole(self, mapping: _Dict, path: str) -> None:
        if all(type(key) is str for key in mapping):
            # Equal texts are the same key, and their comparison is faster than that of identities.
            self._dicts.append(mapping)
            self._keys.append(list(mapping))
            self._dict_paths.append(path)
        else:
            self._guard_items(mapping, path)
        self._guard_items(mapping.values(), path)

    def _visit_cell(self, cell: _Holder, path: str, *, host: bool) -> None:
        kind, attributes = type(cell), vars(cell)
        own = of_package(kind)
        if host:
            for name, value in attributes.items():
                self._visit(value, f"{path}.{name}", host=True, needed=False)
            return
        if attributes.get("_hooks") is not None or hasattr(cell, "bprop"):
            self._refuse(f"the cell {path} of class {kind.__name__} has a hook or a 'bprop'")
        if kind._recorded is not None and not own:
            self._refuse(f"the optimizer {kind.__name__} is not one of minispore's")
        self._guard_attribute(cell, "__class__", kind, f"the class of {path}")
        if kind._transient:
            self.transient.append((cell, kind._transient))
        self._whole(attributes, path)
        if not own:
            self._visit(kind, f"the class {kind.__name__}")
        for name, value in attributes.items():
            if name in kind._transient or (name in _UNREAD and name not in self._names):
                continue
            is_host = kind._recorded is not None and name not in kind._recorded
            needed = not own and name in self._names
            if own or needed or is_cell(value) or isinstance(value, _MAY_HOLD_TENSORS):
                self._visit(value, f"{path}.{name}", host=is_host, needed=needed)

    def _visit_class(self, kind: type, path: str) -> None:
        for each in kind.__mro__:
            if of_package(each) or each in vars(builtins).values():
                continue
            self._whole(vars(each), path)
            for name, value in vars(each).items():
                if name in self._names or (_codes(value) & self._ran):
                    self._visit(value, f"'{name}' of {path}")

    def _visit_module(self, module: ModuleType, path: str) -> None:
        if str(getattr(module, "__file__", "")).startswith(LIBRARIES) or not hasattr(
            module, "__file__"
        ):
            self._refuse(f"{path} is the module '{module.__name__}'")
            return
        self._bind(vars(module), self._names & vars(module).keys(), f" of '{module.__name__}'")

    def _visit_function(self, function: FunctionType, path: str) -> None:
        code = function.__code__
        own = in_package(code)
        if not own and code not in self._ran:
            return
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self._visit_closure(cell, f"'{name}' of {code.co_name}", needed=not own)
        self._visit((function.__defaults__, function.__kwdefaults__), path)
        if own:
            return
        self.known.update(_nested(code))
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            self._guard_attribute(function, name, getattr(function, name), path)
        for each in _nested(code):
            self._check(each, top=code)
            names = {
                str(instruction.argval)
                for instruction in dis.get_instructions(each)
                if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")
            }
            self._bind(function.__globals__, names, f", which {_where(code)} reads,")

    def _visit_closure(self, cell: CellType, path: str, *, needed: bool) -> None:
        try:
            value: object = cell.cell_contents
        except ValueError:
            self._refuse(f"{path} is not assigned yet")
            return
        self._guard_attribute(cell, "cell_contents", value, path)
        self._visit(value, path, needed=needed)

    def _bind(self, mapping: dict[str, object], names: Iterable[str], where: str) -> None:
        for name in sorted(names):
            value = mapping.get(name, _MISSING)
            self._guard_binding(mapping, name, f"'{name}'{where}")
            if value is not _MISSING:
                self._visit(value, f"'{name}'{where}")
            elif name not in _BUILTINS:
                self._refuse(f"'{name}'{where} is not a function of its arguments only")

    def _check(self, code: CodeType, top: CodeType) -> None:
        for instruction in dis.get_instructions(code):
            name, operand = instruction.opname, instruction.argval
            nonlocal_ = name == "STORE_DEREF" and operand in top.co_freevars
            if name in _REFUSED or nonlocal_:
                what = _REFUSED.get(name, "assigns the variable")
                shown = f" '{operand}'" if isinstance(operand, str) else ""
                self._refuse(f"{_where(code)} {what}{shown}")
        hidden = [n for n in code.co_names if n == "name" or (n[:2] == n[-2:] == "__")]
        if hidden:
            self._refuse(f"{_where(code)} reads '{hidden[0]}'")

    def unknown(self, watch: Watch) -> str:
        """Return why the code that ran is not what this set was made for; "" if it is."""
        for code in watch.user_code() - self.known:
            return f"{_where(code)} is called in a way that cannot be followed"
        for code in watch.impure():
            return f"it calls '{code.co_name}' of '{code.co_filename.removeprefix(ROOT)}'"
        for container in watch.changed:
            if id(container) in self.containers:
                return "it changes a list or dict"
        return ""


def _nested(code: CodeType) -> list[CodeType]:
    """Return code and that of the functions defined in it."""
    inner = [
        each for const in code.co_consts if isinstance(const, CodeType) for each in _nested(const)
    ]
    return [code, *inner]


def _inner(value: object) -> object:
    """Return the function of a property or of another descriptor of a class."""
    function: object = getattr(value, "fget", value)
    return getattr(function, "__func__", function)


def _codes(value: object) -> set[CodeType]:
    """Return the code of a function in a class."""
    inner = _inner(value)
    return {inner.__code__} if isinstance(inner, FunctionType) else set()


def _where(code: CodeType) -> str:
    return f"'{code.co_name}' ({code.co_filename}:{code.co_firstlineno})"
