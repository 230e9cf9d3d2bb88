"""One seed for the whole program, and an independent random stream for each use of chance."""

import zlib
from collections.abc import Mapping
from typing import Final, cast

import numpy as np

from minispore._checks import check_int
from minispore._threads import fork_safe_lock

_WORDS: Final = 624  # of MT19937
_lock = fork_safe_lock()
_seed: list[int | None] = [None]
# The seed of datasets alone, None where they follow the program's.
_dataset_seed: list[int | None] = [None]
# What stands in for the seed where none was set: drawn when first needed.
_chance: list[int | None] = [None]
_streams: "dict[str, np.random.Generator]" = {}


def set_seed(seed: int) -> None:
    """Start every random stream of the program anew from `seed`: same seed, same run.

    numpy's global state is seeded, too. A seed that `dataset.config.set_seed` has set before no
    longer counts, as in MindSpore: the last call decides the order of the data.

    >>> set_seed(7)
    >>> first = generator("init").random()
    >>> set_seed(7)
    >>> generator("init").random() == first
    True

    Args:
        seed: From 0 to 2³² − 1.

    Raises:
        TypeError: `seed` is no int.
        ValueError: `seed` is out of range.
    """
    checked = check_int(seed, "seed", "set_seed", low=0, high=2**32 - 1)
    with _lock:
        _seed[0] = checked
        _dataset_seed[0] = None
        _streams.clear()
    np.random.seed(checked)  # noqa: NPY002 (for users' code)


def get_seed() -> int | None:
    """The seed given to `set_seed`, None if there was none.

    >>> set_seed(1)
    >>> get_seed()
    1
    """
    return _seed[0]


def set_dataset_seed(seed: int) -> None:
    """Set the seed of datasets alone, until the next `set_seed`."""
    _dataset_seed[0] = seed


def get_dataset_seed() -> int | None:
    """The seed of datasets alone, None if there is none since the last `set_seed`."""
    return _dataset_seed[0]


def generator(stream: str) -> "np.random.Generator":
    """The program's random stream of that name ("init", "dropout", "dataset", …).

    Streams do not disturb one another: drawing more weights never changes the order of the data.
    """
    with _lock:
        return _stream(stream)


def stream_seed(stream: str) -> "np.random.SeedSequence":
    """The seed sequence of a stream: of the program's seed and the stream's name."""
    # crc32 rather than hash(): the same in every process.
    name = zlib.crc32(stream.encode())
    if _seed[0] is None:
        return np.random.SeedSequence([_entropy(), name])
    return np.random.SeedSequence([_seed[0], name])


def random_state() -> dict[str, object]:
    """All of the program's chance: seeds, streams, numpy's global state and that of `random`.

    After `set_random_state` with it, everything is drawn again as it was from here on, in this
    process or another. It consists of dicts with str keys, lists, tuples, int, float, str, None and
    numpy arrays.
    """
    import random

    with _lock:
        streams = {name: stream.bit_generator.state for name, stream in _streams.items()}
        entropy = _entropy() if _seed[0] is None else None
    program = {
        "seed": _seed[0],
        "dataset_seed": _dataset_seed[0],
        "entropy": entropy,
        "streams": streams,
    }
    version, words, gauss = random.getstate()
    python = {"version": version, "words": np.array(words, np.uint32), "gauss": gauss}
    legacy = np.random.get_state(legacy=False)  # noqa: NPY002 (what users' code draws from)
    return {"program": program, "numpy": legacy, "python": python}


def set_random_state(state: Mapping[str, object]) -> None:
    """Go back to a state that `random_state` has returned.

    Raises:
        ValueError: It is none, or one of another version of Python or numpy. Nothing is changed.
    """
    before = random_state()
    try:
        _set_random_state(state)
    except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:
        _set_random_state(before)
        raise ValueError(f"The random state cannot be set: {error!r}.") from error


def _set_random_state(state: Mapping[str, object]) -> None:
    import random

    program = cast("Mapping[str, object]", state["program"])
    python = cast("Mapping[str, object]", state["python"])
    legacy = cast("dict[str, object]", state["numpy"])
    # Checkpoints of earlier versions do not hold the seed of datasets.
    dataset_seed = program.get("dataset_seed", _dataset_seed[0])
    _check_seeds(program["seed"], dataset_seed, program["entropy"])
    _check_place(legacy)
    if not isinstance(python["gauss"], float | None):
        raise ValueError("'gauss' is no float")
    words = cast("np.ndarray[tuple[int], np.dtype[np.uint32]]", python["words"])
    random.setstate((python["version"], tuple(words.tolist()), python["gauss"]))
    np.random.set_state(legacy)  # noqa: NPY002 (likewise)
    with _lock:
        _seed[0] = cast("int | None", program["seed"])
        _dataset_seed[0] = cast("int | None", dataset_seed)
        _chance[0] = cast("int | None", program["entropy"])
        states = cast("Mapping[str, Mapping[str, object]]", program["streams"])
        for name in _streams.keys() - states.keys():
            del _streams[name]
        for name, stream_state in states.items():
            _stream(name).bit_generator.state = stream_state


def _stream(name: str) -> "np.random.Generator":
    """The stream of that name, begun if there is none; for who holds the lock."""
    if name not in _streams:
        _streams[name] = np.random.default_rng(stream_seed(name))
    return _streams[name]


def _check_seeds(seed: object, dataset_seed: object, entropy: object) -> None:
    for name, value in (("seed", seed), ("dataset_seed", dataset_seed), ("entropy", entropy)):
        if value is not None and (type(value) is not int or not 0 <= value < 2**64):
            raise ValueError(f"the program's {name} is {value!r}")


def _check_place(legacy: Mapping[str, object]) -> None:
    """Check where the next number is taken from: numpy takes any place, and reads there."""
    if legacy["bit_generator"] == "MT19937":
        place = cast("Mapping[str, object]", legacy["state"])["pos"]
        if type(place) is not int or not 0 <= place <= _WORDS:
            raise ValueError(f"there is no word {place!r}")


def _entropy() -> int:
    entropy = _chance[0]
    if entropy is None:
        entropy = _chance[0] = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    return entropy
