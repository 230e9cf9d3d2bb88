"""Make mutants look like the functions that they replace, for tests that read names.

mutmut keeps the mutants of a function in its module, under other names, and calls them through
functions whose frames would be taken for the user's. This module is imported before minispore.
"""

import sys
from collections.abc import Callable
from functools import reduce
from importlib import import_module
from pkgutil import walk_packages
from types import CodeType, FunctionType
from typing import Any

_trampoline = import_module("mutmut.mutation.trampoline")
_wrap_in_trampoline = _trampoline.wrap_in_trampoline
_mutated: list[tuple[FunctionType, dict[str, FunctionType]]] = []


def _wrap(
    mutants: dict[str, FunctionType], is_classmethod: bool = False
) -> Callable[[FunctionType], Callable[..., Any]]:
    def decorate(function: FunctionType) -> Callable[..., Any]:
        # mutmut looks up mutants of class methods by their names.
        if not is_classmethod:
            _mutated.append((function, mutants))
        wrapped: Callable[..., Any] = _wrap_in_trampoline(mutants, is_classmethod)(function)
        return wrapped

    return decorate


def _renamed(code: CodeType, before: str, after: str) -> CodeType:
    """Return the code of a function with another qualified name, also in its inner functions."""
    constants = [
        _renamed(c, before, after) if isinstance(c, CodeType) else c for c in code.co_consts
    ]
    name = after + code.co_qualname.removeprefix(before)
    return code.replace(co_qualname=name, co_consts=tuple(constants))


# Warnings and errors skip the frames of internal modules.
_trampoline.__dict__.update(wrap_in_trampoline=_wrap, __name__="minispore.utils.mutmut")
for package in walk_packages(import_module("minispore").__path__, "minispore."):
    if not package.name.endswith(("_cupy", "__main__")):
        import_module(package.name)
for function, mutants in _mutated:
    scope = function.__qualname__.split(".")[:-1]
    owner: object = reduce(getattr, scope, sys.modules[function.__module__])
    for mutant in mutants.values():
        delattr(owner, mutant.__name__)
        code, renamed = mutant.__code__, function.__code__.co_qualname
        mutant.__code__ = _renamed(code, code.co_qualname, renamed).replace(
            co_name=function.__code__.co_name
        )
        mutant.__qualname__ = function.__qualname__
