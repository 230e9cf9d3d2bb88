"""Data pipelines: sources, operations on them, and iterators over rows or batches.

A pipeline is a tree of immutable nodes (`_node.py`). Rows flow through it in blocks of the size of
a batch, if there is one, so that transforms process batches that stay in cache.
"""

from minispore.dataset import config, samplers, transforms, vision
from minispore.dataset._batches import BatchInfo
from minispore.dataset._cifar_datasets import Cifar10Dataset, Cifar100Dataset
from minispore.dataset._csv_dataset import CSVDataset
from minispore.dataset._dataset import Dataset
from minispore.dataset._dataset import zip_datasets as zip
from minispore.dataset._ds_callback import DSCallback, DSRunContext
from minispore.dataset._image_folder_dataset import ImageFolderDataset
from minispore.dataset._mnist_dataset import FashionMnistDataset, MnistDataset
from minispore.dataset._source_datasets import GeneratorDataset, MappableDataset, NumpySlicesDataset
from minispore.dataset.samplers import *  # noqa: F403 (exactly the samplers)

# Type checkers read `__init__.pyi`, which has the same names.
__all__ = [
    "BatchInfo",
    "CSVDataset",
    "Cifar100Dataset",
    "Cifar10Dataset",
    "DSCallback",
    "DSRunContext",
    "Dataset",
    "FashionMnistDataset",
    "GeneratorDataset",
    "ImageFolderDataset",
    "MappableDataset",
    "MnistDataset",
    "NumpySlicesDataset",
    "WaitedDSCallback",  # noqa: F405  # pyright: ignore[reportUnsupportedDunderAll]
    "config",
    "samplers",
    "transforms",
    "vision",
    "zip",
]
__all__ += samplers.__all__
