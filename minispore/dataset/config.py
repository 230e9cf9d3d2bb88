"""Settings of all datasets: the seed, the number of worker processes, and others of MindSpore."""

import os

from minispore.dataset._node import seed_of_order
from minispore.ops.seed import set_dataset_seed
from minispore.utils.checks import check_int, check_type

__all__ = [
    "get_num_parallel_workers",
    "get_prefetch_size",
    "get_seed",
    "set_enable_shared_mem",
    "set_num_parallel_workers",
    "set_prefetch_size",
    "set_seed",
]

_MINDSPORE_DEFAULT_SEED = 5489

_settings = {"num_parallel_workers": min(8, os.cpu_count() or 1), "prefetch_size": 16}


def set_seed(seed: int) -> None:
    """Set the seed of random orders in datasets, until the next `minispore.set_seed`.

    With a seed, epoch number e has the same order in all iterators over the same pipeline. The
    global generators of numpy and of Python's `random`, from which functions of a pipeline may
    draw, are seeded, too.

    Args:
        seed: From 0 to 2³² - 1.

    Examples:
        >>> from minispore.dataset import NumpySlicesDataset, config
        >>> config.set_seed(7)
        >>> numbers = NumpySlicesDataset([1, 2, 3, 4])
        >>> def order():
        ...     return [int(x) for (x,) in numbers.create_tuple_iterator(num_epochs=1)]
        >>> order() == order()
        True

    Source: MindSpore's `mindspore.dataset.config.set_seed`.
    """
    set_dataset_seed(check_int(seed, "seed", low=0, high=2**32 - 1))


def get_seed() -> int:
    """Return the seed of datasets, or else of the program, or else 5489, MindSpore's default.

    Returns:
        An int from 0 to 2³² - 1.

    Examples:
        >>> set_seed(7)
        >>> get_seed()
        7

    Source: MindSpore's `mindspore.dataset.config.get_seed`.
    """
    seed = seed_of_order()
    return _MINDSPORE_DEFAULT_SEED if seed is None else seed


def set_num_parallel_workers(num: int) -> None:
    """Set the number of workers where a dataset says None, used with `python_multiprocessing`.

    Args:
        num: At least 1.

    Examples:
        >>> set_num_parallel_workers(2)
        >>> get_num_parallel_workers()
        2

    Source: MindSpore's `mindspore.dataset.config.set_num_parallel_workers`.
    """
    _settings["num_parallel_workers"] = check_int(num, "num", low=1)


def get_num_parallel_workers() -> int:
    """Return the number set by `set_num_parallel_workers`.

    Returns:
        An int from 1; by default the number of processor cores, at most 8.

    Examples:
        >>> set_num_parallel_workers(4)
        >>> get_num_parallel_workers()
        4

    Source: MindSpore's `mindspore.dataset.config.get_num_parallel_workers`.
    """
    return _settings["num_parallel_workers"]


def set_prefetch_size(size: int) -> None:
    """Set MindSpore's length of the queues between operations, without effect: there are none.

    Args:
        size: At least 1.

    Examples:
        >>> set_prefetch_size(32)
        >>> get_prefetch_size()
        32

    Source: MindSpore's `mindspore.dataset.config.set_prefetch_size`.
    """
    _settings["prefetch_size"] = check_int(size, "size", low=1)


def get_prefetch_size() -> int:
    """Return the number set by `set_prefetch_size`.

    Returns:
        An int from 1; by default 16.

    Examples:
        >>> set_prefetch_size(16)
        >>> get_prefetch_size()
        16

    Source: MindSpore's `mindspore.dataset.config.get_prefetch_size`.
    """
    return _settings["prefetch_size"]


def set_enable_shared_mem(enable: bool) -> None:
    """Set whether MindSpore's workers use shared memory, without effect: none do.

    Args:
        enable: Any bool.

    Examples:
        >>> set_enable_shared_mem(True)

    Source: MindSpore's `mindspore.dataset.config.set_enable_shared_mem`.
    """
    check_type(enable, bool, "enable")
