"""The fingerprint of a run: short descriptions of its settings by path, compared at a resume.

A description is the same in every process: it contains no addresses, and does not depend on the
order of hashes. No code of the user is called; an object that cannot be described is represented by
its class.
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
from minispore.dataset.iterators import code_and_data, describe_pipeline, sample_indices
from minispore.nn import Cell, Optimizer
from minispore.train.protocol.dataset import SupportsState
from minispore.utils.checks import is_dict

_Parts = Iterable[tuple[str, object]]
_PLAIN: Final = (
    *(type(None), bool, int, float, complex, str, bytes, range, slice),
    *(Enum, PurePath, DType, np.generic, np.dtype),
)
_MAX_TEXT: Final = 200  # characters of a description; a longer one is cut, with a check sum
_MAX_LISTED: Final = 4  # items that are described one by one; more have one check sum
_MAX_ITEMS: Final = 1000  # items of a list in its check sum; of a longer list, evenly spaced ones
_MAX_BYTES: Final = 1 << 20  # of an array with all rows in its check sum
# The attributes in which functions of other libraries, such as `partial`, store what they call.
_WRAPPED: Final = ("func", "args", "keywords", "pyfunc", "__wrapped__")
_LIBRARIES: Final = sys.stdlib_module_names | {"minispore", "numpy"}
_ATTRIBUTES_OF_CELL: Final = frozenset(vars(Cell()))  # training changes some of them


def fingerprint(**roots: object) -> dict[str, str]:
    """Return descriptions, by path, of the seeds, the roots and all objects that these refer to.

    Examples:
        >>> from minispore import nn
        >>> paths = fingerprint(network=nn.SequentialCell(nn.Dropout(p=0.5), nn.ReLU()))
        >>> paths["network.0.p"], paths["network.1"]
        ('0.5', 'ReLU()')
    """
    seeds = {"seed": get_seed(), "dataset_seed": get_dataset_seed()}
    return _describe_all({**seeds, **roots}, {})


def _describe_all(roots: Mapping[str, object], seen: dict[int, object]) -> dict[str, str]:
    """Describe objects by path. `seen` keeps them alive, so that an id is not used twice."""
    described: dict[str, str] = {}
    # A stack instead of recursion: a network may be deeper than Python's stack.
    stack = list(roots.items())[::-1]
    while stack:
        path, value = stack.pop()
        try:
            described[path], parts = _describe(path, value, seen)
            stack += [] if id(value) in seen else list(parts)[::-1]
        except Exception:  # reading an attribute of the user's object may raise anything
            described[path] = f"{_name(type(value))}()"
        seen[id(value)] = value
    return described


def differences(saved: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the differences of two fingerprints, without those of the parts of what differs."""
    lines: list[str] = []
    reported: tuple[str, ...] = ()
    for path in {**saved, **now}:
        before, here = saved.get(path, "nothing"), now.get(path, "nothing")
        if before != here and not path.startswith(reported):
            lines.append(f"{path}: {before} when saved, {here} now")
            reported += (f"{path}.", f"{path}[")
    return lines


def _describe(  # noqa: PLR0911 (one for each kind of value)
    path: str, value: object, seen: dict[int, object]
) -> tuple[str, _Parts]:
    """Return the description of a value without its parts, and the parts with their paths."""
    if _is_plain(value):
        # The repr of a numpy scalar contains the name of its type.
        return _short(str(value) if issubclass(type(value), (str, np.number)) else repr(value)), ()
    if isinstance(value, Parameter):  # the checkpoint holds its values
        return "Parameter" if value.has_default_name else f"Parameter {value.name}", ()
    if issubclass(type(value), (list, tuple, set, frozenset, dict)):
        return _describe_items(path, value, seen)
    if isinstance(value, Dataset):
        node = value._node
        lines = ((f"{path}.{i}", line) for i, line in enumerate(describe_pipeline(node)))
        inside = ((f"{path}.{name}", part) for name, part in code_and_data(node).items())
        return "Dataset()", (*lines, *inside)
    if isinstance(value, FunctionType):
        if not _is_user_defined(value):
            return f"{value.__module__}.{_name(value)}", ()
        return f"{_name(value)}, {_code(value.__code__)}", _of_function(path, value)
    if isinstance(value, MethodType | BuiltinMethodType | MethodWrapperType):
        bound = value.__self__
        return _name(value), () if isinstance(bound, Module) else [(f"{path}.self", bound)]
    if isinstance(value, type):
        return _name(value), _of_class(value)
    if hasattr(type(value), "__array__") and not _is_user_defined(type(value)):
        return _array(value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)), ()
    name: object = getattr(value, "__name__", None)  # such as that of a numpy ufunc
    text = name if isinstance(name, str) else f"{_name(type(value))}()"
    return text, _of_object(path, value)


def _describe_items(path: str, value: object, seen: dict[int, object]) -> tuple[str, _Parts]:
    kind, items = type(value), list(cast("Iterable[object]", value))
    text = f"{kind.__name__} of {len(items)}"
    keys = [str(key if _is_plain(key) else type(key)) for key in items]
    if issubclass(kind, (set, frozenset)):  # whose order is that of hashes
        return f"{text}, {_check_sum(repr(sorted(keys)).encode())}", ()
    if is_dict(value):
        pairs = list(zip(keys, value.values(), strict=True))
    else:
        pairs = [(str(i), item) for i, item in enumerate(items)]
    if len(pairs) > _MAX_LISTED:
        if id(value) in seen:
            return text, ()
        seen[id(value)] = value
        chosen = {
            pairs[i][0]: pairs[i][1] for i in map(int, sample_indices(len(pairs), _MAX_ITEMS))
        }
        return f"{text}, {_check_sum(repr(_describe_all(chosen, seen)).encode())}", ()
    if all(_is_plain(item) for _, item in pairs):
        return _short(repr(value)), ()
    return text, [(f"{path}[{name}]", item) for name, item in pairs]


def _of_object(path: str, value: object) -> _Parts:
    """Yield the attributes of an object, and its class if the user defined it."""
    kind = type(value)
    attributes = dict(vars(value)) if hasattr(value, "__dict__") else {}
    if _is_user_defined(kind):
        yield _name(kind), kind
    elif kind.__module__.partition(".")[0] != "minispore":
        attributes = {name: getattr(value, name) for name in _WRAPPED if hasattr(value, name)}
    if isinstance(value, SupportsState) and not isinstance(value, Cell):
        return  # a resume restores its attributes
    if isinstance(value, Optimizer):
        attributes = {name: item for name, item in attributes.items() if name[0] != "_"}
        attributes |= value._initial_arguments
    for name, item in attributes.items():
        # A private attribute that the class defines too is changed by the cell's steps.
        private = name.startswith("_") and hasattr(kind, name)
        internal = isinstance(value, Cell) and (private or name in _ATTRIBUTES_OF_CELL)
        if not internal and not isinstance(item, Parameter | ParameterTuple):
            yield f"{path}.{name}", item


def _of_class(kind: type) -> _Parts:
    """Yield the functions of the user's classes, without `__init__`: its results are described."""
    for base in filter(_is_user_defined, kind.__mro__):
        for name, member in vars(base).items():
            function: object = getattr(member, "__func__", getattr(member, "fget", member))
            if name != "__init__" and (isinstance(function, FunctionType) or name[:2] != "__"):
                yield f"{_name(base)}.{name}", function


def _of_function(path: str, function: FunctionType) -> _Parts:
    """Yield what a function reads: its defaults, and variables of the enclosing scopes."""
    code, names = function.__code__, {*_names(function.__code__)}
    defaults = function.__defaults__ or ()
    arguments = code.co_varnames[: code.co_argcount]
    read = dict(zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True))
    read |= function.__kwdefaults__ or {}
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    read |= {name: cell.cell_contents for name, cell in cells}
    read |= {name: item for name, item in function.__globals__.items() if name in names}
    for name, item in read.items():
        if not isinstance(item, Module) or _is_user_defined(item):
            yield f"{path}.{name}", _select_named(item, names)


def _select_named(item: object, names: Collection[str]) -> object:
    """Return the entries of a dict or object that a function names; `item` if there are none.

    So the number of epochs in the same dict as a setting of the network is not compared.
    """
    if isinstance(item, Cell | type | FunctionType):
        return item
    entries: object = item if issubclass(type(item), dict) else getattr(item, "__dict__", {})
    by_key = cast("dict[object, object]", entries)
    return {key: entry for key, entry in by_key.items() if key in names} or item


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, CodeType):
            yield from _names(constant)


def _code(code: CodeType) -> str:
    """Return a check sum of a function's code without its location, and the version of Python."""

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
    if array.size <= _MAX_LISTED:
        return f"{array.dtype} [{', '.join(map(str, array.flat))}]"
    rows = array if array.nbytes <= _MAX_BYTES else array[sample_indices(len(array))]
    return f"{kind}, {_check_sum(rows.tobytes())}"


def _name(value: type | FunctionType | MethodType | BuiltinMethodType | MethodWrapperType) -> str:
    """Return the name in the scope of the definition."""
    return value.__qualname__.rpartition("<locals>.")[2]


def _is_plain(value: object) -> bool:
    # Not a direct isinstance: type checkers would narrow the value to unknown type arguments.
    return isinstance(value, _PLAIN)


def _short(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…, {_check_sum(text.encode())}"


def _check_sum(content: bytes) -> str:
    return f"#{zlib.crc32(content):08x}"


def _is_user_defined(value: object) -> bool:
    """Return whether a class, function or module is not of minispore, Python or a package."""
    module: str = value.__name__ if isinstance(value, Module) else value.__module__
    if module.partition(".")[0] in _LIBRARIES:
        return False
    # A launcher may run the user's program in its own module.
    file: object = getattr(sys.modules.get(module), "__file__", None)
    return module == "__main__" or "-packages" not in str(file)  # site- or, in Debian, dist-
