"""MindSpore's training stack on numpy: an educational reference implementation.

`import minispore as ms` provides MindSpore's top-level names. The packages are `minispore.nn`,
`ops`, `dataset`, `train`, `common`, `communication` and `tensorpack`; `minispore.engine` is the
automatic differentiation engine, and `minispore.testing` a testing kit.

A name is imported when it is first used, so that a program which only differentiates functions does
not load datasets and callbacks. `__init__.pyi` lists the names and the modules that define them.
"""

import ast
import builtins
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from pkgutil import get_data
from types import ModuleType

__version__ = "0.2.0"

# Type checkers read the imports of `__init__.pyi`; here each is made when its name is first used.
_STUB = {
    alias.name: node.module or ""
    for node in ast.parse(get_data(__name__, "__init__.pyi") or b"").body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
# The modules of these names, and of names of packages that a package above them defines.
_MODULES = _STUB | {
    "dataset.WaitedDSCallback": "minispore.train.callback._waited_ds_callback",
    "dataset.callback.WaitedDSCallback": "minispore.train.callback._waited_ds_callback",
    "common.jit": "minispore.graph.jit",
    "engine.array.capture_hooks.StepCache": "minispore.graph.cache",
}

# A star import leaves Python's `bool`, `float` and `int` alone, as MindSpore's does.
__all__ = [name for name in _STUB if not hasattr(builtins, name)]  # pyright: ignore[reportUnsupportedDunderAll]


def _find_name(module: ModuleType, name: str) -> object:
    """Import a name of a module when it is first used, or find what to use instead of it."""
    home = _MODULES.get(f"{module.__name__}.{name}".removeprefix(f"{__name__}."))
    if home is None:
        from minispore.utils.unsupported import missing_name

        return missing_name(module, name)
    if home == __name__:
        value: object = import_module(f"{__name__}.{name}")
    else:
        value = getattr(import_module(home), name)
    vars(module)[name] = value
    return value


def _complete(module: ModuleType) -> None:
    """Make a module find names that it lacks, and `dir` list its public names.

    Those of a package without `__all__` are the names that it imports, other than modules.
    Functions in the module's source would be taken by type checkers for a definition of each name.
    """
    attributes = vars(module)

    def module_getattr(name: str) -> object:
        if name.startswith("__"):
            # Each `from module import name` looks for `__path__`.
            message = f"module '{module.__name__}' has no attribute '{name}'"
            raise AttributeError(message, name=name, obj=module)
        return _find_name(module, name)

    def module_dir() -> list[str]:
        return sorted(name for name in attributes["__all__"] if not name.startswith("_"))

    attributes["__getattr__"] = module_getattr
    if "__path__" in attributes and "__all__" not in attributes:
        found = (name for name, value in attributes.items() if not isinstance(value, ModuleType))
        attributes["__all__"] = [name for name in found if not name.startswith("_")]
    if "__all__" in attributes:
        attributes["__dir__"] = module_dir


class _Loader:
    """Load a module by another loader, if there is one, and complete it."""

    def __init__(self, spec: ModuleSpec) -> None:
        self._loader = spec.loader

    def create_module(self, _spec: ModuleSpec) -> None:
        """Leave it to Python."""

    def exec_module(self, module: ModuleType) -> None:
        if self._loader is not None:
            self._loader.exec_module(module)
        _complete(module)

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)


class _Finder:
    """Find the modules of the package, and empty ones for those of MindSpore that it lacks."""

    @staticmethod
    def find_spec(
        path: str, search: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not path.startswith(f"{__name__}."):
            return None
        spec = PathFinder.find_spec(path, search)
        if spec is None:
            from minispore.utils.unsupported import find_advice

            if not find_advice(path):
                return None
            spec = ModuleSpec(path, None, is_package=True)
        elif spec.loader is None:
            return spec
        vars(spec)["loader"] = _Loader(spec)
        return spec


_complete(sys.modules[__name__])
sys.meta_path.insert(0, _Finder)
