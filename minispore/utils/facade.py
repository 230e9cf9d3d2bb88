"""Facades: modules whose names are imported from others when they are first used."""

import ast
import re
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from pkgutil import get_data

_ROOT = __name__.partition(".")[0]


def facade(name: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a module.

    The module's names are those that its stub, a `.pyi` file, imports. Each is imported when it is
    first used, as are submodules. For other names, the error says what to use instead.

    Args:
        name: The name of the module.

    Returns:
        The two functions. A star import, which asks for `__all__`, imports all names.

    Examples:
        >>> get, list_names = facade("minispore.nn.loss")
        >>> get("L1Loss")
        <class 'minispore.nn.loss.loss.L1Loss'>
        >>> list_names()[:2]
        ['BCELoss', 'BCEWithLogitsLoss']
    """

    def module_getattr(attribute: str) -> object:
        module = sys.modules[name]
        if attribute == "__all__":
            value: object = public_names(name)
        elif attribute.startswith("__"):
            # Each `from module import name` looks for `__path__`.
            message = f"module '{name}' has no attribute '{attribute}'"
            raise AttributeError(message, name=attribute, obj=module)
        elif attribute in _names(name):
            value = _import(name, *_names(name)[attribute])
        elif attribute[0] != "_" and _is_submodule(name, attribute):
            value = import_module(f"{name}.{attribute}")
        else:
            from minispore.utils.unsupported import missing_name

            return missing_name(module, attribute)
        vars(module)[attribute] = value
        return value

    def module_dir() -> list[str]:
        # A module that imports its names itself may have more.
        return sorted(vars(sys.modules[name]).get("__all__") or public_names(name))

    return module_getattr, module_dir


def public_names(name: str) -> list[str]:
    """Return the names that a star import of a module imports, without importing the module.

    Args:
        name: The name of the module.

    Returns:
        The names in its `__all__`, or those that a facade without one imports.

    Examples:
        >>> "L1Loss" in public_names("minispore.nn.loss")
        True
    """
    source = _source(name)
    literal = re.search(r"^__all__ = (\[[\w\s\",]*\])", source, flags=re.MULTILINE)
    if literal is not None:
        names: list[str] = ast.literal_eval(literal[1])
        return names
    table = _names(name)
    return [each for each, (home, _) in table.items() if each[0] != "_" and home != name]


@cache
def _names(name: str) -> dict[str, tuple[str, str]]:
    """Return the names that a facade imports, each with its module and its name there."""
    table: dict[str, tuple[str, str]] = {}
    for node in ast.parse(_source(name)).body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                if alias.name == "*":
                    # Where two modules have a name, it is that of the first.
                    names = public_names(node.module)
                    table = {each: (node.module, each) for each in names} | table
                else:
                    table[alias.asname or alias.name] = (node.module, alias.name)
    return table


@cache
def _source(name: str) -> str:
    """Return the text of a module's stub, or of the module; "" if there is none."""
    path = name.replace(".", "/").removeprefix(f"{_ROOT}/").removeprefix(_ROOT)
    files = [f"{path}/__init__.pyi", f"{path}.pyi", f"{path}.py", f"{path}/__init__.py"]
    for file in files:
        try:
            data = get_data(_ROOT, file.lstrip("/"))
        except OSError:
            continue
        return (data or b"").decode()
    return ""


def _import(importer: str, module: str, name: str) -> object:
    """Return a name, or a submodule, of a module, as a facade imports it."""
    if module == importer:
        return import_module(f"{module}.{name}")
    # A module that is a facade imports its submodules, too.
    value: object = getattr(import_module(module), name)
    return value


def _is_submodule(package: str, name: str) -> bool:
    path = vars(sys.modules[package]).get("__path__")
    return path is not None and PathFinder.find_spec(f"{package}.{name}", path) is not None
