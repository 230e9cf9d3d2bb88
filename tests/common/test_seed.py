"""Seeds: the same seed gives the same streams, and streams are independent."""

import copy
import random
import subprocess
import sys
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import mtrand
from numpy.typing import NDArray

from minispore import dataset, get_seed, set_seed
from minispore.ops import seed as module
from minispore.ops.seed import (
    generator,
    get_dataset_seed,
    get_rng_state,
    set_dataset_seed,
    set_rng_state,
)

seeds = st.integers(0, 2**32 - 1)
names = st.text(min_size=1, max_size=8)


@pytest.fixture
def unseeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """No seed is set, and no number was drawn."""
    monkeypatch.setattr(module, "_seeds", dict.fromkeys(module._seeds))
    monkeypatch.setattr(module, "_streams", {})


def draws(stream: str, n: int = 4) -> list[float]:
    return [float(x) for x in generator(stream).random(n)]


@given(seeds, names)
def test_same_seed_gives_the_same_stream(seed: int, name: str) -> None:
    set_seed(seed)
    assert get_seed() == seed
    first = draws(name)
    assert draws(name) != first
    set_seed(seed)
    assert draws(name) == first


@given(seeds, names, names, st.integers(0, 5))
def test_streams_are_independent(seed: int, one: str, two: str, n: int) -> None:
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


@given(st.none() | seeds, st.integers(0, 2**64 - 1), names)
def test_stream_depends_on_seed_and_name(seed: int | None, entropy: int, name: str) -> None:
    """Without a seed, a random number replaces it in all streams."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_seeds", {"seed": seed, "dataset_seed": None, "entropy": entropy})
        patch.setattr(module, "_streams", {})
        first = entropy if seed is None else seed
        expected = np.random.default_rng([first, zlib.crc32(name.encode())])
        assert draws(name) == expected.random(4).tolist()


@pytest.mark.full
def test_stream_is_the_same_in_every_process() -> None:
    code = "import minispore; from minispore.ops.seed import generator; minispore.set_seed(3); "
    run = subprocess.run(
        [sys.executable, "-c", code + "print(generator('init').random())"],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    set_seed(3)
    assert float(run.stdout) == draws("init", 1)[0]


def test_threads_share_one_stream() -> None:
    set_seed(11)
    expected = sorted(draws("dataset", 400))
    set_seed(11)
    with ThreadPoolExecutor(8) as pool:
        actual = [pool.submit(draws, "dataset", 1) for _ in range(400)]
    assert sorted(future.result()[0] for future in actual) == expected


@given(seeds, seeds, st.sampled_from([set_seed, dataset.config.set_seed]))
def test_seeds_of_program_and_dataset_seed_the_global_generators(
    before: int, seed: int, seed_function: Callable[[int], None]
) -> None:
    """As in MindSpore 2.10: users' code draws what `random.seed` and `np.random.seed` give."""
    set_seed(before)
    seed_function(seed)
    assert random.random() == random.Random(seed).random()
    assert np.random.random() == np.random.RandomState(seed).random()  # noqa: NPY002


def everything_drawn() -> list[object]:
    """Return the next number of each random number generator."""
    return [random.random(), random.gauss(0, 1), np.random.random(), *draws("init")]  # noqa: NPY002


@given(seeds, st.booleans())
def test_restored_state_repeats_the_draws(seed: int, other: bool) -> None:
    """Both with numpy's legacy generator and with another bit generator."""
    try:
        if other:
            mtrand.set_bit_generator(np.random.PCG64(seed))
        set_seed(seed)
        everything_drawn()
        state = get_rng_state()
        drawn = everything_drawn()
        set_rng_state(state)
        assert everything_drawn() == drawn
    finally:
        mtrand.set_bit_generator(np.random.MT19937(seed))


def test_restored_state_without_seed_repeats_the_draws(unseeded: None) -> None:
    """In streams that were created before the state was read, and after."""
    begun = draws("init")
    state = get_rng_state()
    assert repr(get_rng_state()) == repr(state)
    drawn = draws("init"), draws("new")
    for _ in range(2):
        set_rng_state(state)
        assert module._streams.keys() == {"init"}
        assert (draws("init"), draws("new")) == drawn
    module._seeds["entropy"] = None
    module._streams.clear()
    assert draws("init") != begun


def test_default_entropy_has_64_bits(unseeded: None) -> None:
    drawn: set[int] = set()
    for _ in range(20):
        module._seeds["entropy"] = None
        program = cast("dict[str, int]", get_rng_state()["program"])
        drawn.add(program["entropy"])
    assert len(drawn) == 20
    assert 2**60 <= max(drawn) < 2**64


def test_state_contains_only_seeds_and_streams() -> None:
    def state() -> dict[str, object]:
        module._seeds["entropy"] = None
        set_seed(3)
        draws("init")
        return get_rng_state()

    first = state()
    assert repr(state()["program"]) == repr(first["program"])
    assert repr(state()["numpy"]) == repr(first["numpy"])
    program = cast("dict[str, object]", first["program"])
    assert (program["seed"], program["entropy"]) == (3, None)
    python = cast("dict[str, NDArray[np.generic]]", first["python"])
    assert python["words"].dtype == np.uint32


@given(seeds, seeds)
def test_dataset_seed_is_saved_and_cleared_by_set_seed(seed: int, other: int) -> None:
    set_seed(seed)
    state = get_rng_state()
    set_dataset_seed(other)
    with_another = get_rng_state()
    set_rng_state(state)
    assert get_dataset_seed() is None
    set_rng_state(with_another)
    assert get_dataset_seed() == other
    set_seed(seed)
    assert get_dataset_seed() is None


@given(seeds)
def test_state_without_dataset_seed_leaves_it_unchanged(seed: int) -> None:
    set_dataset_seed(seed)
    state = copy.deepcopy(get_rng_state())
    del cast("dict[str, object]", state["program"])["dataset_seed"]
    set_rng_state(state)
    assert get_dataset_seed() == seed


def damaged(path: tuple[str, ...], value: object) -> dict[str, object]:
    """A state in which the value at `path` is another."""
    set_seed(3)
    everything_drawn()
    state = copy.deepcopy(get_rng_state())
    *above, last = path
    part = state
    for name in above:
        part = cast("dict[str, object]", part[name])
    part[last] = value
    return state


PLACE = ("numpy", "state", "pos")
SEED, ENTROPY = ("program", "seed"), ("program", "entropy")
DATASET_SEED = ("program", "dataset_seed")


@pytest.mark.parametrize(
    ("path", "bad", "reason"),
    [
        (("numpy",), None, "TypeError"),
        (("numpy", "bit_generator"), "PCG64", "ValueError"),
        (PLACE, 625, "ValueError('there is no word 625')"),
        (PLACE, -1, "ValueError('there is no word -1')"),
        (PLACE, True, "ValueError('there is no word True')"),
        (ENTROPY, -1, 'ValueError("the program\'s entropy is -1")'),
        (ENTROPY, 2**64, 'ValueError("the program\'s entropy is 18446744073709551616")'),
        (DATASET_SEED, -1, 'ValueError("the program\'s dataset_seed is -1")'),
        (SEED, "3", "ValueError(\"the program's seed is '3'\")"),
        (("program", "streams", "init"), {}, "ValueError"),
        (("python", "gauss"), "0", "ValueError(\"'gauss' is no float\")"),
        (("python", "version"), 9, "ValueError"),
        (("python", "words"), np.zeros(3, np.uint32), "ValueError"),
        (("python", "words"), None, "AttributeError"),
    ],
)
def test_damaged_state_raises_and_changes_nothing(
    path: tuple[str, ...], bad: object, reason: str
) -> None:
    wrong = damaged(path, bad)
    set_seed(5)
    everything_drawn()
    state = get_rng_state()
    with pytest.raises(ValueError, match="The random state cannot be set: ") as raised:
        set_rng_state(wrong)
    assert str(raised.value).startswith(f"The random state cannot be set: {reason}")
    assert str(raised.value).endswith(").")
    drawn = everything_drawn()
    set_rng_state(state)
    assert everything_drawn() == drawn


@pytest.mark.parametrize(
    ("path", "value"),
    [(PLACE, 0), (PLACE, 624), (SEED, 0), (SEED, 2**64 - 1), (ENTROPY, 0), (ENTROPY, 2**64 - 1)],
)
def test_bounds_of_state_values(path: tuple[str, ...], value: int) -> None:
    other = damaged(path, value)
    if path == ENTROPY:
        cast("dict[str, object]", other["program"])["seed"] = None
    set_rng_state(other)
    assert repr(get_rng_state()) == repr(other)
