"""Module attributes: the list of public names, and errors for unsupported ones."""

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.machinery import ModuleSpec
from pkgutil import get_data, resolve_name
from types import ModuleType
from typing import ClassVar, NoReturn

__all__ = [
    "Unsupported",
    "find_advice",
    "find_module",
    "is_supported",
    "missing_attribute",
    "module_attributes",
]


def module_attributes(
    module: str, otherwise: str = ""
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return a `__getattr__` and a `__dir__` for a module.

    The first returns an `Unsupported` for a name of MindSpore that minispore does not have, and
    raises an error for every other missing name. The second returns the names of the module's
    `__all__`, in order.

    Args:
        module: The module's `__name__`.
        otherwise: A sentence for every other missing name.

    Returns:
        The `__getattr__` and the `__dir__`.

    Raises:
        AttributeError: By the `__getattr__`, for every other name.

    Examples:
        In a module, where type checkers must not take `__getattr__` for a definition of every name:

        >>> __all__ = ["module_attributes"]
        >>> globals()["__getattr__"], __dir__ = module_attributes(__name__)
        >>> __getattr__("modul_attributes")
        Traceback (most recent call last):
        AttributeError: module '...' has no attribute 'modul_attributes'...
    """

    def module_getattr(name: str) -> object:
        path = f"{module}.{name}"
        if (advice := find_advice(path)) and not name.startswith("__"):
            return Unsupported(path, advice)
        use = _find(_tables()[1], path)
        explanation = f"use {use}" if use else otherwise
        # `name` and `obj` let Python's traceback suggest a similar name.
        raise AttributeError(
            f"module '{module}' has no attribute '{name}'{explanation and f': {explanation}'}",
            name=name,
            obj=sys.modules[module],
        )

    def module_dir() -> list[str]:
        return sorted(vars(sys.modules[module])["__all__"])

    return module_getattr, module_dir


def missing_attribute(instance: object, name: str) -> object:
    """Raise the error of a missing attribute, as the `__getattr__` of a class.

    Args:
        instance: The object.
        name: The name of the attribute. If it is one of PyTorch or Keras, the error says what to
            use instead.

    Returns:
        Nothing, unless the attribute exists at the second look.

    Raises:
        AttributeError: There is no such attribute.

    Examples:
        >>> from minispore import nn
        >>> nn.Dense(2, 1).train()
        Traceback (most recent call last):
        AttributeError: 'Dense' object has no attribute 'train'. Use set_train(); Model ...
    """
    if not name.startswith("_"):
        sentences = _tables()[2]
        for each in type(instance).__mro__:
            if use := sentences.get(f"{each.__module__}.{each.__qualname__}.{name}"):
                message = f"'{type(instance).__name__}' object has no attribute '{name}'. {use}"
                raise AttributeError(message, name=name, obj=instance)
    # Raises Python's error, or that of a property.
    return object.__getattribute__(instance, name)


class Unsupported:
    """A name of MindSpore that minispore does not have: it can be imported, but not used.

    A call, a subclass and an iteration raise an error that says what to use instead. An attribute
    is unsupported for the same reason. No object is an instance of it.

    Args:
        path: The name with its module.
        advice: What to use instead.

    Examples:
        >>> from minispore.train import TrainFaultTolerance
        >>> TrainFaultTolerance()
        Traceback (most recent call last):
        NotImplementedError: 'minispore.train.TrainFaultTolerance' is left out of minispore. ...
    """

    def __init__(self, path: str, advice: str) -> None:
        self._path = path
        self._advice = advice

    def __getattr__(self, name: str) -> "Unsupported":
        if name.startswith("__"):
            raise AttributeError(f"{self!r} has no attribute '{name}'", name=name, obj=self)
        return Unsupported(f"{self._path}.{name}", self._advice)

    def __repr__(self) -> str:
        return f"<unsupported '{self._path}'>"

    def __instancecheck__(self, instance: object) -> bool:
        return False

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise NotImplementedError(f"'{self._path}' is left out of minispore. {self._advice}")

    __call__: ClassVar[Callable[..., NoReturn]] = _refuse
    __getitem__: ClassVar[Callable[..., NoReturn]] = _refuse
    __mro_entries__: ClassVar[Callable[..., NoReturn]] = _refuse

    def __iter__(self) -> Iterator["Unsupported"]:
        self._refuse()


def find_module(path: str) -> ModuleSpec | None:
    """Return the specification of a module without source, if MindSpore has it and minispore not.

    Its names are `Unsupported`.

    Args:
        path: The module's name, as in `minispore.numpy`.

    Returns:
        The specification, or None.

    Examples:
        >>> import minispore.train.data_sink as module
        >>> module.data_sink
        <unsupported 'minispore.train.data_sink.data_sink'>
    """
    if not find_advice(path):
        return None
    # It loads many modules, which few programs need.
    from importlib.abc import Loader

    class EmptyLoader(Loader):
        def exec_module(self, module: ModuleType) -> None:
            vars(module)["__all__"] = []
            vars(module)["__getattr__"] = module_attributes(module.__name__)[0]

    return ModuleSpec(path, EmptyLoader(), is_package=True)


def is_supported(path: str) -> bool:
    """Return whether minispore has a name of MindSpore.

    Args:
        path: The name with its module, with or without the package's name in front.

    Returns:
        Whether it can be used.

    Examples:
        >>> is_supported("mindspore.nn.Dense"), is_supported("nn.LSTM")
        (True, False)
    """
    path = "minispore." + path.removeprefix("mindspore.").removeprefix("minispore.")
    if find_advice(path):
        return False
    try:
        resolve_name(path)
    except (AttributeError, ImportError):
        return False
    return True


def find_advice(path: str) -> str | None:
    """Return what to use instead of a name of MindSpore that minispore does not have.

    Args:
        path: The name with its module, as in `minispore.nn.LSTM`.

    Returns:
        None, if the name is not known to be unsupported.

    Examples:
        >>> find_advice("minispore.train.data_sink")
        'Data are not sunk to a device. Loop over dataset.create_tuple_iterator().'
        >>> find_advice("minispore.nn.Dense")
    """
    return _find(_tables()[0], path)


def _find(table: Mapping[str, str], path: str) -> str | None:
    """Return the value of a path, of the name in an enclosing module, or of an enclosing path."""
    *modules, name = path.split(".")
    for end in range(len(modules), min(1, len(modules) - 1), -1):
        if found := table.get(".".join([*modules[:end], name])):
            return found
    return _find(table, ".".join(modules)) if len(modules) > 1 else None


@cache
def _tables() -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Return the advice for MindSpore's names, and for those of other libraries.

    The last two are of names in modules and in classes.
    """
    import tomllib

    tables = tomllib.loads((get_data("minispore.utils", "unsupported.toml") or b"").decode())
    advice = {
        f"{module}.{name}": group["advice"]
        for group in tables["mindspore"]
        for module in group["modules"]
        for name in group["names"].split()
    }
    others, attributes = (
        {
            f"{owner}.{name}": use
            for owner, names in tables[table].items()
            for name, use in names.items()
        }
        for table in ("others", "attributes")
    )
    return advice, others, attributes
