"""Pickles for worker processes: of any function of the user, with the variables that it reads.

A worker process does not run the program, and imports a module as it was before the program
assigned anything there. So cloudpickle sends what a module of the user defines by value: functions
with their code and the global variables that they name, classes with their attributes.
"""

import marshal
import random
import sys
from collections.abc import Callable, Mapping
from functools import cache, cached_property, lru_cache, partial
from importlib import import_module
from io import BytesIO
from pickle import PicklingError
from threading import Lock
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from minispore.common._object_state import nested_code

_LIBRARIES: Final = sys.stdlib_module_names | {"minispore", "numpy"}
_CACHED: Final = type(cache(print))
# Held while cloudpickle has a list of the user's modules, which all threads share.
_LISTED: Final = Lock()
_Variables = dict[ModuleType, Mapping[str, object]]


def pickled(value: object) -> bytes:
    """Return the pickle of a value, for `pickle.loads` in another process.

    Raises:
        ImportError: If cloudpickle is not installed.
        Exception: If the value, or a variable that its functions read, cannot be pickled, such as
            an open file.
    """
    try:
        cloudpickle = import_module("cloudpickle")
    except ImportError as error:
        raise ImportError(
            "this needs the package 'cloudpickle': pip install 'minispore[workers]'"
        ) from error
    file = BytesIO()
    pickler = cloudpickle.Pickler(file)
    # Not in a subclass: type checkers do not know the class.
    pickler.reducer_override = partial(_reduce, pickler.reducer_override)
    with _LISTED:
        known = cloudpickle.list_registry_pickle_by_value()
        modules = {m.__name__: m for m in [*sys.modules.values()] if _is_of_user(m)}
        added = [module for name, module in modules.items() if name not in known]
        try:
            for module in added:
                cloudpickle.register_pickle_by_value(module)
            pickler.dump(value)
        finally:
            for module in added:
                cloudpickle.unregister_pickle_by_value(module)
    return file.getvalue()


def _reduce(reduce: Callable[[object], Any], obj: object) -> object:
    """Return how an object is pickled: mostly as `reduce` says, the method of cloudpickle."""
    if isinstance(obj, np.random.Generator | np.random.RandomState | random.Random):
        raise PicklingError(
            f"it refers to a {type(obj).__name__}, whose numbers depend on the order of calls"
        )
    if isinstance(obj, CodeType):  # with the name of its file, for the traceback of an error
        return marshal.loads, (marshal.dumps(obj),)
    if isinstance(obj, _CACHED):
        if not _is_of_user(import_module(obj.__module__)):
            return NotImplemented
        return _cached, (obj.__wrapped__, *obj.cache_parameters().values())
    if type(obj) is cached_property:  # which has a lock in Python 3.11
        return _cached_property, (obj.func, obj.attrname)
    if isinstance(obj, ModuleType) and obj.__name__ in sys.modules:
        return import_module, (obj.__name__,)
    reduced = reduce(obj)
    if isinstance(obj, FunctionType) and reduced is not NotImplemented:
        make, arguments, state, _, _, complete = reduced
        reduced = (
            make,
            arguments,
            (state, _variables(obj)),
            None,
            None,
            partial(_complete, complete),
        )
    return reduced


def _variables(function: FunctionType) -> _Variables:
    """Return the variables that a function may read as attributes of the user's modules."""
    names = {name for code in nested_code(function.__code__) for name in code.co_names}
    found: _Variables = {}
    scopes: list[Mapping[str, object]] = [function.__globals__]
    for scope in scopes:
        for value in [scope[name] for name in names & scope.keys()]:
            if isinstance(value, ModuleType) and _is_of_user(value) and value not in found:
                scopes.append(vars(value))
                found[value] = {name: vars(value)[name] for name in names & vars(value).keys()}
    return found


def _is_of_user(module: ModuleType) -> bool:
    """Return whether a module is not of minispore, Python or an installed package."""
    name = module.__name__
    place: object = getattr(module, "__file__", None) or getattr(module, "__path__", None)
    in_library = name.partition(".")[0] in _LIBRARIES and name != "__main__"
    return not in_library and "-packages" not in str(place)  # site- or, in Debian, dist-


# What `pickle.loads` calls in the worker process.


def _cached(function: Callable[..., object], maxsize: int | None, typed: bool) -> object:
    return lru_cache(maxsize, typed)(function)


def _cached_property(function: Callable[..., object], name: str) -> object:
    made = cached_property(function)
    made.__set_name__(object, name)
    return made


def _complete(
    complete: Callable[[object, object], object],
    function: object,
    state: tuple[object, _Variables],
) -> None:
    complete(function, state[0])
    for module, variables in state[1].items():
        vars(module).update(variables)
