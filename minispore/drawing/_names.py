"""What the parts of a function's graph are called: as they are in the function's own text."""

import inspect
from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import NamedTuple

from minispore.common.parameter import Parameter
from minispore.common.tensor import Tensor
from minispore.nn import Cell


class Names(NamedTuple):
    """The names that a function has for what it uses.

    Attributes:
        parameters: Those of parameters, by the numbers of their nodes.
        arrays: Those of other tensors, by the identity of their arrays.
        cells: Those of cells, by their identity, and the cells.
    """

    parameters: dict[int, str]
    arrays: dict[int, str]
    cells: dict[int, tuple[str, Cell]]


def names_in(fn: Callable[..., object]) -> Names:
    """The names of the tensors and cells that a function refers to, and those of their parts."""
    names = Names({}, {}, {})
    for name, value in _referred(fn).items():
        if isinstance(value, Cell):
            for path, cell in value.cells_and_names(name_prefix=name):
                # The whole is not one of its parts.
                if path:
                    names.cells.setdefault(id(cell), (path, cell))
            for path, parameter in value.parameters_and_names(name_prefix=name):
                _add(names, path, parameter)
        elif isinstance(value, Parameter):
            _add(names, name if value.has_default_name else value.name, value)
        elif isinstance(value, Tensor):
            _add(names, name, value)
    return names


def names_of_inputs(fn: Callable[..., object], wanted: int) -> list[str]:
    """The names that a function has for so many arguments by position."""
    names = list(islice(_parameters(fn), wanted))
    return names + [f"input_{i}" for i in range(len(names), wanted)]


def title_of(fn: Callable[..., object]) -> str:
    """The name of the function itself, or of its class."""
    name = getattr(fn, "__name__", type(fn).__name__)
    return "a function" if name == "<lambda>" else name


def _add(names: Names, name: str, tensor: Tensor) -> None:
    if tensor._node is not None:
        names.parameters.setdefault(tensor._node.number, name)
    names.arrays.setdefault(id(tensor._data), name)


def _referred(fn: Callable[..., object]) -> dict[str, object]:
    whole: object = getattr(fn, "__self__", fn)
    if isinstance(whole, Cell):
        return {"": whole}
    try:
        found = inspect.getclosurevars(fn)
    except (TypeError, ValueError):
        return {}
    return {**found.globals, **found.nonlocals}


def _parameters(fn: Callable[..., object]) -> Iterator[str]:
    called = fn.construct if isinstance(fn, Cell) else fn
    try:
        found = inspect.signature(called).parameters.values()
    except (TypeError, ValueError):
        return
    for parameter in found:
        if parameter.kind is parameter.VAR_POSITIONAL:
            yield from (f"{parameter.name}[{i}]" for i in count())
        if parameter.kind in {parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD}:
            yield parameter.name
