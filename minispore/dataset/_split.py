"""Dividing a dataset into parts that share no row, in this epoch and in all others."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from minispore._checks import check_type
from minispore.dataset._node import Node
from minispore.dataset._random import first_epoch
from minispore.dataset._shuffle import Frozen, Shuffle
from minispore.dataset._sources import StoreNode
from minispore.dataset._structure import Skip, Take
from minispore.dataset.samplers import SubsetRandomSampler, SubsetSampler


def parts_of(
    node: Node, rows: int, sizes: Sequence[int] | Sequence[float], randomize: bool
) -> Iterator[Node]:
    """Return the parts of a pipeline of so many rows.

    A source with rows by number is divided by row numbers, and each part keeps the source's
    habit of shuffling. Any other pipeline is stopped at one order of its rows, and cut.
    """
    counts = _counts(rows, sizes)
    epoch = first_epoch()
    if isinstance(node, StoreNode):
        return _divided(node, counts, randomize)
    if randomize:
        node = Shuffle(node, max(rows, 1))
    frozen = Frozen(node, epoch)
    starts = [sum(counts[:i]) for i in range(len(counts))]
    return (Take(Skip(frozen, start), count) for start, count in zip(starts, counts, strict=True))


def _divided(node: StoreNode, counts: list[int], randomize: bool) -> Iterator[Node]:
    epoch = first_epoch()
    order = node.sampler.order(node.store.count(), epoch)
    if randomize:
        order = epoch.below().generator().permutation(order)
    kind = SubsetRandomSampler if node.sampler.shuffles else SubsetSampler
    start = 0
    for count in counts:
        yield replace(node, sampler=kind(order[start : start + count]))
        start += count


def _counts(rows: int, sizes: Sequence[int] | Sequence[float]) -> list[int]:
    check_type(sizes, (list, tuple), "sizes", "split")
    if not sizes:
        raise ValueError("For 'split', the argument 'sizes' must not be empty.")
    kind = int if type(sizes[0]) is int else float
    for size in sizes:
        check_type(size, kind, "sizes", "split")
        if not size > 0:
            raise ValueError(f"For 'split', every one of 'sizes' must be above 0, but got {size}.")
    counts = [int(size) for size in sizes] if kind is int else _shares(rows, sizes)
    if sum(counts) != rows:
        raise RuntimeError(
            f"For 'split', 'sizes' must sum to the dataset's {rows} rows, but sum to {sum(counts)}."
        )
    return counts


def _shares(rows: int, fractions: Sequence[float]) -> list[int]:
    if abs(sum(fractions) - 1) > 1e-6:
        raise ValueError(
            f"For 'split', fractions must sum to 1, but {list(fractions)} sum to {sum(fractions)}."
        )
    # Rounded, and what rounding left over or took too much evened out from the first part on.
    counts = [int(fraction * rows + 0.5) for fraction in fractions]
    difference = rows - sum(counts)
    step = 1 if difference > 0 else -1
    for i in range(abs(difference)):
        counts[i % len(counts)] += step
    if min(counts) < 1:
        raise RuntimeError(
            f"For 'split', {list(fractions)} of {rows} rows leave a part without a row."
        )
    return counts
