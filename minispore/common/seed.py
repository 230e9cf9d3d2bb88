"""One seed for the whole program, and an independent random stream for each use of chance."""

import zlib
from threading import Lock

import numpy as np

from minispore._checks import check_int

_lock = Lock()
_seed: list[int | None] = [None]
_streams: "dict[str, np.random.Generator]" = {}


def set_seed(seed: int) -> None:
    """Start every random stream of the program anew from `seed`: same seed, same run.

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
        _streams.clear()


def get_seed() -> int | None:
    """The seed given to `set_seed`, None if there was none.

    >>> set_seed(1)
    >>> get_seed()
    1
    """
    return _seed[0]


def generator(stream: str) -> "np.random.Generator":
    """The program's random stream of that name ("init", "dropout", "dataset", …).

    Streams do not disturb one another: drawing more weights never changes the order of the data.
    """
    with _lock:
        if stream not in _streams:
            _streams[stream] = np.random.default_rng(stream_seed(stream))
        return _streams[stream]


def stream_seed(stream: str) -> "np.random.SeedSequence":
    """The seed sequence of a stream: of the program's seed and the stream's name."""
    # crc32 rather than hash(): the same in every process.
    name = zlib.crc32(stream.encode())
    if _seed[0] is None:
        return np.random.SeedSequence()
    return np.random.SeedSequence([_seed[0], name])
