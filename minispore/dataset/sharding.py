"""Shard a dataset so that each row is read once and all processes have equally many batches.

MindSpore's shards are equally long: if the number of shards does not divide the number of rows,
some rows are read twice. Training must not read rows twice. A shard cannot end early either, since
all processes take part in every step; so it gets empty batches for the steps without rows.
"""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from minispore.dataset._batches import Batch
from minispore.dataset._dataset import Dataset
from minispore.dataset._node import (
    Block,
    EpochKey,
    Node,
    Operation,
    nodes_of,
    rebuild,
    seed_of_order,
)
from minispore.dataset._object_nodes import IterableNode
from minispore.dataset._sources import MapStyleNode
from minispore.dataset.samplers import DistributedSampler


@dataclass(frozen=True)
class EqualLengthShards(Operation):
    """Exactly `count` batches: further ones are dropped, missing ones are empty."""

    count: int
    # Yields a batch with the shapes of empty ones. Not a Node: it is not a part of the pipeline.
    example: Callable[[EpochKey, int], Iterator[Block]] = field(compare=False)

    def size(self) -> int:
        """Return the field `count`."""
        return self.count

    def blocks(self, key: EpochKey, max_rows: int, start: int = 0) -> Iterator[Block]:
        """Yield one batch per block; the order is the child's own."""
        remaining = max(0, self.count - start)
        for block in islice(self.child.blocks(key, max_rows, start), remaining):
            remaining -= 1
            yield block
        if not remaining:
            return
        example = next(self.example(key, 1), None)
        if example is None:
            raise RuntimeError(
                "In data parallel training, a process without rows in a step needs their shapes, "
                "but its shard of the data is empty."
            )
        for _ in range(remaining):
            yield tuple([np.empty((1, 0, *column.shape[2:]), column.dtype) for column in example])


def shard_evenly(dataset: Dataset, agree: Callable[[int, bool], int]) -> Dataset:
    """Return a dataset in which each batch of a shard has only rows that no other shard has.

    `agree` returns, from the number of batches of this process and `drop_remainder`, the number for
    all. Datasets without shards, or without batches, stay as they are.
    """

    def change(node: Node) -> Node:
        if (
            not isinstance(node, Batch)
            or node.endless
            or not any(map(_shard_sampler, nodes_of(node)))
        ):
            return node
        shard = replace(node, child=rebuild(node.child, _without_repeated_rows))
        count = agree(shard.size(), shard.drop_remainder)
        return EqualLengthShards(shard, count, node.blocks)

    return Dataset(rebuild(dataset._node, change))


def shared_settings(dataset: Dataset) -> str:
    """Return the settings that all shards must have in common, for messages."""
    settings: list[str] = []
    for node in nodes_of(dataset._node):
        if isinstance(node, Batch):
            settings.append(f"batch(drop_remainder={node.drop_remainder}, endless={node.endless})")
        elif (sampler := _shard_sampler(node)) is not None:
            settings.append(f"num_shards={sampler.num_shards}")
            if sampler.shuffles:
                settings.append(f"seed={seed_of_order()}")
    return f"Dataset({', '.join(settings)})"


def shard_ids(dataset: Dataset) -> list[int]:
    """Return the numbers of the shards that a dataset reads; empty if it reads all rows."""
    samplers = map(_shard_sampler, nodes_of(dataset._node))
    return [sampler.shard_id for sampler in samplers if sampler is not None]


def can_be_sharded(dataset: Dataset) -> bool:
    """Return whether all sources of a dataset take `num_shards` and `shard_id`."""
    return not any(isinstance(node, IterableNode) for node in nodes_of(dataset._node))


def _shard_sampler(node: Node) -> DistributedSampler | None:
    sampler = node.sampler if isinstance(node, MapStyleNode) else None
    return sampler if isinstance(sampler, DistributedSampler) else None


def _without_repeated_rows(node: Node) -> Node:
    """Return the same shard without rows that another shard has too."""
    sampler = _shard_sampler(node)
    if sampler is None or not isinstance(node, MapStyleNode):
        return node
    shifted = copy(sampler)
    shifted.offset = max(sampler.offset, 0)
    return replace(node, sampler=shifted)
