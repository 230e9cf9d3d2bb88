"""Data pipelines: sources, operations on them, and iterators that hand out batches.

A pipeline is a tree of immutable nodes (`_node.py`). Rows flow through it in blocks (`_block.py`),
cut to the batch where there is one, so that transforms work on whole batches that stay in cache.
"""

from importlib import import_module

from minispore.dataset import config, samplers, transforms, vision
from minispore.dataset._batch import BatchInfo
from minispore.dataset._dataset import Dataset
from minispore.dataset._dataset import zip_datasets as zip
from minispore.dataset._ds_callback import DSCallback, DSRunContext
from minispore.dataset._generator import GeneratorDataset
from minispore.dataset._mappable import MappableDataset, MnistDataset, NumpySlicesDataset
from minispore.dataset.samplers import (
    BuiltinSampler,
    DistributedSampler,
    IterSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    SubsetSampler,
    WeightedRandomSampler,
)

# Type checkers read `__init__.pyi` instead.
__all__ = [
    "BatchInfo",
    "BuiltinSampler",
    "DSCallback",
    "DSRunContext",
    "Dataset",
    "DistributedSampler",
    "GeneratorDataset",
    "IterSampler",
    "MappableDataset",
    "MnistDataset",
    "NumpySlicesDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "SubsetSampler",
    "WaitedDSCallback",  # pyright: ignore[reportUnsupportedDunderAll]
    "WeightedRandomSampler",
    "config",
    "samplers",
    "transforms",
    "vision",
    "zip",
]


def __getattr__(name: str) -> object:
    if name == "WaitedDSCallback":
        # A callback of the training too, so it lives upstairs, and is fetched when it is wanted.
        return import_module("minispore.train.callback._waited_ds_callback").WaitedDSCallback
    raise AttributeError(f"module 'minispore.dataset' has no attribute '{name}'")
