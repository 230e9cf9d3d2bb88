"""Plans of random tapes: the same bits as with memory of its own for each buffer."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.graph import program as program_module
from minispore.graph.program import (
    ALIGNMENT,
    Entry,
    Memory,
    Program,
    View,
    constant_entries,
    first_uses,
    last_uses,
    place,
    views_in,
)

FLOAT = np.dtype(np.float32)
INPUT = -1


def view(buffer: int, length: int, offset: int = 0) -> View:
    return View(buffer, 4 * offset, (length,), (4,), FLOAT)


@st.composite
def tapes(draw: st.DrawFn) -> "Tape":
    """Draw calls on vectors: sums of parts of earlier buffers, and updates in place."""
    lengths = {INPUT: 8}
    entries: list[Entry] = []
    for buffer in range(draw(st.integers(1, 8))):
        length = draw(st.sampled_from([1, 3, 8, 20]))

        def operand(length: int = length) -> View:
            fitting = [earlier for earlier, n in lengths.items() if n >= length]
            source = draw(st.sampled_from(fitting or [INPUT]))
            count = min(length, lengths[source])
            offset = draw(st.integers(0, lengths[source] - count))
            return view(source, count if count == length else 1, offset)

        operands = (operand(), operand())
        lengths[buffer] = length
        kind = draw(st.sampled_from(["out", "copy"]))
        result = view(buffer, length)
        entries.append(Entry(np.add, operands, {}, result, "copy" if kind == "copy" else "out"))
        if draw(st.booleans()):
            entries.append(Entry(np.copyto, (view(buffer, 1), operand(1)), {}, None, "in_place"))
    return entries, {buffer: 4 * n for buffer, n in lengths.items()}


def run(entries: Sequence[Entry], sizes: Mapping[int, int], kept: Sequence[int]) -> list[bytes]:
    """Return the kept buffers after the second of two runs, before which they are overwritten."""
    memory = np.arange(8, dtype=FLOAT).view(np.uint8)
    program = Program(entries, sizes, {INPUT: memory}, kept)
    arrays = [program.array(view(buffer, sizes[buffer] // 4)) for buffer in kept]
    for array in arrays:
        array[...] = np.nan
    for _ in range(2):
        for call in (*program.pure, *program.rest):
            call()
    return [array.tobytes() for array in arrays]


def separate(
    entries: Sequence[Entry], sizes: Mapping[int, int], kept: Sequence[int]
) -> list[bytes]:
    """Return the kept buffers, each buffer being an array of its own."""
    memory: dict[int, Memory] = {b: np.zeros(n // 4, FLOAT) for b, n in sizes.items()}
    memory[INPUT][...] = np.arange(8)

    def bind(value: object) -> object:
        if isinstance(value, View):
            start = value.offset // 4
            return memory[value.buffer][start : start + value.shape[0]]
        return value

    for entry in entries:
        operands = [bind(operand) for operand in entry.operands]
        if entry.result is None:
            entry.function(*operands)
        else:
            memory[entry.result.buffer][...] = np.asarray(entry.function(*operands))
    return [memory[buffer].tobytes() for buffer in kept]


Tape = tuple[list[Entry], dict[int, int]]
cases = tapes(), st.sets(st.integers(0, 7))


@given(*cases)
def test_arena_gives_the_bits_of_separate_memory(tape: Tape, chosen: set[int]) -> None:
    entries, sizes = tape
    kept = sorted(chosen & sizes.keys())
    assert run(entries, sizes, kept) == separate(entries, sizes, kept)


def overlaps(entries: Sequence[Entry], sizes: Mapping[int, int], kept: Sequence[int]) -> list[str]:
    """Return the pairs of buffers that share memory while both are in use."""
    first, last = first_uses(entries), last_uses(entries)
    planned = {buffer: n for buffer, n in sizes.items() if buffer >= 0}
    offsets, size = place(entries, planned, kept)
    assert offsets.keys() == planned.keys() & first.keys()
    assert all(offsets[b] + planned[b] <= size and offsets[b] % ALIGNMENT == 0 for b in offsets)
    ends = {b: len(entries) if b in kept else last[b] for b in offsets}
    return [
        f"{a} and {b}"
        for a, b in combinations(offsets, 2)
        if first[a] <= ends[b] and first[b] <= ends[a]
        if offsets[a] < offsets[b] + planned[b] and offsets[b] < offsets[a] + planned[a]
    ]


@given(*cases)
def test_no_two_buffers_in_use_overlap(tape: Tape, chosen: set[int]) -> None:
    entries, sizes = tape
    assert not overlaps(entries, sizes, sorted(chosen & sizes.keys()))


def chain(count: int) -> tuple[list[Entry], dict[int, int]]:
    """Return a tape in which each call uses the result of the one before."""
    entries = [Entry(np.negative, (view(i - 1, 8),), {}, view(i, 8), "out") for i in range(count)]
    return entries, dict.fromkeys(range(-1, count), 32)


@given(st.integers(2, 12))
def test_arena_of_a_chain_holds_two_values(count: int) -> None:
    entries, sizes = chain(count)
    assert place(entries, {b: n for b, n in sizes.items() if b >= 0}).size == 2 * ALIGNMENT


def test_constants_are_computed_once() -> None:
    entries = [
        Entry(np.zeros, (8, FLOAT), {}, view(0, 8)),
        Entry(np.negative, (view(0, 8),), {}, view(1, 8), "out"),
        Entry(np.zeros, (8, FLOAT), {}, view(2, 8)),
        Entry(np.add, (view(1, 8), view(INPUT, 8)), {}, view(2, 8), "out"),
        Entry(lambda: np.ones(8), (), {}, view(3, 8), "copy", is_live=True),
    ]
    assert constant_entries(entries) == {0, 1}


def first_instead_of_last(entries: Sequence[Entry]) -> dict[int, int]:
    return first_uses(entries)


def one_entry_too_early(entries: Sequence[Entry]) -> dict[int, int]:
    return {buffer: i - 1 for buffer, i in last_uses(entries).items()}


def without_views(entries: Sequence[Entry]) -> dict[int, int]:
    whole = [
        entry._replace(operands=tuple(x for x in views_in(entry.operands) if not x.offset))
        for entry in entries
    ]
    return first_uses(entries) | last_uses(whole)


@pytest.mark.parametrize("fault", [first_instead_of_last, one_entry_too_early, without_views])
def test_wrong_liveness_is_found(
    fault: Callable[[Sequence[Entry]], dict[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    entries, sizes = chain(4)
    entries.insert(2, Entry(np.add, (view(0, 4), view(0, 4, 4)), {}, view(4, 4), "out"))
    entries.append(Entry(np.add, (view(4, 4), view(0, 4, 4)), {}, view(5, 4), "out"))
    sizes |= {4: 16, 5: 16}
    assert not overlaps(entries, sizes, [5])
    monkeypatch.setattr(program_module, "last_uses", fault)
    assert overlaps(entries, sizes, [5])
