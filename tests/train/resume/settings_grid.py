"""Places of a user's program in which a setting can be, and settings that differ.

Run as a script, it prints a checksum of the fingerprint of each program.
"""

import sys
import zlib
from pathlib import Path

from minispore import set_seed
from minispore.train.resume.fingerprint import fingerprint

_HEAD, *_PLACES = (
    Path(__file__).with_name("settings_places.txt").read_text("utf-8").split("\n---\n")
)
# Each program defines `root` with VALUE.
PLACES = {name: source for name, _, source in (place.partition("\n") for place in _PLACES)}
# Expressions for settings that differ.
VALUES = [
    line.split("  !=  ")
    for line in Path(__file__).with_name("settings_values.txt").read_text("utf-8").splitlines()
]
NAMES: dict[str, object] = {"__name__": "__main__"}
exec(_HEAD, NAMES)


def described(place: str, value: str) -> dict[str, str]:
    """Return the fingerprint of a program with a setting in a place."""
    set_seed(1)
    names = dict(NAMES)
    exec(PLACES[place].replace("VALUE", f"({value})"), names)
    try:
        return fingerprint(root=names["root"])
    finally:
        if "UNDO" in names:
            exec("UNDO()", names)


def pairs(place: str, step: int) -> list[list[str]]:
    """Return every `step`-th pair of values, others for the next place."""
    return VALUES[list(PLACES).index(place) % step :: step]


def main() -> None:
    """Print a checksum of the fingerprint of each program, for some values."""
    for place in PLACES:
        for pair in pairs(place, int(sys.argv[1])):
            for value in pair:
                paths = repr(described(place, value)).encode()
                print(f"{place}, {value}: {zlib.crc32(paths):08x}")


if __name__ == "__main__":
    main()
