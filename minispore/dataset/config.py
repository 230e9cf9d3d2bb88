"""Settings of all datasets: the seed, and MindSpore's settings of its own machinery."""

import os

from minispore._checks import check_int, check_type
from minispore.common.seed import get_dataset_seed, set_dataset_seed
from minispore.common.seed import get_seed as _program_seed

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
    """Set the seed of every random order in datasets, until the next `minispore.set_seed`.

    With a seed, the order of epoch `e` is the same in every iterator over the same pipeline.
    Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.dataset.config.html

    Args:
        seed: From 0 to 2³² - 1.

    Raises:
        TypeError: If it is no int.
        ValueError: If it is out of range.

    Examples:
        >>> from minispore.dataset import NumpySlicesDataset, config
        >>> config.set_seed(7)
        >>> numbers = NumpySlicesDataset([1, 2, 3, 4])
        >>> def order():
        ...     return [int(x) for (x,) in numbers.create_tuple_iterator(num_epochs=1)]
        >>> order() == order()
        True
    """
    set_dataset_seed(check_int(seed, "seed", "set_seed", low=0, high=2**32 - 1))


def get_seed() -> int:
    """Return the seed of datasets: the last that was set, here or for the program, or else 5489."""
    seed = get_dataset_seed()
    if seed is None:
        seed = _program_seed()
    return _MINDSPORE_DEFAULT_SEED if seed is None else seed


def set_num_parallel_workers(num: int) -> None:
    """Accept MindSpore's number of worker threads; a pipeline here works in the calling thread."""
    _settings["num_parallel_workers"] = check_int(num, "num", "set_num_parallel_workers", low=1)


def get_num_parallel_workers() -> int:
    """Return what `set_num_parallel_workers` was given; at first the number of cores, at most 8."""
    return _settings["num_parallel_workers"]


def set_prefetch_size(size: int) -> None:
    """Accept MindSpore's length of the queues between operations; there are no queues here."""
    _settings["prefetch_size"] = check_int(size, "size", "set_prefetch_size", low=1)


def get_prefetch_size() -> int:
    """Return what `set_prefetch_size` was given; at first 16."""
    return _settings["prefetch_size"]


def set_enable_shared_mem(enable: bool) -> None:
    """Accept MindSpore's switch for shared memory between worker processes; there are none here."""
    check_type(enable, bool, "enable", "set_enable_shared_mem")
