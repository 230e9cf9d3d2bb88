"""The plan of a captured step: which calls, and where in one arena each value is stored.

A *tape* is the list of a step's array calls. Values are described by *views* of numbered buffers. A
buffer with a negative number lies outside of the arena: inputs, parameters and constants. The tape
shows when each buffer is used for the last time, and so which buffers may share memory.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from minispore.utils.arrays import HostArray
from minispore.utils.checks import is_mapping, is_sequence, map_items

# Offsets in the arena are multiples of this number of bytes, as large as a cache line.
ALIGNMENT = 64

Memory = HostArray


class View(NamedTuple):
    """A part of a buffer as an array; `offset` and `strides` are in bytes."""

    buffer: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: "np.dtype[np.generic]"


class Entry(NamedTuple):
    """One call of a tape.

    Attributes:
        function: What is called.
        operands: Its positional arguments: views, constants, and tuples and lists of them.
        options: Its keyword arguments.
        result: Where the result is stored; None if there is none.
        kind: "out" if the function writes its result itself, as an argument `out`; "copy" if the
            result is copied to its place; "in_place" if the function changes its first operand.
        is_live: Whether the call has to be made in each step, whatever its operands.
    """

    function: Callable[..., object]
    operands: tuple[object, ...]
    options: Mapping[str, object]
    result: View | None
    kind: Literal["out", "copy", "in_place"] = "copy"
    is_live: bool = False


def views_in(value: object) -> Iterator[View]:
    """Yield the views in nested tuples, lists and dicts."""
    if isinstance(value, View):
        yield value
    elif is_sequence(value) or is_mapping(value):
        for item in value.values() if is_mapping(value) else value:
            yield from views_in(item)


def reads(entry: Entry) -> set[int]:
    """Return the buffers of the operands of an entry."""
    return {view.buffer for view in views_in(entry.operands)}


def writes(entry: Entry) -> set[int]:
    """Return the buffer that an entry writes to, if any."""
    target = entry.operands[0] if entry.kind == "in_place" else entry.result
    return {view.buffer for view in views_in(target)}


def first_uses(entries: Sequence[Entry]) -> dict[int, int]:
    """Return for each buffer the index of the first entry that reads or writes it."""
    uses: dict[int, int] = {}
    for i, entry in enumerate(entries):
        for buffer in reads(entry) | writes(entry):
            uses.setdefault(buffer, i)
    return uses


def last_uses(entries: Sequence[Entry]) -> dict[int, int]:
    """Return for each buffer the index of the last entry that reads or writes it.

    A use of a view is a use of its buffer.
    """
    uses: dict[int, int] = {}
    for i, entry in enumerate(entries):
        for buffer in reads(entry) | writes(entry):
            uses[buffer] = i
    return uses


class Placement(NamedTuple):
    """Where buffers are: the offset of each in the arena, and the size of the arena in bytes."""

    offsets: dict[int, int]
    size: int


def place(
    entries: Sequence[Entry], sizes: Mapping[int, int], kept: Collection[int] = ()
) -> Placement:
    """Return places in one arena for the buffers of a tape, such that no value is overwritten.

    In the order of first use, each buffer gets the first gap between the buffers that are still in
    use. A result never shares memory with an operand of its call.

    Args:
        entries: The tape.
        sizes: The size of each buffer in bytes; buffers without a size get no place.
        kept: Buffers that are read after the last call, such as outputs.
    """
    last = last_uses(entries)
    offsets: dict[int, int] = {}
    in_use: set[int] = set()
    size = 0
    for buffer, start in first_uses(entries).items():
        if buffer not in sizes:
            continue
        needed = -(-max(sizes[buffer], 1) // ALIGNMENT) * ALIGNMENT
        offset = 0
        in_use = {other for other in in_use if other in kept or last[other] >= start}
        used = sorted((offsets[other], offsets[other] + sizes[other]) for other in in_use)
        for begin, end in used:
            if offset + needed <= begin:
                break
            offset = max(offset, -(-end // ALIGNMENT) * ALIGNMENT)
        offsets[buffer] = offset
        in_use.add(buffer)
        size = max(size, offset + needed)
    return Placement(offsets, size)


def constant_entries(entries: Sequence[Entry]) -> set[int]:
    """Return the indices of the entries whose results are the same in each step.

    These read constants only, and no other entry writes to their results.
    """
    writers: dict[int, int] = {}
    for entry in entries:
        for buffer in writes(entry):
            writers[buffer] = writers.get(buffer, 0) + 1
    constants: set[int] = set()
    buffers: set[int] = set()
    for i, entry in enumerate(entries):
        written = writes(entry)
        if (
            not entry.is_live
            and entry.kind != "in_place"
            and reads(entry) <= buffers
            and not any(isinstance(operand, HostNumber) for operand in entry.operands)
            and all(buffer >= 0 and writers[buffer] == 1 for buffer in written)
        ):
            constants.add(i)
            buffers |= written
    return constants


def has_effect(entry: Entry) -> bool:
    """Return whether a call changes more than buffers in the arena."""
    return entry.is_live or any(buffer < 0 for buffer in writes(entry))


class HostNumber:
    """A number that differs from step to step: an operand of array calls, and true or false.

    Python cannot compute with it, so that no result of one step is used in another.
    """

    __slots__ = ("index", "value")

    def __init__(self, index: int, value: float) -> None:
        self.index: int = index
        self.value: float = value

    def __bool__(self) -> bool:
        return bool(self.value)


class Program:
    """The calls of a tape, bound to memory.

    Args:
        entries: The tape.
        sizes: The size of each buffer in bytes.
        outside: The memory of the buffers with negative numbers, as arrays of bytes.
        kept: Buffers that are read after the last call.

    Attributes:
        pure: Functions without arguments, which compute the step when they are called in order.
        rest: The same, from the first on that changes something outside of the arena.
        cells: For each number of the host that is used, its index and the array that holds it.
        arena_size: The bytes of all intermediate results.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        sizes: Mapping[int, int],
        outside: Mapping[int, Memory],
        kept: Collection[int] = (),
    ) -> None:
        constants = constant_entries(entries)
        once = [entry for i, entry in enumerate(entries) if i in constants]
        each_time = [entry for i, entry in enumerate(entries) if i not in constants]
        self._memory: dict[int, tuple[Memory, int]] = {
            buffer: (memory, 0) for buffer, memory in outside.items()
        }
        for entry in once:
            for buffer in writes(entry):
                self._memory[buffer] = np.empty(sizes[buffer], np.uint8), 0
        placement = place(
            each_time, {b: n for b, n in sizes.items() if b not in self._memory}, kept
        )
        self.arena_size: int = placement.size
        self._entries, self._placement, self._kept = each_time, placement, kept
        arena = np.empty(placement.size + ALIGNMENT, np.uint8)
        start = -arena.ctypes.data % ALIGNMENT
        for buffer, offset in placement.offsets.items():
            self._memory[buffer] = arena, start + offset
        self.cells: dict[tuple[int, np.dtype[np.generic]], Memory] = {}
        for entry in once:
            self._call(entry)()
        calls = [self._call(entry) for entry in each_time]
        effects = [i for i, entry in enumerate(each_time) if has_effect(entry)]
        first = min(effects, default=len(calls))
        # Before the first effect an error leaves everything as it was.
        self.pure: list[Callable[[], object]] = calls[:first]
        self.rest: list[Callable[[], object]] = calls[first:]

    def __str__(self) -> str:
        """Return a table of the calls, and a picture of when each buffer of the arena is used."""
        lines = [f"{'call':>4}  {'function':<20}{'reads':<20}writes"]
        for i, entry in enumerate(self._entries):
            name = getattr(entry.function, "__qualname__", repr(entry.function))
            used, written = (
                " ".join(map(str, sorted(function(entry)))) or "-" for function in (reads, writes)
            )
            lines.append(f"{i:>4}  {name:<20}{used:<20}{written}")
        first, last = first_uses(self._entries), last_uses(self._entries)
        lines += ["", f"{'buffer':>6}  {'from byte':>10}  in use during the calls"]
        for buffer, offset in self._placement.offsets.items():
            end = len(self._entries) - 1 if buffer in self._kept else last[buffer]
            bar = " " * first[buffer] + "█" * (end - first[buffer] + 1)
            lines.append(f"{buffer:>6}  {offset:>10}  {bar}")
        return "\n".join(lines)

    def bind(self, value: object) -> object:
        """Return `value` with its views replaced by arrays."""
        if isinstance(value, View):
            return self.array(value)
        return map_items(self.bind, value)

    def array(self, view: View) -> Memory:
        """Return the array of a view."""
        memory, start = self._memory[view.buffer]
        offset = start + view.offset
        return np.ndarray(view.shape, view.dtype, memory, offset, view.strides)

    def _call(self, entry: Entry) -> Callable[[], object]:
        operands = [
            self._number(operand, entry)
            if isinstance(operand, HostNumber | int | float)
            else self.bind(operand)
            for operand in entry.operands
        ]
        call = partial(entry.function, *operands, **entry.options)
        if entry.result is None:
            return call
        out = self.array(entry.result)
        if entry.kind == "out":
            return _with_out(call, out)
        # These are the same without another array.
        if entry.function is np.zeros:
            return partial(out.fill, 0)
        if entry.function in (np.ndarray.astype, np.ndarray.copy):
            return partial(np.copyto, out, cast("Memory", operands[0]), casting="unsafe")
        return partial(_copy_result, out, call)

    def _number(self, number: HostNumber | float, entry: Entry) -> object:
        """Return a number as an array of the type in which a ufunc computes with it.

        For numpy an array without axes is faster than a number of Python.
        """
        dtype = next((view.dtype for view in views_in(entry.operands)), None)
        if isinstance(number, HostNumber):
            if dtype is None or dtype.kind != "f":
                raise TypeError("a number of the host is no operand of floats")
            return self.cells.setdefault((number.index, dtype), np.empty((), dtype))
        kinds = {view.dtype.kind for view in views_in(entry.operands)}
        if isinstance(entry.function, np.ufunc) and kinds == {"f"} and not isinstance(number, bool):
            return np.array(number, dtype)
        return number

    def set_numbers(self, numbers: Sequence[float]) -> None:
        """Set the host's numbers for the next run."""
        for (index, _), cell in self.cells.items():
            cell[()] = numbers[index]


def _with_out(call: "partial[object]", out: Memory) -> Callable[[], object]:
    """Return a call with its result as an argument, by position, which is the fastest."""
    # numpy wants no third argument of these two.
    by_name = call.func in (np.maximum, np.minimum)
    if isinstance(call.func, np.ufunc) and not call.keywords and not by_name:
        return partial(call.func, *call.args, out)
    options = {"axis": 0, "dtype": None, "keepdims": False} | call.keywords
    if getattr(call.func, "__name__", "") == "reduce" and len(options) == len(_REDUCE):
        axis, dtype, keepdims = (options[name] for name in _REDUCE)
        return partial(call.func, *call.args, axis, dtype, out, keepdims)
    return partial(call, out=out)


# The arguments of `ufunc.reduce` around `out`, in their order.
_REDUCE = ("axis", "dtype", "keepdims")


def _copy_result(out: Memory, call: Callable[[], Any]) -> None:
    out[...] = call()
