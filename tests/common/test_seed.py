"""Seeds: the same seed gives the same streams, and no stream disturbs another."""

import copy
import random
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import mtrand

from minispore import get_seed, set_seed
from minispore.common import seed as module
from minispore.common.seed import generator, random_state, set_random_state

seeds = st.integers(0, 2**32 - 1)
names = st.text(min_size=1, max_size=8)


@pytest.fixture(autouse=True, scope="module")
def _as_it_was() -> Iterator[None]:
    before = module._seed[0], dict(module._streams)
    yield
    module._seed[0] = before[0]
    module._streams.clear()
    module._streams.update(before[1])


def draws(stream: str, n: int = 4) -> list[float]:
    return [float(x) for x in generator(stream).random(n)]


@given(seeds, names)
def test_the_same_seed_gives_the_same_stream(seed: int, name: str) -> None:
    set_seed(seed)
    assert get_seed() == seed
    first = draws(name)
    assert draws(name) != first
    set_seed(seed)
    assert draws(name) == first


@given(seeds, names, names, st.integers(0, 5))
def test_streams_do_not_disturb_one_another(seed: int, one: str, two: str, n: int) -> None:
    set_seed(seed)
    undisturbed = draws(one)
    set_seed(seed)
    if one != two:
        draws(two, n)
        assert draws(one) == undisturbed
        set_seed(seed)
        assert draws(two) != undisturbed


@given(seeds, seeds)
def test_different_seeds_give_different_streams(one: int, two: int) -> None:
    set_seed(one)
    first = draws("init")
    set_seed(two)
    assert (draws("init") == first) == (one == two)


def test_a_stream_is_the_same_in_every_process() -> None:
    code = "import minispore; from minispore.common.seed import generator; minispore.set_seed(3); "
    run = subprocess.run(
        [sys.executable, "-c", code + "print(generator('init').random())"],
        capture_output=True,
        text=True,
        check=True,
    )
    set_seed(3)
    assert float(run.stdout) == draws("init", 1)[0]


def test_without_a_seed_every_run_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_seed", [None])
    monkeypatch.setattr(module, "_chance", [None])
    monkeypatch.setattr(module, "_streams", {})
    first = draws("init")
    monkeypatch.setattr(module, "_chance", [None])
    monkeypatch.setattr(module, "_streams", {})
    assert get_seed() is None
    assert draws("init") != first


def test_threads_get_one_stream_between_them() -> None:
    set_seed(11)
    expected = sorted(draws("dataset", 400))
    set_seed(11)
    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(draws, "dataset", 1) for _ in range(400)]
    assert sorted(future.result()[0] for future in found) == expected


@pytest.mark.parametrize(
    ("seed", "error", "message"),
    [
        (1.0, TypeError, r"For 'set_seed', the type of 'seed' must be one of int, but got 1\.0"),
        (True, TypeError, "'seed'"),
        (None, TypeError, "'seed'"),
        (np.int64(1), TypeError, "'seed'"),
        (-1, ValueError, r"'seed' must be in \[0, 4294967295\], but got -1"),
        (2**32, ValueError, "'seed'"),
    ],
)
def test_what_is_no_seed(seed: int, error: type[Exception], message: str) -> None:
    set_seed(5)
    with pytest.raises(error, match=message):
        set_seed(seed)
    assert get_seed() == 5


def test_the_seed_is_that_of_numpys_global_state_as_well() -> None:
    set_seed(3)
    first = np.random.random()  # noqa: NPY002
    set_seed(3)
    assert np.random.random() == first  # noqa: NPY002


def everything_drawn() -> list[object]:
    """The next number of each source of chance."""
    return [random.random(), random.gauss(0, 1), np.random.random(), *draws("init")]  # noqa: NPY002


@given(seeds, st.booleans())
def test_what_is_drawn_after_a_state_is_drawn_again(seed: int, other: bool) -> None:
    """With numpy's old generator and with any other one in its place."""
    try:
        if other:
            mtrand.set_bit_generator(np.random.PCG64(seed))
        set_seed(seed)
        everything_drawn()
        state = random_state()
        drawn = everything_drawn()
        set_random_state(state)
        assert everything_drawn() == drawn
    finally:
        mtrand.set_bit_generator(np.random.MT19937(seed))


@pytest.mark.parametrize(
    ("path", "bad"),
    [
        (("numpy",), None),
        (("numpy", "bit_generator"), "PCG64"),
        (("numpy", "state", "pos"), 625),
        (("program", "entropy"), -1),
        (("program", "seed"), "3"),
        (("program", "streams", "init"), {}),
        (("python", "gauss"), "0"),
        (("python", "version"), 9),
        (("python", "words"), np.zeros(3, np.uint32)),
    ],
)
def test_a_state_of_which_a_part_is_damaged_changes_nothing(
    path: tuple[str, ...], bad: object
) -> None:
    set_seed(3)
    everything_drawn()
    state = random_state()
    damaged = copy.deepcopy(state)
    *above, last = path
    part = damaged
    for name in above:
        part = cast("dict[str, object]", part[name])
    part[last] = bad
    with pytest.raises(ValueError, match="The random state cannot be set"):
        set_random_state(damaged)
    drawn = everything_drawn()
    set_random_state(state)
    assert everything_drawn() == drawn
