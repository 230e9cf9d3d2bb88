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
from importlib.machinery import ModuleSpec
from pkgutil import get_data
from types import ModuleType

__version__ = "0.2.0"

# Type checkers read the imports of `__init__.pyi`; here each is made when its name is first used.
_MODULES = {
    alias.name: node.module or ""
    for node in ast.parse(get_data(__name__, "__init__.pyi") or b"").body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
# Names of packages that a package above them defines.
_DEFINED_ABOVE = {"dataset.WaitedDSCallback": "minispore.train.callback._waited_ds_callback"}

# A star import leaves Python's `bool`, `float` and `int` alone, as MindSpore's does.
__all__ = [name for name in _MODULES if not hasattr(builtins, name)]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    module = _MODULES.get(name) or _DEFINED_ABOVE.get(name)
    if module is None:
        from minispore.utils.unsupported import module_attributes

        return module_attributes(__name__)[0](name)
    if module == "minispore":
        value: object = import_module(f"minispore.{name}")
    else:
        value = getattr(import_module(module), name.rpartition(".")[2])
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class _UnsupportedModules:
    """Find the modules that MindSpore has and minispore not, to say what to use instead."""

    @staticmethod
    def find_spec(
        path: str, _search: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not path.startswith("minispore."):
            return None
        from minispore.utils.unsupported import find_module

        return find_module(path)


sys.meta_path.append(_UnsupportedModules)
