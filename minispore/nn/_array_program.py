"""Programs: the array operations of a call of a cell, which can be saved and run again.

While a program is recorded, the arrays of the inputs and parameters are `TracedArray`s. Each of
their operations computes with numpy and appends an instruction. An operation that would need the
elements themselves, such as `if x > 0` or `asnumpy()`, raises an error: so a program depends on the
inputs exactly as the cell does, except for their shapes and data types, which are fixed.
"""

import operator
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from types import EllipsisType
from typing import Any, ClassVar, Final, NoReturn, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from minispore.engine import dtypes
from minispore.engine.array import Array, current_namespace, register_namespace
from minispore.engine.array.protocol import NAMES
from minispore.utils.checks import as_items, describe_value, is_mapping

Values: TypeAlias = NDArray[Any]
# The name of a function, and its arguments.
Instruction: TypeAlias = tuple[str, tuple[Any, ...], dict[str, Any]]
_OPERATORS: Final = ("neg", "add", "sub", "mul", "truediv", "pow", "matmul", "lt", "le", "gt", "ge")
# The functions of array libraries in place, and those that give arrays of arbitrary elements.
_EXCLUDED = {"copyto", "empty", "stop_gradient"}
_FUNCTIONS: Final[dict[str, Callable[..., Any] | None]] = {
    **{name: getattr(operator, name) for name in (*_OPERATORS, "getitem")},
    "mT": operator.attrgetter("mT"),
    # These are looked up in the namespace of the device on which a program runs.
    **dict.fromkeys(sorted({*NAMES} - _EXCLUDED)),
}
# What numpy calls for an operation on an array of its own and a traced one.
_OF_NUMPY: Final[dict[object, str]] = {
    **{
        getattr(np, name): name
        for name in NAMES
        if name not in {*_EXCLUDED, "assign"} and hasattr(np, name)
    },
    np.power: "pow", np.matmul: "matmul", np.less: "lt", np.less_equal: "le", np.greater: "gt",
    np.greater_equal: "ge", np.negative: "neg",
}  # fmt: skip
_FRESH: Final = {"full", "ones", "zeros"}


@dataclass
class Program:
    """Instructions on numbered values: the inputs, the parameters, and the results so far.

    Attributes:
        inputs: The shape and the data type of each input.
        parameters: The names of the parameters.
        constants: Arrays that depend on no input and no parameter.
        instructions: For each, the name of a function and its arguments, with `Reference`s.
        output: A reference, or nested tuples of references.
    """

    inputs: list[tuple[tuple[int, ...], str]]
    parameters: list[str]
    constants: list[Values] = field(default_factory=list[Values])
    instructions: list[Instruction] = field(default_factory=list[Instruction])
    output: object = ()

    def run(self, inputs: Sequence[Array], parameters: Sequence[Array]) -> object:
        """Return the output for other inputs and parameters, as arrays.

        Raises:
            ValueError: An instruction fails.
        """
        xp = current_namespace()
        values: list[object] = [*inputs, *parameters]
        constants = [*map(xp.asarray, self.constants)]

        def find(reference: Reference) -> object:
            return (constants if reference.constant else values)[reference.number]

        for i, (name, args, kwargs) in enumerate(self.instructions):
            function = _FUNCTIONS[name] or getattr(xp, name)
            try:
                values.append(
                    function(*_mapped(args, Reference, find), **_mapped(kwargs, Reference, find))
                )
            except Exception as error:
                why = str(error).replace("\n", " ")
                raise ValueError(f"The instruction {i}, {name!r}, fails: {why}") from error
        result: object = _mapped(self.output, Reference, find)
        return result


@dataclass(frozen=True)
class Reference:
    """The number of a value or of a constant of a program."""

    number: int
    constant: bool = False


def _mapped(item: object, kind: type | tuple[type, ...], function: Callable[[Any], object]) -> Any:  # noqa: ANN401 (as deep as the item)
    """Return an argument with the function's results instead of items of a kind, at any depth."""
    if isinstance(item, kind):
        return function(item)
    if is_mapping(item):
        return {key: _mapped(each, kind, function) for key, each in item.items()}
    items = as_items(item)
    return item if items is None else tuple(_mapped(each, kind, function) for each in items)


class Recorder:
    """Records a program; a copy of `parameters` becomes its values, by name."""

    def __init__(self, inputs: Sequence[Values], parameters: Mapping[str, Values]) -> None:
        described: list[tuple[tuple[int, ...], str]] = [
            (x.shape, dtypes.from_array_dtype(x.dtype).name) for x in inputs
        ]
        self.program = Program(described, [*parameters])
        leaves = [*inputs, *parameters.values()]
        self.leaves: list[TracedArray] = [
            TracedArray(self, i, np.array(value)) for i, value in enumerate(leaves)
        ]
        # The place of each constant, by its id, and the object, so that the id stays its own.
        self._constants: dict[int, tuple[int, object]] = {}

    def apply(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "TracedArray":
        """Return the result of a function, and append the instruction."""
        if name not in _FUNCTIONS or "out" in kwargs or not self._is_writable(name, args):
            self.refuse("the network changes an array in place")
        function = _FUNCTIONS[name] or getattr(current_namespace(), name)
        plain, named = _mapped((args, kwargs), TracedArray, operator.attrgetter("value"))
        value = function(*plain, **named)
        self.program.instructions.append((name, self.referred(args), self.referred(kwargs)))
        count = len(self.leaves) + len(self.program.instructions)
        return TracedArray(self, count - 1, value)

    def referred(self, item: Any) -> Any:  # noqa: ANN401 (as deep as the item)
        """Return an argument with references instead of arrays."""
        return _mapped(item, (TracedArray, np.ndarray, np.generic), self._reference)

    def _reference(self, array: "TracedArray | Values") -> Reference:
        if isinstance(array, TracedArray):
            return Reference(array.number)
        constants = self.program.constants
        place, _ = self._constants.setdefault(id(array), (len(constants), array))
        if place == len(constants):
            constants.append(np.array(array))
        return Reference(place, constant=True)

    def _is_writable(self, name: str, args: tuple[Any, ...]) -> bool:
        """Return whether an instruction writes into no array, or one that was just created."""
        if name != "assign":
            return True
        target = args[0].number - len(self.leaves) if isinstance(args[0], TracedArray) else -1
        return target >= 0 and self.program.instructions[target][0] in _FRESH

    def refuse(self, why: str) -> NoReturn:
        raise RuntimeError(f"For 'export', the network cannot be recorded: {why}.")


class TracedArray:
    """An array that records its operations."""

    __slots__ = ("number", "recorder", "value")

    def __init__(self, recorder: Recorder, number: int, value: Values) -> None:
        self.recorder = recorder
        self.number = number
        self.value = value

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def ndim(self) -> int:
        return self.value.ndim

    @property
    def dtype(self) -> object:
        return self.value.dtype

    @property
    def mT(self) -> "TracedArray":  # noqa: N802 (the standard's name)
        return self._apply("mT", self)

    def _apply(self, name: str, *args: object) -> "TracedArray":
        return self.recorder.apply(name, args, {})

    def __getitem__(self, index: object) -> "TracedArray":
        return self._apply("getitem", self, index)

    def __neg__(self) -> "TracedArray":
        return self._apply("neg", self)

    def __array_ufunc__(
        self, ufunc: object, method: str, *args: object, **kwargs: object
    ) -> "TracedArray":
        return self.__array_function__(ufunc if method == "__call__" else method, (), args, kwargs)

    def __array_function__(
        self, function: object, types: object, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> "TracedArray":
        if function not in _OF_NUMPY:
            self.recorder.refuse(f"it calls numpy's {getattr(function, '__name__', function)}")
        return self.recorder.apply(_OF_NUMPY[function], args, kwargs)

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        self.recorder.refuse("it needs the elements of a tensor, not only operations on them")

    __bool__: ClassVar[Callable[..., NoReturn]] = __array__
    __index__: ClassVar[Callable[..., NoReturn]] = __array__


def _forward(name: str) -> Callable[[TracedArray, object], TracedArray]:
    return lambda x, y: x._apply(name, x, y)


def _reflected(name: str) -> Callable[[TracedArray, object], TracedArray]:
    return lambda x, y: x._apply(name, y, x)


for _name in _OPERATORS[1:]:
    setattr(TracedArray, f"__{_name}__", _forward(_name))
    if _name not in {"lt", "le", "gt", "ge"}:
        setattr(TracedArray, f"__r{_name}__", _reflected(_name))

_recorder: ContextVar[Recorder] = ContextVar("recorder")


class _TracedNamespace:
    """The functions of a device namespace for traced arrays."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return partial(_apply_function, name)

    def stop_gradient(self, x: TracedArray, /) -> TracedArray:
        return x

    def to_host(self, x: TracedArray, /) -> NoReturn:
        x.__array__()


def _apply_function(name: str, *args: Any, **kwargs: Any) -> TracedArray:  # noqa: ANN401
    return _recorder.get().apply(name, args, kwargs)


register_namespace(cast("type[Array]", TracedArray), cast("Any", _TracedNamespace()))


@contextmanager
def recording(
    inputs: Sequence[Values], parameters: Mapping[str, Values]
) -> Generator[Recorder, None, None]:
    """Record the functions of array libraries that the block calls for new arrays."""
    recorder = Recorder(inputs, parameters)
    token = _recorder.set(recorder)
    try:
        yield recorder
    finally:
        _recorder.reset(token)


# The text form: JSON, in which arguments that JSON does not have are objects of one item.


def encoded(item: object) -> object:
    """Return an argument as JSON has it.

    Raises:
        ValueError: There is no form for it.
    """
    if item is None or isinstance(item, bool | int | float | str):
        return item
    if isinstance(item, Reference):
        return {"constant" if item.constant else "value": item.number}
    if isinstance(item, slice):
        part = cast("slice[object, object, object]", item)
        return {"slice": [encoded(each) for each in (part.start, part.stop, part.step)]}
    if isinstance(item, EllipsisType):
        return {"ellipsis": True}
    if isinstance(item, np.dtype | type):
        return {"dtype": np.dtype(cast("type[np.generic]", item)).name}
    items = as_items(item)
    if items is None:
        raise ValueError(f"For 'export', an operation has the argument {describe_value(item)}.")
    return [encoded(each) for each in items]


def decoded(item: object, values: int, constants: int) -> object:
    """Return the argument that `encoded` has encoded; there are so many values and constants.

    Raises:
        ValueError: It is invalid.
    """
    if item is None or isinstance(item, bool | int | float | str):
        return item
    if isinstance(item, list):
        return tuple(decoded(each, values, constants) for each in _items(cast("object", item)))
    kind, content = next(iter(item.items())) if is_mapping(item) and len(item) == 1 else (None, 0)
    if kind in ("value", "constant") and type(content) is int:
        constant = kind == "constant"
        if 0 <= content < (constants if constant else values):
            return Reference(content, constant)
    elif kind == "slice":
        limits = _items(content, 3)
        if all(each is None or type(each) is int for each in limits):
            return slice(*limits)
    elif (kind, content) == ("ellipsis", True):
        return ...
    elif kind == "dtype" and isinstance(content, str) and content in DTYPES:
        return DTYPES[content]
    raise ValueError(f"it has the argument {describe_value(item)}")


def _items(item: object, count: int | None = None) -> tuple[object, ...]:
    """Return the items of a list; raise ValueError unless it is one, of so many items."""
    items = as_items(item)
    if items is None or count not in (None, len(items)):
        raise ValueError(f"it has {describe_value(item)} instead of a list")
    return items


_FORMAT = "minispore program 1"
DTYPES: Final[dict[str, np.dtype[np.generic]]] = {
    dtype.numpy_dtype.name: dtype.numpy_dtype for dtype in dtypes.BY_NUMPY.values()
}


def to_json(program: Program) -> dict[str, object]:
    """Return a program, without its constants, as JSON has it."""
    return {
        "format": _FORMAT,
        "inputs": [[[*shape], dtype] for shape, dtype in program.inputs],
        "parameters": program.parameters,
        "instructions": [
            [name, encoded(args), {key: encoded(value) for key, value in kwargs.items()}]
            for name, args, kwargs in program.instructions
        ],
        "output": encoded(program.output),
    }


def from_json(text: object, arrays: Mapping[str, Values]) -> Program:
    """Return the program that `to_json` has encoded.

    Args:
        text: The encoded program.
        arrays: The parameters by their names after a colon, and the constants by their places in
            brackets.

    Raises:
        ValueError: It is invalid.
    """
    if not is_mapping(text) or text.get("format") != _FORMAT:
        raise ValueError("it is no program of this version")
    program = Program([], [str(name) for name in _items(text.get("parameters"))])
    constants = len(arrays) - len(program.parameters)
    places = [f"[{i}]" for i in range(constants)]
    if {*(f":{name}" for name in program.parameters), *places} != {*arrays}:
        raise ValueError("it does not have the arrays of its program")
    program.constants = [arrays[place] for place in places]
    for each in _items(text.get("inputs")):
        shape, dtype = _items(each, 2)
        lengths = tuple(n for n in _items(shape) if type(n) is int and n >= 0)
        if len(lengths) < len(_items(shape)) or not isinstance(dtype, str) or dtype not in DTYPES:
            raise ValueError(f"it has the input {describe_value(each)}")
        program.inputs.append((lengths, dtype))
    count = len(program.inputs) + len(program.parameters)
    for each in _items(text.get("instructions")):
        name, args, kwargs = _items(each, 3)
        if not isinstance(name, str) or name not in _FUNCTIONS or not is_mapping(kwargs):
            raise ValueError(f"it has the instruction {describe_value(each)}")
        named = {str(key): decoded(value, count, constants) for key, value in kwargs.items()}
        plain = tuple(decoded(value, count, constants) for value in _items(args))
        program.instructions.append((name, plain, named))
        count += 1
    program.output = decoded(text.get("output"), count, constants)
    return program
