"""Names that minispore lacks: what to use instead of them, and errors that say so."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pkgutil import get_data, resolve_name
from types import ModuleType
from typing import ClassVar, NoReturn


def missing_name(module: ModuleType, name: str) -> "Unsupported":
    """Return an `Unsupported` for a name of MindSpore that a module lacks, or raise an error.

    Args:
        module: The module; each module of minispore calls this for missing names.
        name: The name, without the module's.

    Returns:
        The `Unsupported`.

    Raises:
        AttributeError: MindSpore has no such name; the error says what to use, if it is known.

    Examples:
        >>> from minispore import nn
        >>> missing_name(nn, "LSTM")
        <unsupported 'minispore.nn.LSTM'>
        >>> nn.Module
        Traceback (most recent call last):
        AttributeError: module 'minispore.nn' has no attribute 'Module': use nn.Cell
    """
    path = f"{module.__name__}.{name}"
    if advice := find_advice(path):
        return Unsupported(path, advice)
    _, others, _, remarks = _tables()
    use = _find(others, path)
    explanation = f": use {use}" if use else remarks.get(module.__name__, "")
    # `name` and `obj` let Python's traceback suggest a similar name.
    raise AttributeError(
        f"module '{module.__name__}' has no attribute '{name}'{explanation}", name=name, obj=module
    )


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
        for cls in type(instance).__mro__:
            if use := sentences.get(f"{cls.__module__}.{cls.__qualname__}.{name}"):
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
def _tables() -> tuple[dict[str, str], dict[str, str], dict[str, str], dict[str, str]]:
    """Return the advice for MindSpore's names, and for those of other libraries, by their paths.

    The second and third are of names in modules and in classes. The last one has a remark about all
    other names of a module.
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
    remarks = {module: f": {remark}" for module, remark in tables["remarks"].items()}
    return advice, others, attributes, remarks
