"""Pickles for worker processes: of any function of the user, with the variables that it reads.

A worker process does not run the program, and imports a module as it was before the program
assigned anything there. So a function of the user is pickled with its code and the global variables
that it names, and a class of the user with its methods and attributes.
"""

import builtins
import marshal
import pickle
import random
import re
import sys
from abc import ABCMeta
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib import import_module
from io import BytesIO
from linecache import getlines
from operator import attrgetter
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Final

import numpy as np

from minispore.common._object_state import nested_code, variable_reads

_LIBRARIES: Final = sys.stdlib_module_names | {"minispore", "numpy"}
_CACHED: Final = type(cache(print))
_METHODS: tuple[type, ...] = (staticmethod, classmethod)
# Global variables: the name of the module, that of the variable, and its value.
_Variables = list[tuple[str, str, object]]
_Closure = tuple[CellType, ...] | None


def pickled(value: object) -> bytes:
    """Return the pickle of a value, for `pickle.loads` in another process.

    Raises:
        Exception: If the value, or a variable that its functions read, cannot be pickled, such as
            an open file or an instance of an inner class.
    """
    file = BytesIO()
    _Pickler(file, pickle.HIGHEST_PROTOCOL).dump(value)
    return file.getvalue()


class _Pickler(pickle.Pickler):
    # typeshed does not know the sixth item of the result, the function that sets the state.
    def reducer_override(  # type: ignore[override]  # noqa: PLR0911 (one for each type)
        self,
        obj: object,
    ) -> object:
        if isinstance(obj, FunctionType):
            return _reduce_function(obj)
        if isinstance(obj, np.random.Generator | np.random.RandomState | random.Random):
            raise pickle.PicklingError(
                f"it refers to a {type(obj).__name__}, whose numbers depend on the order of calls"
            )
        if isinstance(obj, ModuleType):
            return _module, (obj.__name__, _is_of_user(obj.__name__))
        if isinstance(obj, CodeType):
            return marshal.loads, (marshal.dumps(obj),)
        if isinstance(obj, CellType):  # it may contain the function to which it belongs
            return _empty_cell, (), _contents(obj), None, None, _fill
        if isinstance(obj, _METHODS):
            function: object = getattr(obj, "__func__", None)
            return type(obj), (function,)
        if isinstance(obj, _CACHED):
            return _cached, (obj.__wrapped__, *obj.cache_parameters().values())
        if isinstance(obj, property):
            return property, (obj.fget, obj.fset, obj.fdel)
        if isinstance(obj, type) and _is_of_user(obj.__module__):
            by_name = obj.__module__, obj.__qualname__, _program_of(obj)
            attributes = _attributes(obj) if type(obj) in {type, ABCMeta} else {}
            return _find, by_name, (obj.__bases__, attributes), None, None, _assign
        return NotImplemented


def _program_of(kind: type) -> str:
    """Return the file of the program if it defines the class, which then is imported, else ""."""
    if not _is_importable(kind):
        raise pickle.PicklingError(f"the class '{kind.__qualname__}' is not at the top of a module")
    if kind.__module__ != "__main__":
        return ""
    file = str(getattr(sys.modules["__main__"], "__file__", None))
    if any(re.match(r"if\b.*__main__", line) for line in getlines(file)):
        return str(Path(file).resolve())
    raise pickle.PicklingError(
        f"the class '{kind.__qualname__}' is in a program without `if __name__ == \"__main__\":`, "
        "which would run again when the process imports the class"
    )


def _reduce_function(function: FunctionType) -> object:
    module = str(function.__globals__.get("__name__"))
    if not _is_of_user(module) and _is_importable(function):
        return NotImplemented
    attributes = {
        "__qualname__": function.__qualname__,
        "__module__": function.__module__,
        "__defaults__": function.__defaults__,
        "__kwdefaults__": function.__kwdefaults__,
        **vars(function),
    }
    of_user = _is_of_user(module)
    variables = _variables(module, function) if of_user else []
    made = function.__code__, (module, of_user), function.__name__, function.__closure__
    return _make_function, made, (attributes, variables), None, None, _complete


def _is_importable(code: FunctionType | type) -> bool:
    try:
        return _find(code.__module__, code.__qualname__) is code
    except (AttributeError, ImportError):
        return False


def _is_of_user(module: str) -> bool:
    """Return whether a module is not of minispore, Python or an installed package."""
    file: object = getattr(sys.modules.get(module), "__file__", None)
    in_library = module.partition(".")[0] in _LIBRARIES and module != "__main__"
    return not in_library and "-packages" not in str(file)  # site- or, in Debian, dist-


def _variables(module: str, function: FunctionType) -> _Variables:
    """Return the global variables that a function names, and those of the user's modules."""
    attributes = {name for code in nested_code(function.__code__) for name in code.co_names}
    names = {read.name for read in variable_reads(function.__code__) if read.is_global}
    found: _Variables = []
    scopes = [(module, function.__globals__, names | {"__name__", "__package__"})]
    modules: set[ModuleType] = set()
    for owner, scope, named in scopes:
        for name in sorted(named & scope.keys()):
            value = scope[name]
            found.append((owner, name, value))
            if isinstance(value, ModuleType) and _is_of_user(value.__name__):
                scopes += [] if value in modules else [(value.__name__, vars(value), attributes)]
                modules.add(value)
    return found


def _contents(cell: CellType) -> tuple[object] | None:
    try:
        return (cell.cell_contents,)
    except ValueError:  # it is empty
        return None


def _attributes(kind: type) -> dict[str, object]:
    """Return what the program may have assigned to a class, without what Python stores there."""
    return {
        name: value
        for name, value in vars(kind).items()
        if isinstance(value, FunctionType)
        or not (name.startswith(("__", "_abc_")) or _is_descriptor(value))
    }


def _is_descriptor(value: object) -> bool:
    return hasattr(type(value), "__get__") and not isinstance(value, (*_METHODS, property))


# What `pickle.loads` calls in the worker process.


class _Module(ModuleType):
    """A module of the user, with the variables that were sent; others are imported."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__builtins__ = builtins  # C code looks there for `__import__`

    def __getattr__(self, name: str) -> object:
        return getattr(import_module(self.__name__), name)


_user_module: Final = cache(_Module)


def _module(name: str, of_user: bool) -> ModuleType:
    return _user_module(name) if of_user else import_module(name)


def _cached(function: Callable[..., object], maxsize: int | None, typed: bool) -> object:
    return lru_cache(maxsize, typed)(function)


def _find(module: str, qualname: str, program: str = "") -> object:
    if program:
        from multiprocessing.spawn import import_main_path

        import_main_path(program)
    return attrgetter(qualname)(import_module(module))


def _make_function(
    code: CodeType, module: tuple[str, bool], name: str, closure: _Closure
) -> FunctionType:
    return FunctionType(code, vars(_module(*module)), name, None, closure)


def _complete(function: object, state: tuple[Mapping[str, object], _Variables]) -> None:
    attributes, variables = state
    for name, value in attributes.items():
        setattr(function, name, value)
    for module, name, value in variables:
        setattr(_user_module(module), name, value)


def _empty_cell() -> CellType:
    return CellType()


def _fill(cell: CellType, contents: tuple[object]) -> None:
    (cell.cell_contents,) = contents


def _assign(kind: type, state: tuple[tuple[type, ...], Mapping[str, object]]) -> None:
    for name, value in state[1].items():
        setattr(kind, name, value)
