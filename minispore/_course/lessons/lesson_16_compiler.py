"""Lesson 16: values whose uses do not overlap share memory in the plan of a graph compiler."""

from dataclasses import dataclass
from types import ModuleType
from typing import cast

import numpy as np
from hypothesis import strategies as st

from minispore._course.exercise import CodeExercise, Lesson, Property, bugs
from minispore._course.feedback import WrongResult, expect, format_value
from minispore.graph.program import ALIGNMENT, Entry, View


@dataclass(frozen=True)
class Case:
    """A tape, the sizes of its buffers, and the buffers that are read later.

    Attributes:
        calls: For each entry the buffers that it reads, and the one that it writes.
        sizes: The size of each buffer of the arena, by its number.
        kept: The buffers that are read after the last call.
    """

    calls: tuple[tuple[tuple[int, ...], int], ...]
    sizes: tuple[int, ...]
    kept: frozenset[int] = frozenset()

    def __str__(self) -> str:
        known = set[int]()
        lines = list[str]()
        for i, (read, target) in enumerate(self.calls):
            place = "[...]" if target < 0 or target in known else ""
            operands = ", ".join(f"b[{buffer}]" for buffer in read if buffer != target)
            lines.append(f"{i}: b[{target}]{place} = f({operands})")
            known.add(target)
        text = f"the tape `{'; '.join(lines)}` and sizes = {self.size_of()}"
        return f"{text}, kept = {set(self.kept)}" if self.kept else text

    def size_of(self) -> dict[int, int]:
        """Return the argument `sizes`."""
        return dict(enumerate(self.sizes))

    def entries(self, work: ModuleType) -> list[Entry]:
        """Return the tape, of the module's own classes if it defines them."""
        view_type: type[View] = getattr(work, "View", View)
        entry_type: type[Entry] = getattr(work, "Entry", Entry)

        def view(buffer: int) -> View:
            size = self.sizes[buffer] if buffer >= 0 else 1
            return view_type(buffer, 0, (size,), (1,), np.dtype(np.uint8))

        written = set[int]()
        entries = list[Entry]()
        for read, target in self.calls:
            views = tuple(view(buffer) for buffer in read if buffer != target)
            if target < 0 or target in written:  # a call that changes its first operand
                entry = entry_type(np.copyto, (view(target), *views), {}, None, "in_place")
            else:
                entry = entry_type(np.add, views, {}, view(target), "out")
            entries.append(entry)
            written.add(target)
        return entries

    def uses(self, buffer: int) -> list[int]:
        """Return the entries that read or write a buffer."""
        return [i for i, (read, target) in enumerate(self.calls) if buffer in {*read, target}]


_SIZES = st.sampled_from([8, 64, 65, 128, 200])


# For each call: which of the known buffers it reads, and whether it writes to one of them.
_CALLS = st.lists(
    st.tuples(st.lists(st.integers(0, 7), max_size=2), st.sampled_from([False] * 4 + [True])),
    min_size=1,
    max_size=8,
)


@st.composite
def cases(draw: st.DrawFn, *, outside: bool = False, kept: bool = False) -> Case:
    """Generate tapes of up to eight entries, which sometimes write to a buffer again."""
    calls = list[tuple[tuple[int, ...], int]]()
    known = [-1, -2] if outside else []
    count = 0
    for choices, again in draw(_CALLS):
        read = tuple({known[-1 - i % len(known)]: None for i in choices if known})
        target = read[0] if again and read else count
        if target == count:
            known.append(count)
            count += 1
        calls.append((read, target))
    sizes = tuple(draw(st.lists(_SIZES, min_size=count, max_size=count)))
    chosen = draw(st.frozensets(st.integers(0, count - 1), min_size=1)) if kept and count else ()
    return Case(tuple(calls), sizes, frozenset(chosen))


def _finds_the_last_uses(work: ModuleType, case: Case) -> None:
    buffers = {buffer for read, target in case.calls for buffer in (*read, target)}
    expected = {buffer: case.uses(buffer)[-1] for buffer in sorted(buffers)}
    actual: object = work.last_uses(case.entries(work))
    if isinstance(actual, dict):
        actual = dict(sorted(cast("dict[int, int]", actual).items()))
    expect("your last_uses", actual, expected)


def _placed(work: ModuleType, case: Case) -> tuple[dict[int, int], int]:
    """Return the offsets and the size that the learner's function gives."""
    placement: object = work.place(case.entries(work), case.size_of(), case.kept)
    offsets: object = getattr(placement, "offsets", None)
    size: object = getattr(placement, "size", None)
    if not isinstance(offsets, dict) or not isinstance(size, int):
        raise WrongResult(
            f"your place gave {format_value(placement)}, but a Placement of a dict and an int was "
            "expected"
        )
    return cast("dict[int, int]", offsets), size


def _where(offset: int, size: int) -> str:
    return f"bytes {offset} to {offset + size - 1}"


def _overwritten(
    case: Case, offsets: dict[int, int], buffer: int, begin: int, end: int
) -> list[int]:
    """Return the buffers that are in use when a buffer is placed from `begin` to `end`."""
    start = case.uses(buffer)[0]
    return [
        other
        for other, offset in offsets.items()
        if 0 <= other < buffer
        and (other in case.kept or case.uses(other)[-1] >= start)
        and begin < offset + case.sizes[other]
        and offset < end
    ]


def _does_not_overwrite(work: ModuleType, case: Case) -> None:
    offsets, _ = _placed(work, case)
    for buffer in sorted(set(offsets) & set(case.size_of())):
        begin, size = offsets[buffer], case.sizes[buffer]
        for other in _overwritten(case, offsets, buffer, begin, begin + size):
            when = (
                "is kept" if other in case.kept else f"is used until entry {case.uses(other)[-1]}"
            )
            if (other in case.kept) == bool(case.kept):
                raise WrongResult(
                    f"your place put buffer {other}, which {when}, at "
                    f"{_where(offsets[other], case.sizes[other])}, and buffer {buffer} from entry "
                    f"{case.uses(buffer)[0]} on at {_where(begin, size)}"
                )


def _aligns(work: ModuleType, case: Case) -> None:
    offsets, _ = _placed(work, case)
    for buffer, offset in offsets.items():
        if offset % ALIGNMENT:
            raise WrongResult(
                f"your place put buffer {buffer} at byte {offset}, which is no multiple of "
                f"{ALIGNMENT}"
            )


def _places_buffers_with_a_size(work: ModuleType, case: Case) -> None:
    offsets, _ = _placed(work, case)
    expect("the buffers with a place", sorted(offsets), sorted(case.size_of()))


def _uses_the_first_gap(work: ModuleType, case: Case) -> None:
    offsets, _ = _placed(work, case)
    for buffer in sorted(set(offsets) & set(case.size_of())):
        for offset in range(0, offsets[buffer], ALIGNMENT):
            needed = -(-case.sizes[buffer] // ALIGNMENT) * ALIGNMENT
            if not _overwritten(case, offsets, buffer, offset, offset + needed):
                raise WrongResult(
                    f"your place put buffer {buffer} at byte {offsets[buffer]}, but the "
                    f"{case.sizes[buffer]} bytes from {offset} are free in entry "
                    f"{case.uses(buffer)[0]}"
                )


def _returns_the_size(work: ModuleType, case: Case) -> None:
    offsets, size = _placed(work, case)
    end = max(offsets[b] + case.size_of().get(b, 0) for b in offsets) if offsets else 0
    expected = -(-end // ALIGNMENT) * ALIGNMENT
    if size != expected:
        raise WrongResult(
            f"your place gave the size {size}, but {expected} was expected: the last byte of a "
            f"buffer is number {end - 1}"
        )


_NEXT = """\
            offset = max(offset, -(-end // ALIGNMENT) * ALIGNMENT)
        offsets[buffer] = offset
        in_use.add(buffer)
"""
_SIZE = "        size = max(size, offset + needed)"
_ROUNDED = "-(-(offset + sizes[buffer]) // ALIGNMENT) * ALIGNMENT"

LESSON = Lesson(
    title="What a graph compiler does",
    exercise=CodeExercise(
        module="minispore.graph.program",
        tasks={
            "last_uses": "Iterate over the tape. `reads(entry)` and `writes(entry)` are the sets "
            "of the numbers of buffers.",
            "place": "Go through the buffers in the order of `first_uses(entries)`. Each gets the "
            "lowest offset, a multiple of ALIGNMENT, at which it overlaps no buffer that is still "
            "in use: one whose last use is not before the first use of this buffer, or that is in "
            "`kept`. The size is the end of the last byte, rounded up to a multiple of ALIGNMENT.",
        },
        properties=(
            Property(
                "The last use of a buffer is the last entry that reads or writes it.",
                cases(outside=True), _finds_the_last_uses, examples=60,
            ),
            Property(
                "Buffers that are in use in the same entry do not overlap.",
                cases(), _does_not_overwrite,
            ),
            Property(
                "Nothing overwrites a buffer that is kept.", cases(kept=True), _does_not_overwrite,
            ),
            Property("Each offset is a multiple of ALIGNMENT.", cases(), _aligns, examples=60),
            Property(
                "Exactly the buffers with a size get a place.",
                cases(outside=True), _places_buffers_with_a_size, examples=60,
            ),
            Property(
                "No lower multiple of ALIGNMENT is free when a buffer is placed.",
                cases(kept=True), _uses_the_first_gap,
            ),
            Property(
                "The size is the end of the last byte, rounded up to a multiple of ALIGNMENT.",
                cases(outside=True), _returns_the_size,
            ),
        ),
        bugs=(
            *bugs(
                "last_uses",
                ("a result that is never read has no last use",
                 "reads(entry) | writes(entry)", "reads(entry)"),
                ("inputs and parameters are left out",
                 "uses[buffer] = i", "uses.update({buffer: i} if buffer >= 0 else {})"),
                ("the first use is returned", "uses[buffer] = i", "uses.setdefault(buffer, i)"),
            ),
            *bugs(
                "place",
                ("a result shares memory with an operand of its call",
                 "last[other] >= start", "last[other] > start"),
                ("the buffers in use are not sorted", "used = sorted(", "used = list("),
                ("outputs are overwritten", "other in kept or ", ""),
                ("buffers follow one another without gaps",
                 _NEXT + _SIZE,
                 _NEXT.replace("-(-end // ALIGNMENT) * ALIGNMENT", "end")
                 + _SIZE.replace("offset + needed", _ROUNDED)),
                ("a result that is never read gets no place",
                 "if buffer not in sizes:",
                 "if buffer not in sizes or last[buffer] == start and buffer not in kept:"),
                ("gaps are not used", "offset + needed <= begin", "False"),
                ("no memory is used twice", "last[other] >= start", "True"),
                ("the size is the end of the buffer that was placed last",
                 "max(size, offset + needed)", "offset + needed"),
            ),
        ),
    ),
    hints="""
        last_uses is one loop with enumerate(entries): for each buffer in reads(entry) |
        writes(entry), store the index. A later entry replaces the index of an earlier one.

        In place, `last = last_uses(entries)` holds the last call that uses each buffer. The buffer
        to place is written in entry `start`, in which its operands are still read: a buffer that
        is placed already is in use if its last use is `start` or later.

        Collect (begin, end) of the buffers in use, sort these pairs, and go through them with
        offset = 0. If the buffer fits before `begin`, stop. Otherwise continue at `end`, rounded
        up to a multiple of ALIGNMENT, unless offset is higher already.

        -(-n // ALIGNMENT) * ALIGNMENT rounds up. Buffers without a size, which lie outside of the
        arena, are skipped. The size of the arena is the largest of all ends, not the last one.
        """,
)  # fmt: skip
