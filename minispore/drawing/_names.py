"""Names for the parts of a function's graph: those of the variables in its source."""

import inspect
from collections.abc import Callable, Iterator
from itertools import count as count_up
from itertools import islice
from typing import NamedTuple

from minispore.nn import Cell
from minispore.ops.parameter import Parameter
from minispore.ops.tensors import Tensor


class Names(NamedTuple):
    """The names of the variables to which a function refers.

    Attributes:
        parameters: The names of parameters, by node number.
        arrays: The names of other tensors, by the identity of their arrays.
        cells: The names of cells with the cells, by identity.
    """

    parameters: dict[int, str]
    arrays: dict[int, str]
    cells: dict[int, tuple[str, Cell]]


def referenced_tensors(fn: Callable[..., object]) -> Names:
    """Return the names of the tensors and cells to which a function refers, and of their parts."""
    names = Names({}, {}, {})
    for name, value in _referred(fn).items():
        if isinstance(value, Cell):
            for path, cell in value.cells_and_names(name_prefix=name):
                # The cell itself has no path.
                if path:
                    names.cells.setdefault(id(cell), (path, cell))
            for path, parameter in value.parameters_and_names(name_prefix=name):
                _add(names, path, parameter)
        elif isinstance(value, Parameter):
            _add(names, name if value.has_default_name else value.name, value)
        elif isinstance(value, Tensor):
            _add(names, name, value)
    return names


def parameter_names(fn: Callable[..., object], count: int) -> list[str]:
    """Return the names of the first `count` positional parameters of a function."""
    names = list(islice(_parameters(fn), count))
    return names + [f"input_{i}" for i in range(len(names), count)]


def function_name(fn: Callable[..., object]) -> str:
    """Return the name of a function, or of the class of another callable."""
    name = getattr(fn, "__name__", type(fn).__name__)
    return "a function" if name == "<lambda>" else name


def _add(names: Names, name: str, tensor: Tensor) -> None:
    if tensor._node is not None:
        names.parameters.setdefault(tensor._node.number, name)
    names.arrays.setdefault(id(tensor._data), name)


def _referred(fn: Callable[..., object]) -> dict[str, object]:
    bound_to: object = getattr(fn, "__self__", fn)
    if isinstance(bound_to, Cell):
        return {"": bound_to}
    try:
        variables = inspect.getclosurevars(fn)
    except (TypeError, ValueError):
        return {}
    return {**variables.globals, **variables.nonlocals}


def _parameters(fn: Callable[..., object]) -> Iterator[str]:
    called = fn.construct if isinstance(fn, Cell) else fn
    try:
        parameters = inspect.signature(called).parameters.values()
    except (TypeError, ValueError):
        return
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            yield from (f"{parameter.name}[{i}]" for i in count_up())
        if parameter.kind in {parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD}:
            yield parameter.name
