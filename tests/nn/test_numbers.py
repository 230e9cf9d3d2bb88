"""Which numbers the arguments of layers, losses, optimizers and learning rates accept.

`numbers.txt` is recorded: `python -m tests.nn.test_numbers > tests/nn/numbers.txt`.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from tests.nn.test_invalid_arguments import ERRORS, makers

NUMBERS: list[float] = [
    -2, -1, 0, 1, 2, 3, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 100.0, float("inf"), float("nan"),
]  # fmt: skip


# The name in the table, the function, and valid arguments for it.
Maker = tuple[str, Callable[..., object], dict[str, object]]


def accepted(
    make: Callable[..., object], good: dict[str, object], argument: str
) -> Iterator[float]:
    """Yield the numbers that an argument accepts if the others are valid."""
    for number in NUMBERS:
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                make(**(good | {argument: number}))
        except (*ERRORS, IndexError):
            continue
        yield number


def table(makers: Iterable[Maker]) -> str:
    """Return a line for each argument that accepts some of the numbers."""
    lines: list[str] = []
    for name, make, good in makers:
        for argument in good:
            numbers = list(accepted(make, good, argument))
            if len(numbers) == len(NUMBERS):
                lines.append(f"{name}.{argument}: any")
            elif numbers:
                lines.append(f"{name}.{argument}: {' '.join(map(str, numbers))}")
    return "\n".join(lines)


def test_arguments_accept_the_recorded_numbers() -> None:
    path = Path(__file__).with_name("numbers.txt")
    assert table(makers()) == path.read_text("utf-8").rstrip()


if __name__ == "__main__":
    print(table(makers()))
