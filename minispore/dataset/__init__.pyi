# The names of `__init__.py` for type checkers; one of them is imported when it is first used.

from minispore.dataset import _description as _description
from minispore.dataset import _instances as _instances
from minispore.dataset import _operations as _operations
from minispore.dataset import _pipeline_table as _pipeline_table
from minispore.dataset import _tables as _tables
from minispore.dataset import config, samplers, transforms, vision
from minispore.dataset._batches import BatchInfo
from minispore.dataset._cifar_datasets import Cifar10Dataset, Cifar100Dataset
from minispore.dataset._csv_dataset import CSVDataset
from minispore.dataset._dataset import Dataset
from minispore.dataset._dataset import zip_datasets as zip
from minispore.dataset._ds_callback import DSCallback, DSRunContext
from minispore.dataset._generator_dataset import GeneratorDataset
from minispore.dataset._image_folder_dataset import ImageFolderDataset
from minispore.dataset._mnist_dataset import FashionMnistDataset, MnistDataset
from minispore.dataset._source_datasets import MappableDataset, NumpySlicesDataset
from minispore.dataset.samplers import (
    BuiltinSampler,
    DistributedSampler,
    IterSampler,
    PKSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    SubsetSampler,
    WeightedRandomSampler,
)
from minispore.train.callback._waited_ds_callback import WaitedDSCallback

__all__ = [
    "BatchInfo",
    "BuiltinSampler",
    "CSVDataset",
    "Cifar100Dataset",
    "Cifar10Dataset",
    "DSCallback",
    "DSRunContext",
    "Dataset",
    "DistributedSampler",
    "FashionMnistDataset",
    "GeneratorDataset",
    "ImageFolderDataset",
    "IterSampler",
    "MappableDataset",
    "MnistDataset",
    "NumpySlicesDataset",
    "PKSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "SubsetSampler",
    "WaitedDSCallback",
    "WeightedRandomSampler",
    "config",
    "samplers",
    "transforms",
    "vision",
    "zip",
]
