"""Names that minispore lacks: what to use instead of them, and errors that say so."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, wraps
from inspect import signature
from pkgutil import get_data, resolve_name
from types import ModuleType
from typing import ClassVar, NamedTuple, NoReturn, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


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
        >>> missing_name(nn, "Conv3d")
        <unsupported 'minispore.nn.Conv3d'>
        >>> nn.Module
        Traceback (most recent call last):
        AttributeError: module 'minispore.nn' has no attribute 'Module': use nn.Cell
    """
    path = f"{module.__name__}.{name}"
    if advice := find_advice(path):
        return Unsupported(path, advice)
    tables = _tables()
    use = _find(tables.others, path)
    explanation = f": use {use}" if use else tables.remarks.get(module.__name__, "")
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
        sentences = _tables().attributes
        for cls in type(instance).__mro__:
            if use := sentences.get(f"{cls.__module__}.{cls.__qualname__}.{name}"):
                message = f"'{type(instance).__name__}' object has no attribute '{name}'. {use}"
                raise AttributeError(message, name=name, obj=instance)
    # Raises Python's error, or that of a property.
    return object.__getattribute__(instance, name)


def hint_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function; its error for a keyword of another library says what to use instead.

    Args:
        function: A function or method.

    Returns:
        A function with the same signature.

    Examples:
        >>> from minispore import nn
        >>> nn.SGD(nn.Dense(2, 1).trainable_params(), lr=0.1)
        Traceback (most recent call last):
        TypeError: SGD.__init__() got an unexpected keyword argument 'lr': use 'learning_rate'
    """
    names = signature(function).parameters

    @wraps(function)
    def function_with_hints(*args: P.args, **kwargs: P.kwargs) -> R:
        check_keywords(function, names, kwargs)
        return function(*args, **kwargs)

    return function_with_hints


def check_keywords(
    function: Callable[..., object], names: Collection[str], keywords: Iterable[str]
) -> None:
    """Raise an error for a keyword that another library has in place of one of `names`.

    Args:
        function: The function that is called.
        names: The names of its parameters.
        keywords: Those of the call.

    Raises:
        TypeError: It is Python's for a keyword that is not expected, and says what to use.
    """
    for keyword in keywords:
        if keyword not in names:
            name = function.__qualname__
            tables = _tables()
            found = [repr(use) for use in tables.keywords.get(keyword, "").split() if use in names]
            advice = f": use {' and '.join(found)}" if found else ""
            if sentence := tables.keyword_sentences.get(f"{name.partition('.')[0]}.{keyword}"):
                advice = f". {sentence}"
            if advice:
                raise TypeError(f"{name}() got an unexpected keyword argument '{keyword}'{advice}")


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
        path = f"{self._path}.{name}"
        return Unsupported(path, find_advice(path) or self._advice)

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
        >>> is_supported("mindspore.nn.Dense"), is_supported("nn.Conv3d")
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
        path: The name with its module, as in `minispore.nn.Conv3d`.

    Returns:
        None, if the name is not known to be unsupported.

    Examples:
        >>> find_advice("minispore.train.data_sink")
        'Data are not sunk to a device. Loop over dataset.create_tuple_iterator().'
        >>> find_advice("minispore.nn.Dense")
    """
    return _find(_tables().advice, path)


def _find(table: Mapping[str, str], path: str) -> str | None:
    """Return the value of a path, of the name in an enclosing module, or of an enclosing path."""
    *modules, name = path.split(".")
    for end in range(len(modules), min(1, len(modules) - 1), -1):
        if found := table.get(".".join([*modules[:end], name])):
            return found
    return _find(table, ".".join(modules)) if len(modules) > 1 else None


class _Tables(NamedTuple):
    """The tables of `unsupported.toml`, by paths of names."""

    advice: dict[str, str]  # for MindSpore's names
    others: dict[str, str]  # for names of other libraries in modules
    attributes: dict[str, str]  # and in classes
    keywords: dict[str, str]  # the names of parameters
    keyword_sentences: dict[str, str]  # by class and keyword
    remarks: dict[str, str]  # about all other names of a module


@cache
def _tables() -> _Tables:
    import tomllib

    tables = tomllib.loads((get_data("minispore.utils", "unsupported.toml") or b"").decode())
    advice = {
        f"{module}.{name}": group["advice"].replace("{name}", name)
        for group in tables["mindspore"]
        for module in group["modules"]
        for name in group["names"].split()
    }
    others, attributes, sentences = (
        {
            f"{owner}.{name}": use
            for owner, names in tables[table].items()
            for name, use in names.items()
        }
        for table in ("others", "attributes", "keyword_sentences")
    )
    remarks = {module: f": {remark}" for module, remark in tables["remarks"].items()}
    return _Tables(advice, others, attributes, tables["keywords"], sentences, remarks)
