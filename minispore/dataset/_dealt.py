"""The data of processes that train together: each row once, and as many batches for everyone.

Shards as such are MindSpore's: equally long, so that where the rows do not divide evenly some come
twice. A training must not see these. Nor can a shard just end early, since all processes do every
step; so in steps of which it has no rows, it has a batch without rows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from minispore.dataset._batch import Batch
from minispore.dataset._block import Block
from minispore.dataset._dataset import Dataset
from minispore.dataset._node import Node, Operation, rebuilt
from minispore.dataset._position import nodes_of
from minispore.dataset._random import Epoch
from minispore.dataset._sources import StoreNode
from minispore.dataset.samplers import DistributedSampler

# From how many batches one process has, and whether a smaller last one is left out, to how many
# there are for all.
Agree = Callable[[int, bool], int]


@dataclass(frozen=True)
class Even(Operation):
    """So many batches: more are cut off, and missing ones have no rows."""

    child: Node
    count: int
    # What gives a batch to tell shapes by. No Node, since it is no part of the pipeline.
    example: Callable[[Epoch, int], Iterator[Block]]

    def size(self) -> int:
        """Return `count`."""
        return self.count

    def blocks(self, epoch: Epoch, most: int, start: int = 0) -> Iterator[Block]:
        """Yield one batch a block, in the order that the child has by itself."""
        left = max(0, self.count - start)
        for block in islice(self.child.blocks(epoch, most, start), left):
            left -= 1
            yield block
        if not left:
            return
        example = next(self.example(epoch, 1), None)
        if example is None:
            raise RuntimeError(
                "In data parallel training a process that has no rows in a step must know their "
                "shapes all the same, but nothing is left of its share of the data."
            )
        for _ in range(left):
            yield tuple([np.empty((1, 0, *each.shape[2:]), each.dtype) for each in example])


def dealt(dataset: Dataset, agree: Agree) -> Dataset:
    """Return a data set in which each batch of shards has the rows that are its own, and no others.

    Batches of data without shards are left alone, and so is what is not batched.
    """

    def change(node: Node) -> Node:
        if not isinstance(node, Batch) or node.endless or not any(map(_is_shard, nodes_of(node))):
            return node
        own = replace(node, child=rebuilt(node.child, _once))
        count = agree(own.size(), own.drop_remainder)
        return Even(own, count, node.blocks)

    return Dataset(rebuilt(dataset._node, change))


def length_policy(dataset: Dataset) -> str:
    """Describe what decides how many batches there are, besides the rows."""
    found: list[str] = []
    for node in nodes_of(dataset._node):
        if isinstance(node, Batch):
            found.append(f"batch(drop_remainder={node.drop_remainder}, endless={node.endless})")
        elif isinstance(node, StoreNode) and isinstance(node.sampler, DistributedSampler):
            found.append(f"num_shards={node.sampler.num_shards}")
    return f"Dataset({', '.join(found)})"


def _is_shard(node: Node) -> bool:
    return isinstance(node, StoreNode) and isinstance(node.sampler, DistributedSampler)


def _once(node: Node) -> Node:
    """The same shard without rows that another one has too."""
    if not isinstance(node, StoreNode) or not isinstance(node.sampler, DistributedSampler):
        return node
    shard = node.sampler
    own = DistributedSampler(
        shard.num_shards,
        shard.shard_id,
        shard.shuffles,
        shard.num_samples,
        offset=max(shard.offset, 0),
    )
    return replace(node, sampler=own)
