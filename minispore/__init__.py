"""MindSpore's training stack on numpy: an educational reference implementation.

`import minispore as ms` provides MindSpore's top-level names. The packages are `minispore.nn`,
`ops`, `dataset`, `train`, `common`, `communication` and `tensorpack`; `minispore.engine` is the
automatic differentiation engine, and `minispore.testing` a testing kit.

A name is imported when it is first used, so that a program which only differentiates functions does
not load datasets and callbacks. `__init__.pyi` lists the names and the modules that define them.
"""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from minispore.utils.facade import facade

__version__ = "0.2.0"
__getattr__, __dir__ = facade(__name__)


class _MissingModules:
    """Finds modules of MindSpore that are left out: empty ones, which say what to use instead."""

    @staticmethod
    def find_spec(
        path: str, _search: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the specification of a module that Python has not found."""
        if not path.startswith(f"{__name__}."):
            return None
        from minispore.utils.unsupported import find_advice

        if not find_advice(path):
            return None
        spec = ModuleSpec(path, None, is_package=True)
        vars(spec)["loader"] = _MissingModules  # not an `importlib.abc.Loader`, which takes time
        return spec

    @staticmethod
    def create_module(_spec: ModuleSpec) -> None:
        """Leave it to Python."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Make the module find what to use instead of a name."""
        vars(module)["__getattr__"], vars(module)["__dir__"] = facade(module.__name__)


sys.meta_path.append(_MissingModules)
