"""Settings of datasets: the seed, and the settings without effect."""

from hypothesis import given
from hypothesis import strategies as st

import minispore
from minispore.dataset import config

SETTERS = st.sampled_from([minispore.set_seed, config.set_seed])


@given(calls=st.lists(st.tuples(SETTERS, st.integers(0, 2**32 - 1)), min_size=1, max_size=4))
def test_last_seed_takes_precedence(calls: list[tuple[object, int]]) -> None:
    """As in MindSpore 2.10, where `set_seed` sets the seed of datasets, too."""
    for set_seed, seed in calls:
        assert callable(set_seed)
        set_seed(seed)
        assert config.get_seed() == seed


def test_seed_is_mindspores_by_default() -> None:
    assert config.get_seed() == 5489


@given(workers=st.integers(1, 99), size=st.integers(1, 99))
def test_worker_settings_are_stored(workers: int, size: int) -> None:
    before = config.get_num_parallel_workers(), config.get_prefetch_size()
    config.set_num_parallel_workers(workers)
    config.set_prefetch_size(size)
    config.set_enable_shared_mem(False)
    assert (config.get_num_parallel_workers(), config.get_prefetch_size()) == (workers, size)
    config.set_num_parallel_workers(before[0])
    config.set_prefetch_size(before[1])
