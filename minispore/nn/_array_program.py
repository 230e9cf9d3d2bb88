"""Programs: the array calls of a call of a cell, which can be saved and run again.

A program is a tape (see `minispore.engine.array.plan`) with the names of its functions. It depends
on the inputs exactly as the cell does, except for their shapes and data types, which are fixed.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import EllipsisType
from typing import Any, Final, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from minispore.engine import dtypes
from minispore.engine.array import _numpy
from minispore.engine.array.plan import Entry, Program, View, views_in, writes
from minispore.engine.array.protocol import NAMES
from minispore.utils.checks import as_items, describe_value, is_list, is_mapping

Values: TypeAlias = NDArray[Any]
_UFUNCS: Final = {name: ufunc for name, ufunc in vars(np).items() if isinstance(ufunc, np.ufunc)}
# The functions that a program may call.
FUNCTIONS: Final[dict[str, Callable[..., object]]] = {
    **{
        f"{name}.{kind}": getattr(f, kind)
        for name, f in _UFUNCS.items()
        for kind in ("reduce", "at")
    },
    **{name: getattr(np, name) for name in ("ascontiguousarray", *NAMES) if hasattr(np, name)},
    **{f"method.{name}": getattr(np.ndarray, name) for name in ("astype", "copy", "reshape")},
    **{name: getattr(_numpy, name) for name in ("assign", "getitem_at", "power_of", "scatter_at")},
    **_UFUNCS,
    "getitem": operator.getitem,
}
_FORMS: Final[dict[str, Literal["out", "made", "effect"]]] = {
    "out": "out",
    "made": "made",
    "effect": "effect",
}
_NAMES_OF: Final = {function: name for name, function in FUNCTIONS.items()}
DTYPES: Final[dict[str, np.dtype[np.generic]]] = {
    dtype.numpy_dtype.name: dtype.numpy_dtype for dtype in dtypes.BY_NUMPY.values()
}


@dataclass
class SavedTape:
    """A tape with what is outside of its arena.

    Attributes:
        inputs: The shape and the data type of each input.
        parameters: The names of the parameters.
        constants: Arrays that depend on no input and no parameter. The buffers of the inputs,
            the parameters and these are numbered -1, -2 and so on.
        sizes: The size in bytes of each buffer from 0 on.
        entries: The calls.
        output: A view, or nested tuples of views.
    """

    inputs: list[tuple[tuple[int, ...], str]]
    parameters: list[str]
    constants: list[Values]
    sizes: list[int]
    entries: list[Entry]
    output: object

    def outside(self) -> int:
        """Return the number of buffers outside of the arena."""
        return len(self.inputs) + len(self.parameters) + len(self.constants)


class _Bound:
    """A tape with memory for its inputs and results; parameters and constants have their own."""

    def __init__(self, tape: SavedTape, parameters: Sequence[Values]) -> None:
        self.parameters = parameters
        self._inputs: list[Values] = [
            np.empty(shape, DTYPES[dtype]) for shape, dtype in tape.inputs
        ]
        arrays = (*self._inputs, *parameters, *tape.constants)
        program = Program(
            tape.entries,
            dict(enumerate(tape.sizes)),
            {-1 - i: array.reshape(-1).view(np.uint8) for i, array in enumerate(arrays)},
            {view.buffer for view in views_in(tape.output)},
        )
        self._calls = (*program.pure, *program.rest)
        self._output = program.bind(tape.output)

    def run(self, inputs: Sequence[Values]) -> object:
        for static, given in zip(self._inputs, inputs, strict=True):
            static[...] = given
        for call in self._calls:
            call()
        return _mapped(self._output, np.ndarray, np.ndarray.copy)


class Runner:
    """Runs a tape; several threads may do so, each in memory of its own.

    Args:
        tape: The tape.
    """

    def __init__(self, tape: SavedTape) -> None:
        self.tape: SavedTape = tape
        self._free: list[_Bound] = []

    def __reduce__(self) -> tuple[type["Runner"], tuple[SavedTape]]:
        return Runner, (self.tape,)

    def run(self, inputs: Sequence[Values], parameters: Sequence[Values]) -> object:
        """Return the output as arrays.

        Args:
            inputs: The inputs.
            parameters: The parameters, in C order. They are read in their own memory, so the same
                arrays are passed each time unless a parameter has got other memory.

        Raises:
            ValueError: A call fails.
        """
        try:
            bound = self._free.pop()
        except IndexError:
            bound = None
        try:
            if bound is None or not all(map(operator.is_, bound.parameters, parameters)):
                bound = _Bound(self.tape, parameters)
            result = bound.run(inputs)
        except Exception as error:
            why = str(error).replace("\n", " ")
            raise ValueError(f"An operation of the file fails: {why}") from error
        self._free.append(bound)
        return result


def _mapped(
    item: object, kind: type | tuple[type, ...], function: Callable[[Any], object]
) -> object:
    """Return nested tuples with the function's results in place of items of a kind."""
    if isinstance(item, kind):
        return function(item)
    # A view is a tuple as well.
    items = None if isinstance(item, View) else as_items(item)
    return item if items is None else tuple(_mapped(each, kind, function) for each in items)


def with_constants(tape: SavedTape) -> SavedTape:
    """Return a tape with views in place of the arrays among its operands and outputs."""
    numbers: dict[int, View] = {}

    def view(array: Values) -> View:
        if id(array) not in numbers:
            constant = np.array(array, order="C")
            tape.constants.append(constant)
            place = -tape.outside(), 0, constant.shape, constant.strides, constant.dtype
            numbers[id(array)] = View(*place)
        return numbers[id(array)]

    replace = partial(_mapped, kind=(np.ndarray, np.generic), function=view)
    tape.entries = [
        entry._replace(operands=tuple(map(replace, entry.operands))) for entry in tape.entries
    ]
    tape.output = replace(tape.output)
    return tape


# The text form: JSON, in which arguments that JSON does not have are objects of one item.


def encoded(item: object) -> object:
    """Return an argument as JSON has it.

    Raises:
        ValueError: There is no form for it.
    """
    if item is None or isinstance(item, bool | int | float | str):
        return item
    if isinstance(item, View):
        return {"view": [*item[:2], [*item.shape], [*item.strides], item.dtype.name]}
    if isinstance(item, slice):
        part = cast("slice[object, object, object]", item)
        return {"slice": [encoded(each) for each in (part.start, part.stop, part.step)]}
    if isinstance(item, EllipsisType):
        return {"ellipsis": True}
    if isinstance(item, np.dtype | type):
        return {"dtype": np.dtype(cast("type[np.generic]", item)).name}
    items = as_items(item)
    if items is None:
        raise ValueError(f"an operation has the argument {describe_value(item)}")
    return [encoded(each) for each in items]


def decoded(item: object, buffers: range) -> object:
    """Return the argument that `encoded` has encoded, whose views are of these buffers.

    Raises:
        ValueError: It is invalid.
    """
    if item is None or isinstance(item, bool | int | float | str):
        return item
    if is_list(item):
        return tuple(decoded(each, buffers) for each in item)
    kind, content = next(iter(item.items())) if is_mapping(item) and len(item) == 1 else (None, 0)
    if kind == "view":
        buffer, offset, shape, strides, dtype = _items(content, 5)
        (number, start), lengths, steps = _ints([buffer, offset]), _ints(shape), _ints(strides)
        if number in buffers and start >= 0 and len(lengths) == len(steps):
            return View(number, start, lengths, steps, DTYPES[_one_of(DTYPES, dtype)])
    elif kind == "slice":
        limits = _items(content, 3)
        if all(each is None or type(each) is int for each in limits):
            return slice(*limits)
    elif (kind, content) == ("ellipsis", True):
        return ...
    elif kind == "dtype":
        return DTYPES[_one_of(DTYPES, content)]
    raise ValueError(f"it has the argument {describe_value(item)}")


def _items(item: object, count: int | None = None) -> tuple[object, ...]:
    """Return the items of a list; raise ValueError unless it is one, of so many items."""
    items = as_items(item)
    if items is None or count not in (None, len(items)):
        raise ValueError(f"it has {describe_value(item)} instead of a list")
    return items


def _ints(item: object) -> tuple[int, ...]:
    """Return the items of a list; raise ValueError unless they are ints of 64 bits."""
    items = tuple(n for n in _items(item) if type(n) is int and abs(n) < 1 << 62)
    if len(items) < len(_items(item)):
        raise ValueError(f"it has {describe_value(item)} instead of a list of ints")
    return items


def _one_of(names: Mapping[str, object], item: object) -> str:
    """Return a name; raise ValueError unless it is one of these."""
    if not isinstance(item, str) or item not in names:
        raise ValueError(f"it has {describe_value(item)} instead of a name")
    return item


_FORMAT = "minispore program 2"


def to_json(tape: SavedTape) -> dict[str, object]:
    """Return a tape, without its constants, as JSON has it.

    Raises:
        ValueError: A function has no name, or an argument no form.
    """
    for entry in tape.entries:
        if entry.is_live or entry.function not in _NAMES_OF:
            raise ValueError("it draws random numbers, or checks elements")
        if any(buffer < 0 for buffer in writes(entry)):
            raise ValueError("it changes a parameter or an input")
    return {
        "format": _FORMAT,
        "inputs": [[[*shape], dtype] for shape, dtype in tape.inputs],
        "parameters": tape.parameters,
        "sizes": tape.sizes,
        "entries": [
            [
                _NAMES_OF[entry.function],
                encoded(entry.operands),
                {key: encoded(value) for key, value in entry.options.items()},
                encoded(entry.result),
                entry.form,
            ]
            for entry in tape.entries
        ],
        "output": encoded(tape.output),
    }


def from_json(text: object, arrays: Mapping[str, Values]) -> SavedTape:
    """Return the tape that `to_json` has encoded.

    Args:
        text: The encoded tape.
        arrays: The parameters by their names after a colon, and the constants by their places in
            brackets.

    Raises:
        ValueError: It is invalid.
    """
    if not is_mapping(text) or text.get("format") != _FORMAT:
        raise ValueError("it is no program of this version")
    parameters = [str(name) for name in _items(text.get("parameters"))]
    places = [f"[{i}]" for i in range(len(arrays) - len(parameters))]
    if {*(f":{name}" for name in parameters), *places} != {*arrays}:
        raise ValueError("it does not have the arrays of its program")
    inputs: list[tuple[tuple[int, ...], str]] = []
    for each in _items(text.get("inputs")):
        shape, dtype = _items(each, 2)
        if min(_ints(shape), default=0) < 0:
            raise ValueError(f"it has the input {describe_value(each)}")
        inputs.append((_ints(shape), _one_of(DTYPES, dtype)))
    sizes = [*_ints(text.get("sizes"))]
    tape = SavedTape(inputs, parameters, [arrays[place] for place in places], sizes, [], ())
    buffers = range(-tape.outside(), len(sizes))
    for each in _items(text.get("entries")):
        name, operands, options, result, form = _items(each, 5)
        function, form = FUNCTIONS[_one_of(FUNCTIONS, name)], _FORMS[_one_of(_FORMS, form)]
        plain, target = (decoded(value, buffers) for value in (operands, result))
        if (
            not (is_mapping(options) and "out" not in options)
            or not (isinstance(plain, tuple) and (plain or form != "effect"))
            or not isinstance(target, View | None)
        ):
            raise ValueError(f"it has the operation {describe_value(each)}")
        named = {str(key): decoded(value, buffers) for key, value in options.items()}
        entry = Entry(function, plain, named, target, form)
        if any(buffer < 0 for buffer in writes(entry)):
            raise ValueError(f"it has the operation {describe_value(each)}, which changes an input")
        tape.entries.append(entry)
    tape.output = decoded(text.get("output"), buffers)
    return tape
