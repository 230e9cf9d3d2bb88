"""The seed of the program, and an independent random number generator for each purpose."""

import zlib
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from minispore.utils.checks import check_int
from minispore.utils.threads import fork_safe_lock

_STATE_WORDS: Final = 624  # of MT19937
_lock = fork_safe_lock()
# The program's seed; the separate seed of datasets; the entropy that replaces the program's seed if
# none was set, drawn when it is first needed.
_seeds: dict[str, int | None] = {"seed": None, "dataset_seed": None, "entropy": None}
_streams: "dict[str, np.random.Generator]" = {}


def set_seed(seed: int) -> None:
    """Seed all random streams of the program: the same seed gives the same run.

    The global generators of numpy and of Python's `random` are seeded, too. As in MindSpore, the
    seed of `dataset.config.set_seed` is discarded: the last call determines the order of the data.

    Args:
        seed: An int from 0 to 2³² − 1.

    Raises:
        TypeError: `seed` is not an int.
        ValueError: `seed` is out of range.

    Examples:
        >>> set_seed(7)
        >>> first = generator("init").random()
        >>> set_seed(7)
        >>> generator("init").random() == first
        True

    Source: MindSpore's `mindspore.set_seed`.
    """
    check_int(seed, "seed", low=0, high=2**32 - 1)
    with _lock:
        _seeds.update(seed=seed, dataset_seed=None)
        _streams.clear()
    _seed_global_generators(seed)


def get_seed() -> int | None:
    """Return the seed of the program.

    Returns:
        The argument of the last `set_seed`; None if it was not called.

    Examples:
        >>> set_seed(1)
        >>> get_seed()
        1

    Source: MindSpore's `mindspore.get_seed`.
    """
    return _seeds["seed"]


def set_dataset_seed(seed: int) -> None:
    """Set a separate seed of datasets, until the next `set_seed`; also seed numpy and `random`."""
    _seeds["dataset_seed"] = seed
    _seed_global_generators(seed)


def _seed_global_generators(seed: int) -> None:
    """Seed the generators that users' code draws from, such as the functions of a pipeline."""
    import random

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002


def get_dataset_seed() -> int | None:
    """Return the separate seed of datasets, or None if none was set since the last `set_seed`."""
    return _seeds["dataset_seed"]


def generator(stream: str) -> "np.random.Generator":
    """Return the random stream of a name, such as "init", "dropout" or "dataset".

    The streams are independent: initializing more weights does not change the order of the data.
    """
    with _lock:
        return _stream(stream)


def stream_seed(stream: str) -> "np.random.SeedSequence":
    """Return the seed sequence of a stream, from the program's seed and the stream's name."""
    # crc32 rather than hash(), which differs between processes.
    name = zlib.crc32(stream.encode())
    seed = _seeds["seed"]
    return np.random.SeedSequence([_entropy() if seed is None else seed, name])


def get_rng_state() -> dict[str, object]:
    """Return the state of all random number generators: seeds, streams, numpy's and `random`'s.

    After `set_rng_state`, in this process or another, the same numbers are drawn again. The state
    consists of dicts with str keys, lists, tuples, int, float, str, None and numpy arrays.
    """
    import random

    with _lock:
        streams = {name: stream.bit_generator.state for name, stream in _streams.items()}
        entropy = _entropy() if _seeds["seed"] is None else None
        program = {**_seeds, "entropy": entropy, "streams": streams}
    version, words, gauss = random.getstate()
    python = {"version": version, "words": np.array(words, np.uint32), "gauss": gauss}
    legacy = np.random.get_state(legacy=False)  # noqa: NPY002 (what users' code draws from)
    return {"program": program, "numpy": legacy, "python": python}


def set_rng_state(state: Mapping[str, object]) -> None:
    """Restore a state that `get_rng_state` has returned.

    Raises:
        ValueError: The state is invalid, or of another version of Python or numpy; the generators
            are unchanged.
    """
    before = get_rng_state()
    try:
        _restore(state)
    except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:
        _restore(before)
        raise ValueError(f"The random state cannot be set: {error!r}.") from error


def _restore(state: Mapping[str, Any]) -> None:
    import random

    program, python, legacy = state["program"], state["python"], state["numpy"]
    # Checkpoints of earlier versions do not hold the seed of datasets.
    values = {"dataset_seed": _seeds["dataset_seed"], **program}
    seeds = {name: _checked_seed(values[name], name) for name in _seeds}
    _check_position(legacy)
    if not isinstance(python["gauss"], float | None):
        raise ValueError("'gauss' is no float")
    random.setstate((python["version"], tuple(python["words"].tolist()), python["gauss"]))
    np.random.set_state(legacy)  # noqa: NPY002 (for users' code)
    with _lock:
        _seeds.update(seeds)
        states: Mapping[str, Mapping[str, Any]] = program["streams"]
        for name in _streams.keys() - states.keys():
            del _streams[name]
        for name, stream_state in states.items():
            _stream(name).bit_generator.state = stream_state


def _stream(name: str) -> "np.random.Generator":
    """Return the stream of a name, which is created if necessary. The caller holds the lock."""
    if name not in _streams:
        _streams[name] = np.random.default_rng(stream_seed(name))
    return _streams[name]


def _checked_seed(value: object, name: str) -> int | None:
    if value is None or (type(value) is int and 0 <= value < 2**64):
        return value
    raise ValueError(f"the program's {name} is {value!r}")


def _check_position(legacy: Mapping[str, Any]) -> None:
    """Check the position in the state: numpy does not, and reads outside of its memory."""
    if legacy["bit_generator"] == "MT19937":
        position = legacy["state"]["pos"]
        if type(position) is not int or not 0 <= position <= _STATE_WORDS:
            raise ValueError(f"there is no word {position!r}")


def _entropy() -> int:
    entropy = _seeds["entropy"]
    if entropy is None:
        (drawn,) = np.random.SeedSequence().generate_state(1, np.uint64)
        entropy = _seeds["entropy"] = int(drawn)
    return entropy
