"""Arrays that note on a tape what is computed with them.

A `Captured` array holds a numpy array. A function of numpy is called with that array, as in an
eager step, and the tape notes the call: capture predicts nothing, it looks at the result. If that
is in the memory of a known buffer, it is a view; every other result is a new buffer.
"""

import operator
import threading
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeGuard, TypeVar, cast
from weakref import ref

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.mixins import NDArrayOperatorsMixin

from minispore.engine.array import _numpy
from minispore.engine.array.capture_hooks import CaptureHooks, Numbers, current_hooks
from minispore.engine.array.device import register_host_arrays, root_of
from minispore.engine.array.protocol import NAMES, Array, Namespace
from minispore.graph.program import Entry, HostNumber, Memory, View
from minispore.utils.checks import as_tuple, caller, is_tuple, map_items

R = TypeVar("R")

# The functions of numpy that a step may call. Others may write to their arguments.
_ALLOWED = {getattr(np, name) for name in NAMES if hasattr(np, name)} | {np.einsum}


class Buffer(NamedTuple):
    """A block of memory: its first and last address, its number, and the object that owns it."""

    low: int
    high: int
    number: int
    owner: Callable[[], object]


class Decision(NamedTuple):
    """What the host has decided on data: `test(*operands)` was `outcome`."""

    test: Callable[..., bool]
    operands: tuple[object, ...]
    outcome: bool


class RunOnHost(Protocol):
    """How functions of the host are called."""

    def __call__(self, function: Callable[[], R], /) -> R:
        """Return the function's result."""
        ...


def _run(function: Callable[[], R], /) -> R:
    return function()


class Tape(CaptureHooks):
    """The notes on one step, and the reason why it cannot be replayed, if there is one.

    Attributes:
        entries: The calls, in their order.
        sizes: The size of each buffer in bytes.
        outside: The arrays whose memory is not computed by the step, by their buffers' numbers.
        inputs: The numbers of those buffers that are other arrays in each step.
        decisions: What the host has decided on the inputs.
        numbers: The functions that compute the host's numbers.
        commits: For each the function that stores what the next step's numbers depend on.
        reason: Why the step cannot be replayed; None if it can.
        paused: Whether the host's own code runs, which is repeated in each replay.
        closed: Whether the step is over, after which nothing is noted.
    """

    _name_in_errors: Final = ""  # an error names what the program called

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.sizes: dict[int, int] = {}
        self.outside: dict[int, Memory] = {}
        self.inputs: set[int] = set()
        self.decisions: list[Decision] = []
        self.numbers: list[Callable[[], Numbers]] = []
        self.commits: list[Callable[[Numbers], None]] = []
        self.truths: list[bool] = []
        self._values: list[Numbers] = []
        self.reason: str | None = None
        self.paused: bool = False
        self.closed: bool = False
        # How functions of the host are called: with the arrays of its own tensors.
        self.run_on_host: RunOnHost = _run
        self._known: dict[int, list[Buffer]] = {}
        self._thread = threading.get_ident()

    def refuse(self, reason: str | None) -> None:
        """Note that the step cannot be replayed, if there is a reason."""
        self.reason = self.reason or reason

    # Arrays.

    def lift(self, array: Memory, *, is_input: bool) -> "Captured":
        """Return an array from outside of the step as a captured one."""
        number = -1 - len(self.outside)
        low, high = byte_bounds(array)
        if any(
            other.low < high and low < other.high
            for buffers in self._known.values()
            for other in buffers
        ):
            self.refuse("two of its tensors share memory")
        self.outside[number] = array
        if is_input:
            self.inputs.add(number)
        self._know(array, number, lambda: array)
        return Captured(self, array)

    def _know(self, array: Memory, number: int, owner: Callable[[], object]) -> None:
        low, high = byte_bounds(array)
        self.sizes[number] = high - low
        self._known.setdefault(id(root_of(array)), []).append(Buffer(low, high, number, owner))

    def _find(self, array: Memory) -> Buffer | None:
        root = root_of(array)
        low, high = byte_bounds(array)
        for buffer in self._known.get(id(root), ()):
            owner = buffer.owner()
            # Another object may have got the identity of one that was freed.
            if (
                owner is not None
                and root_of(owner) is root
                and buffer.low <= low
                and high <= buffer.high
            ):
                return buffer
        return None

    def view(self, array: Memory) -> View:
        """Return the view that a captured array is."""
        buffer = self._find(array)
        if buffer is None:
            raise RuntimeError("a captured array has no buffer")
        address: int = array.__array_interface__["data"][0]
        return View(buffer.number, address - buffer.low, array.shape, array.strides, array.dtype)

    def operand(self, value: object) -> object:
        """Return an operand with views in place of arrays."""
        if isinstance(value, Captured):
            return self.view(value.values)
        return map_items(self.operand, value)

    def _operands(self, values: tuple[object, ...]) -> tuple[object, ...]:
        return tuple(map(self.operand, values))

    # Calls.

    def call(
        self,
        function: Callable[..., object],
        operands: tuple[object, ...],
        options: dict[str, object],
        *,
        out: bool = False,
    ) -> "Captured":
        """Call a function that returns an array, and note the call unless the result is a view.

        Args:
            function: The function.
            operands: Its positional arguments.
            options: Its keyword arguments.
            out: Whether it has an argument `out`.
        """
        result = function(*unwrapped(operands), **_unwrapped_options(options))
        if self.closed:
            return cast("Captured", result)
        if threading.get_ident() != self._thread:
            self.refuse("another thread computes with its tensors")
        if any(isinstance(value, Captured) for value in options.values()):
            self.refuse("a keyword argument of a function of numpy is a tensor")
        if not isinstance(result, np.ndarray | np.generic):
            self.refuse(f"'{getattr(function, '__name__', function)}' returns no array")
        array = np.asarray(result)
        if self._find(array) is None:
            self._note_result(function, operands, options, array, "out" if out else "copy")
        return Captured(self, array)

    def new(
        self, function: Callable[..., object] | None, operands: tuple[object, ...], array: Memory
    ) -> object:
        """Return a new array; if there is a function, it makes the same array again."""
        if self.closed:
            return array
        if function is None:
            self._know(array, len(self.sizes) - len(self.outside), ref(root_of(array)))
        else:
            self._note_result(function, operands, {}, array, "copy")
        return Captured(self, array)

    def _note_result(
        self,
        function: Callable[..., object],
        operands: tuple[object, ...],
        options: dict[str, object],
        array: Memory,
        kind: Literal["out", "copy"],
        *,
        is_live: bool = False,
    ) -> None:
        number = len(self.sizes) - len(self.outside)
        noted = self._operands(operands)
        self._know(array, number, ref(root_of(array)))
        entry = Entry(function, noted, options, self.view(array), kind, is_live)
        self.entries.append(entry)

    def call_into(
        self,
        function: Callable[..., object],
        operands: tuple[object, ...],
        options: dict[str, object],
        out: object,
    ) -> object:
        """Call a function that writes its result to `out`."""
        function(*unwrapped(operands), **_unwrapped_options(options), out=_unwrapped(out))
        if any(isinstance(value, Captured) for value in options.values()):
            self.refuse("a keyword argument of a function of numpy is a tensor")
        if self._is_written(out):
            noted, view = self._operands(operands), self.view(out.values)
            self.entries.append(Entry(function, noted, options, view, "out"))
        return out

    def call_on(self, function: Callable[..., object], operands: tuple[object, ...]) -> None:
        """Call a function that changes its first operand."""
        function(*unwrapped(operands))
        if self._is_written(operands[0]):
            self.entries.append(Entry(function, self._operands(operands), {}, None, "in_place"))

    def _is_written(self, out: object) -> "TypeGuard[Captured]":
        """Return whether a write to `out` is noted."""
        if not isinstance(out, Captured):
            self.refuse("it writes to an array of unknown origin")
        return isinstance(out, Captured) and not self.closed

    # The host; see `minispore.engine.array.capture_hooks`.

    def _on_host(self, function: Callable[[], R]) -> R:
        """Call a function of the host, whose calls are not noted."""
        self.paused = True
        try:
            return self.run_on_host(function)
        finally:
            self.paused = False

    def host_numbers(self, compute: Callable[[], Numbers]) -> Numbers:
        """Return the numbers as operands of array calls."""
        if compute in self.numbers:
            self.refuse("an optimizer is called twice")
        numbers = self._on_host(compute)
        self.numbers.append(compute)
        self._values.append(numbers)
        if not self.outside:
            return numbers
        first = len(self.truths)
        flat = flattened(numbers)
        self.truths.extend(map(bool, flat))
        operands: Iterator[Any] = iter(
            [x if isinstance(x, bool) else HostNumber(first + i, x) for i, x in enumerate(flat)]
        )
        return [tuple(next(operands) for _ in row) for row in numbers]

    def commit_numbers(self, commit: Callable[[Numbers], None], numbers: Numbers) -> None:
        """Store what the next step's numbers depend on."""
        values = self._values[len(self.commits)]
        self._on_host(lambda: commit(values))
        self.commits.append(commit)

    def host_values(self, draw: Callable[[], Memory]) -> Array:
        """Return the values as an array."""
        array = self._on_host(draw)
        if not self.outside:
            return array
        self._note_result(draw, (), {}, array, "copy", is_live=True)
        return Captured(self, array)

    def host_branch(self, test: Callable[..., bool], arrays: tuple[Array, ...]) -> bool:
        """Return the decision; a replay takes it before the step, so it must be on inputs."""
        if not self.outside:
            return test(*arrays)
        operands = self._operands(arrays)
        if any(view.buffer not in self.inputs for view in operands if isinstance(view, View)):
            self.refuse("it decides on values that it has computed")
        outcome = test(*unwrapped(arrays))
        self.decisions.append(Decision(test, operands, outcome))
        return outcome

    def host_check(self, check: Callable[..., None], arrays: tuple[Array, ...]) -> None:
        """Call the check."""
        check(*unwrapped(arrays))
        settings: dict[str, object] = {"function": caller()}  # a replay is not called by it
        self.entries.append(Entry(check, self._operands(arrays), settings, None, is_live=True))


def flattened(numbers: Numbers) -> list[float]:
    """Return the numbers of all rows."""
    return [number for row in numbers for number in row]


def unwrapped(operands: tuple[object, ...]) -> tuple[object, ...]:
    """Return operands with captured arrays replaced by numpy's."""
    return tuple(map(_unwrapped, operands))


def _unwrapped_options(options: Mapping[str, object]) -> dict[str, object]:
    return {name: _unwrapped(value) for name, value in options.items()}


def _unwrapped(value: object) -> object:
    if isinstance(value, Captured):
        return value.values
    return value.value if isinstance(value, HostNumber) else map_items(_unwrapped, value)


class Captured(NDArrayOperatorsMixin):
    """A numpy array whose use is noted on a tape.

    Args:
        tape: The tape.
        values: The array.
    """

    __slots__ = ("tape", "values")

    def __init__(self, tape: Tape, values: Memory) -> None:
        self.tape: Tape = tape
        self.values: Memory = values

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object
    ) -> object:
        function: Callable[..., object] = getattr(ufunc, method) if method != "__call__" else ufunc
        if method == "at":
            self.tape.call_on(function, inputs)
            return None
        if method not in ("__call__", "reduce"):
            return self._refused(f"'{ufunc.__name__}.{method}'", function, inputs, kwargs)
        if is_tuple(out := kwargs.pop("out", None)):
            return self.tape.call_into(function, inputs, kwargs, *out)
        return self.tape.call(function, inputs, kwargs, out=True)

    def __array_function__(
        self,
        function: Callable[..., object],
        types: object,
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> object:
        if function is np.copyto:
            self.tape.call_on(function, args)
            return None
        if function is np.astype:
            return self.tape.call(np.ndarray.astype, args, {})
        if function not in _ALLOWED:
            name = getattr(function, "__name__", "function")
            return self._refused(f"'{name}'", function, args, kwargs)
        return self.tape.call(function, args, kwargs)

    def _refused(
        self,
        name: str,
        function: Callable[..., object],
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> object:
        self.tape.refuse(f"it calls numpy's {name}")
        return function(*unwrapped(args), **_unwrapped_options(kwargs))

    # What rules and operations use of an array.

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return self.values.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.values.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.values.size

    @property
    def dtype(self) -> "np.dtype[np.generic]":
        """The type of the elements."""
        return self.values.dtype

    @property
    def strides(self) -> tuple[int, ...]:
        """The distance of elements along each axis, in bytes."""
        return self.values.strides

    @property
    def flags(self) -> object:
        """The layout of the memory."""
        return self.values.flags

    @property
    def base(self) -> object:
        """What owns the memory, or has it from there."""
        return self.values

    @property
    def mT(self) -> "Captured":  # noqa: N802 (numpy's name)
        """The transposed matrices."""
        return Captured(self.tape, self.values.mT)

    def reshape(self, *shape: object) -> "Captured":
        """Return the elements in another shape."""
        return self.tape.call(np.ndarray.reshape, (self, *shape), {})

    def copy(self) -> "Captured":
        """Return a copy."""
        return self.tape.call(np.ndarray.copy, (self,), {})

    def astype(self, dtype: object) -> "Captured":
        """Return a copy in another type."""
        return self.tape.call(np.ndarray.astype, (self, dtype), {})

    def __pow__(self, other: object) -> "Captured":
        if isinstance(other, int | float):
            return self.tape.call(_numpy.power_of, (self, other), {})
        power: Captured = super().__pow__(other)
        return power

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator["Captured"]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: object) -> "Captured":
        items = as_tuple(index)
        if any(isinstance(item, Captured) and item.dtype == np.bool_ for item in items):
            self.tape.refuse("a shape depends on values")
        return self.tape.call(operator.getitem, (self, index), {})

    def __setitem__(self, index: object, value: object) -> None:
        self.tape.call_on(_numpy.assign, (self, index, value))

    # What leaves the tape.

    def read(self) -> Memory:
        """Return the array for the host to read, after which the step cannot be replayed."""
        self.tape.refuse("it reads the values of a tensor")
        return self.values

    def __getattr__(self, name: str) -> object:
        attribute: object = getattr(self.read(), name)
        return attribute

    def __array__(
        self, dtype: "np.dtype[np.generic] | None" = None, copy: bool | None = None
    ) -> Memory:
        return np.array(self.read(), dtype=dtype, copy=copy)

    def __bool__(self) -> bool:
        return bool(self.read())

    def __float__(self) -> float:
        return float(self.read())

    def __int__(self) -> int:
        return int(self.read())

    def __index__(self) -> int:
        return operator.index(self.read())


def _creates(name: str) -> Callable[..., object]:
    """Return a function of numpy that creates an array without operands."""
    function: Callable[..., object] = getattr(np, name)

    def create(*args: object, **kwargs: object) -> object:
        return _tape().call(function, args, kwargs)

    return create


def _fills(name: str, value: int) -> Callable[[object], object]:
    """Return a function that creates an array of equal elements, in the layout of another."""
    like: Callable[[object], Memory] = getattr(np, name)

    def fill(x: object) -> object:
        array = like(_unwrapped(x))
        return _tape().new(np.full, (array.shape, value, array.dtype), array)

    return fill


def _tape() -> Tape:
    """Return the tape of this thread's step; a closed one if it is not captured."""
    tape = current_hooks.get()
    return tape if isinstance(tape, Tape) else _CLOSED


_CLOSED = Tape()
_CLOSED.closed = True


def _empty(shape: tuple[int, ...], dtype: "np.dtype[np.generic]") -> object:
    return _tape().new(None, (), np.empty(shape, dtype))


def _asarray(value: object, /, dtype: "np.dtype[np.generic] | None" = None) -> object:
    if not isinstance(value, Captured):
        return np.asarray(value, dtype)
    return value if dtype is None or dtype == value.dtype else value.astype(dtype)


def _assign(destination: object, index: object, value: object, /) -> None:
    _tape().call_on(_numpy.assign, (destination, index, value))


def _getitem(x: Captured, /, *, index: tuple[object, ...]) -> Captured:
    is_mask = any(isinstance(item, Captured) and item.dtype == np.bool_ for item in index)
    if is_mask or _numpy.is_basic(index):
        return x[index]
    return _tape().call(_numpy.getitem_at, (x, index), {})


def _scatter_add(
    values: Captured, /, *, index: tuple[object, ...], shape: tuple[int, ...]
) -> object:
    if not _numpy.is_basic(index):
        return _tape().call(_numpy.scatter_at, (values, index, shape), {})
    out = _tape().call(np.zeros, (shape, values.dtype), {})
    _tape().call_on(_numpy.assign, (out, index, values))
    return out


def _unfold(x: object, /, **options: object) -> object:
    if not np.asarray(_unwrapped(x)).flags.c_contiguous:
        x = _tape().call(np.ascontiguousarray, (x,), {})
    return _tape().call(_numpy.unfold, (x,), options)


def _decompose(x: object, /, **options: object) -> object:
    return _tape().call(_numpy.decompose, (x,), options)


def _fold(x: Captured, /, **options: object) -> object:
    return _fold_with(LIBRARY, x, **options)


_fold_with: Callable[..., object] = _numpy.fold_with


# Most functions are those of `_numpy`, which call ufuncs, numpy's functions and methods.
LIBRARY = SimpleNamespace(
    **{name: getattr(_numpy, name) for name in NAMES}
    | {name: _creates(name) for name in ("zeros", "ones", "full", "eye", "arange")}
    | {
        "empty": _empty,
        "asarray": _asarray,
        "assign": _assign,
        "getitem": _getitem,
        "scatter_add": _scatter_add,
        "unfold": _unfold,
        "fold": _fold,
        "decompose": _decompose,
        "zeros_like": _fills("zeros_like", 0),
        "ones_like": _fills("ones_like", 1),
        "to_host": Captured.read,
    }
)
register_host_arrays(Captured, cast("Namespace[Array]", LIBRARY))
