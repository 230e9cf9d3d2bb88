"""What decides a run, as short descriptions by path, so that a resumed run can be compared with it.

A description is the same in every process: it holds no addresses, and nothing that depends on the
order of hashes. No code of the user is called, and what cannot be described is named by its class.
"""

import sys
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import Enum
from pathlib import PurePath
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, MethodWrapperType
from types import ModuleType as Module
from typing import Final, cast

import numpy as np

from minispore.common import Parameter, ParameterTuple, Tensor, get_seed
from minispore.common.dtype import DType
from minispore.common.seed import get_dataset_seed
from minispore.dataset import Dataset
from minispore.dataset._position import code_and_data, described, spread
from minispore.nn import Cell, Optimizer
from minispore.train._dataset import SupportsState

_Parts = Iterable[tuple[str, object]]
_PLAIN: Final = (
    *(type(None), bool, int, float, complex, str, bytes, range, slice),
    *(Enum, PurePath, DType, np.generic, np.dtype),
)
_LONGEST: Final = 200  # characters of a value that is written in full
_FEW: Final = 4  # items that are listed; more have one check sum
_MOST_ITEMS: Final = 1000  # of a list that are looked at
_SMALL: Final = 1 << 20  # bytes of an array of which all rows are looked at
# Where functions of other libraries, such as `partial`, keep what they call.
_WRAPPED: Final = ("func", "args", "keywords", "pyfunc", "__wrapped__")
_LIBRARIES: Final = sys.stdlib_module_names | {"minispore", "numpy"}
_OF_ANY_CELL: Final = frozenset(vars(Cell()))  # among them what training changes


def fingerprint(**roots: object) -> dict[str, str]:
    """Describe the seeds and the roots, with everything that these consist of.

    Examples:
        >>> from minispore import nn
        >>> found = fingerprint(network=nn.SequentialCell(nn.Dropout(p=0.5), nn.ReLU()))
        >>> found["network.0.p"], found["network.1"]
        ('0.5', 'ReLU()')
    """
    seeds = {"seed": get_seed(), "dataset_seed": get_dataset_seed()}
    return _walk({**seeds, **roots}, {})


def _walk(roots: Mapping[str, object], seen: dict[int, object]) -> dict[str, str]:
    """Describe values by path. What has been seen is kept: else an id would be used twice."""
    found: dict[str, str] = {}
    # A stack instead of recursion: a network may be deeper than Python's stack.
    todo = list(roots.items())[::-1]
    while todo:
        path, value = todo.pop()
        try:
            found[path], parts = _look(path, value, seen)
            todo += [] if id(value) in seen else list(parts)[::-1]
        except Exception:  # attributes of the user's objects may do anything
            found[path] = f"{_name(type(value))}()"
        seen[id(value)] = value
    return found


def differences(saved: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """List what differs; where one thing was put in the place of another, not its parts."""
    found: list[str] = []
    above: tuple[str, ...] = ()
    for path in {**saved, **now}:
        then, here = saved.get(path, "nothing"), now.get(path, "nothing")
        if then != here and not path.startswith(above):
            found.append(f"{path}: {then} when saved, {here} now")
            above += (f"{path}.", f"{path}[")
    return found


def _look(  # noqa: PLR0911 (one for each kind of value)
    path: str, value: object, seen: dict[int, object]
) -> tuple[str, _Parts]:
    """Describe a value without its parts, and list these with their paths."""
    if _is_plain(value):
        # The repr of numpy's numbers has their type's name.
        return _short(str(value) if issubclass(type(value), (str, np.number)) else repr(value)), ()
    if isinstance(value, Parameter):  # its values are in the checkpoint
        return "Parameter" if value.has_default_name else f"Parameter {value.name}", ()
    if issubclass(type(value), (list, tuple, set, frozenset, dict)):
        return _look_at_items(path, value, seen)
    if isinstance(value, Dataset):
        node = value._node
        lines = ((f"{path}.{i}", line) for i, line in enumerate(described(node)))
        inside = ((f"{path}.{name}", part) for name, part in code_and_data(node).items())
        return "Dataset()", (*lines, *inside)
    if isinstance(value, FunctionType):
        if not _is_the_users(value):
            return f"{value.__module__}.{_name(value)}", ()
        return f"{_name(value)}, {_code(value.__code__)}", _of_function(path, value)
    if isinstance(value, MethodType | BuiltinMethodType | MethodWrapperType):
        own = value.__self__
        return _name(value), () if isinstance(own, Module) else [(f"{path}.self", own)]
    if isinstance(value, type):
        return _name(value), _of_class(value)
    if hasattr(type(value), "__array__") and not _is_the_users(type(value)):
        return _array(value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)), ()
    name: object = getattr(value, "__name__", None)  # of numpy's functions, for example
    text = name if isinstance(name, str) else f"{_name(type(value))}()"
    return text, _of_object(path, value)


def _look_at_items(path: str, value: object, seen: dict[int, object]) -> tuple[str, _Parts]:
    kind, items = type(value), list(cast("Iterable[object]", value))
    text = f"{kind.__name__} of {len(items)}"
    keys = [str(key if _is_plain(key) else type(key)) for key in items]
    if issubclass(kind, (set, frozenset)):  # of which the order is that of hashes
        return f"{text}, {_check_sum(repr(sorted(keys)).encode())}", ()
    if issubclass(kind, dict):
        pairs = list(zip(keys, cast("dict[object, object]", value).values(), strict=True))
    else:
        pairs = [(str(i), item) for i, item in enumerate(items)]
    if len(pairs) > _FEW:
        if id(value) in seen:
            return text, ()
        seen[id(value)] = value
        chosen = {pairs[i][0]: pairs[i][1] for i in map(int, spread(len(pairs), _MOST_ITEMS))}
        return f"{text}, {_check_sum(repr(_walk(chosen, seen)).encode())}", ()
    if all(_is_plain(item) for _, item in pairs):
        return _short(repr(value)), ()
    return text, [(f"{path}[{name}]", item) for name, item in pairs]


def _of_object(path: str, value: object) -> _Parts:
    """The attributes of an object, and its class if that is the user's."""
    kind = type(value)
    attributes = dict(vars(value)) if hasattr(value, "__dict__") else {}
    if _is_the_users(kind):
        yield _name(kind), kind
    elif kind.__module__.partition(".")[0] != "minispore":
        attributes = {name: getattr(value, name) for name in _WRAPPED if hasattr(value, name)}
    if isinstance(value, SupportsState) and not isinstance(value, Cell):
        return  # its attributes are what a resume restores
    if isinstance(value, Optimizer):
        attributes = {name: item for name, item in attributes.items() if name[0] != "_"}
        attributes |= value._given
    for name, item in attributes.items():
        # A private name that the class has too is what the cell notes during a step.
        private = name.startswith("_") and hasattr(kind, name)
        of_cell = isinstance(value, Cell) and (private or name in _OF_ANY_CELL)
        if not of_cell and not isinstance(item, Parameter | ParameterTuple):
            yield f"{path}.{name}", item


def _of_class(kind: type) -> _Parts:
    """What the user's classes define, but for how objects are made: these are described."""
    for base in filter(_is_the_users, kind.__mro__):
        for name, member in vars(base).items():
            function: object = getattr(member, "__func__", getattr(member, "fget", member))
            if name != "__init__" and (isinstance(function, FunctionType) or name[:2] != "__"):
                yield f"{_name(base)}.{name}", function


def _of_function(path: str, function: FunctionType) -> _Parts:
    """What a function reads: its defaults, and variables of the scopes around it."""
    code, names = function.__code__, {*_names(function.__code__)}
    defaults = function.__defaults__ or ()
    arguments = code.co_varnames[: code.co_argcount]
    read = dict(zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True))
    read |= function.__kwdefaults__ or {}
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    read |= {name: cell.cell_contents for name, cell in cells}
    read |= {name: item for name, item in function.__globals__.items() if name in names}
    for name, item in read.items():
        if not isinstance(item, Module) or _is_the_users(item):
            yield f"{path}.{name}", _named(item, names)


def _named(item: object, names: Collection[str]) -> object:
    """Of a dict or an object with attributes the entries that a function names, if there are any.

    So the number of epochs, in the same dict as a setting of the network, is not compared.
    """
    if isinstance(item, Cell | type | FunctionType):
        return item
    entries: object = item if issubclass(type(item), dict) else getattr(item, "__dict__", {})
    named = cast("dict[object, object]", entries)
    return {key: entry for key, entry in named.items() if key in names} or item


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, CodeType):
            yield from _names(constant)


def _code(code: CodeType) -> str:
    """A check sum of what a function does, without where it stands; Pythons compile differently."""

    def text_of(constant: object) -> str:
        if isinstance(constant, frozenset):
            return repr(sorted(map(repr, cast("frozenset[object]", constant))))
        if not isinstance(constant, CodeType):
            return repr(constant)
        names = constant.co_names, constant.co_varnames, constant.co_freevars
        return repr((constant.co_code, *names, [text_of(each) for each in constant.co_consts]))

    major, minor = sys.version_info[:2]
    return f"code {_check_sum(text_of(code).encode())} of Python {major}.{minor}"


def _array(array: "np.ndarray[tuple[int, ...], np.dtype[np.generic]]") -> str:
    kind = f"{array.dtype} {array.shape}"
    if array.dtype.hasobject:  # whose bytes are addresses
        return kind
    if array.size <= _FEW:
        return f"{array.dtype} [{', '.join(map(str, array.flat))}]"
    rows = array if array.nbytes <= _SMALL else array[spread(len(array))]
    return f"{kind}, {_check_sum(rows.tobytes())}"


def _name(value: type | FunctionType | MethodType | BuiltinMethodType | MethodWrapperType) -> str:
    """The name in the scope where it was defined."""
    return value.__qualname__.rpartition("<locals>.")[2]


def _is_plain(value: object) -> bool:
    return isinstance(value, _PLAIN)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…, {_check_sum(text.encode())}"


def _check_sum(content: bytes) -> str:
    return f"#{zlib.crc32(content):08x}"


def _is_the_users(value: object) -> bool:
    """Whether a class, function or module is neither minispore's nor Python's nor installed."""
    module: str = value.__name__ if isinstance(value, Module) else value.__module__
    if module.partition(".")[0] in _LIBRARIES:
        return False
    # A launcher may have run the user's program in its own module.
    file: object = getattr(sys.modules.get(module), "__file__", None)
    return module == "__main__" or "-packages" not in str(file)  # site- or, in Debian, dist-
