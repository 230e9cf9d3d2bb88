"""Which of numpy's functions are fastest for the same thing: `python -m benchmarks.primitives`.

For each shape it prints the time of every way, how many times as long it takes as the fastest, and
whether its bits are those of the first way. The rules in `minispore/engine/rules` use those that
are fastest for all shapes. Times are processor times of one thread; `--all` prints all groups, not
only those in which the ways differ.
"""

import argparse
from collections.abc import Callable, Mapping
from statistics import median
from time import process_time
from typing import Any, TypeAlias

from benchmarks._machine import description, prepare

TURNS = 9
SECONDS = 0.002
SHAPES = ((256, 1024), (64, 512), (2048, 512), (10_000, 64), (8, 8))
# A group in which the slowest way takes less than this many times as long is not printed.
WORTH = 1.1

# Arrays of numpy, which is loaded when the environment of one thread is set.
Values: TypeAlias = Any
Way: TypeAlias = Callable[[], Values]


def ways(shape: tuple[int, int], *, by_columns: bool) -> Mapping[str, Mapping[str, Way]]:
    """Return the ways to compute each thing.

    Args:
        shape: The shape of the operands.
        by_columns: Whether their columns are one after the other in memory.
    """
    import numpy as np

    np.empty((1 << 25) - (1 << 16), np.uint8)  # as in minispore: freed memory is kept
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(shape[::-1] if by_columns else shape, np.float32) for _ in "xy")
    x, y = (x.T, y.T) if by_columns else (x, y)
    rows, columns = shape
    column, row = x[:, :1].copy(), x[:1].copy()
    ones, above = np.ones(columns, np.float32), np.ones(rows, np.float32)
    zeros, full, wide = np.zeros_like(x), np.zeros_like(x) + 2.0, np.broadcast_to(column, shape)
    size, mask, places = np.abs(x), x > 0, rng.integers(0, columns, 100)

    def in_blocks() -> Values:
        moved = np.empty(shape if by_columns else shape[::-1], np.float32)
        moved = moved if by_columns else moved.T
        if by_columns:
            for j in range(0, columns, 16):
                moved[:, j : j + 16] = x[:, j : j + 16]
        else:
            for i in range(0, rows, 16):
                moved[i : i + 16] = x[i : i + 16]
        return moved

    def split_exp() -> Values:
        wide = x.astype(np.float64)
        wide *= wide
        wide *= -0.5
        return np.exp(wide).astype(np.float32)

    return {
        "max(x, 0)": {
            "maximum(x, 0)": lambda: np.maximum(x, 0),
            "maximum(x, zeros)": lambda: np.maximum(x, zeros),
            "maximum(x, row of zeros)": lambda: np.maximum(x, zeros[:1]),
            "clip(x, 0, inf), which keeps -0": lambda: np.clip(x, 0, np.inf),
            "where": lambda: np.where(mask, x, np.float32(0)),
        },
        "limits": {
            "minimum(maximum(x))": lambda: np.minimum(np.maximum(x, -1.0), 1.0),
            "clip": lambda: np.clip(x, -1.0, 1.0),
        },
        "y where x > 0": {
            "where": lambda: np.where(mask, y, np.float32(0)),
            "y * mask": lambda: y * mask,
            "mask.astype *= y": lambda: np.multiply(m := mask.astype(np.float32), y, out=m),
        },
        "1 / x": {"1 / x": lambda: 1.0 / full, "reciprocal": lambda: np.reciprocal(full)},
        "x * 2": {
            "a number": lambda: x * 2.0,
            "an array": lambda: x * full,
            "a column": lambda: x * (0 * column + 2),
            "a row": lambda: x * (0 * row + 2),
        },
        "x * column": {
            "broadcast": lambda: x * column,
            "copied before": lambda: x * wide.copy(),
            "einsum": lambda: np.einsum("ij,i->ij", x, column[:, 0]),
        },
        "sum of all": {
            "add.reduce": lambda: np.add.reduce(x, axis=None),
            "einsum": lambda: np.einsum("ij->", x),
            "einsum of rows, add.reduce": lambda: np.add.reduce(np.einsum("ij->i", x)),
        },
        "sum over axis 1": {
            "add.reduce": lambda: np.add.reduce(x, axis=1),
            "einsum": lambda: np.einsum("ij->i", x),
            "x @ ones": lambda: x @ ones,
        },
        "sum over axis 0": {
            "add.reduce": lambda: np.add.reduce(x, axis=0),
            "einsum": lambda: np.einsum("ij->j", x),
            "ones @ x": lambda: above @ x,
        },
        "sum of products over axis 1": {
            "add.reduce(x * y)": lambda: np.add.reduce(x * y, axis=1),
            "einsum": lambda: np.einsum("ij,ij->i", x, y),
            "vecdot": lambda: np.vecdot(x, y),
        },
        "sum of products over axis 0": {
            "add.reduce(x * y)": lambda: np.add.reduce(x * y, axis=0),
            "einsum": lambda: np.einsum("ij,ij->j", x, y),
            "vecdot": lambda: np.vecdot(x.T, y.T),
        },
        "exp(-x^2 / 2)": {
            "in float32, with other bits": lambda: np.exp(-0.5 * (x * x)),
            "in float64": split_exp,
        },
        "sigmoid": {
            "exp": lambda: 1.0 / (np.exp(-x) + 1.0),
            "tanh, which is 0 from -17 on": lambda: 0.5 * np.tanh(0.5 * x) + 0.5,
        },
        "x^3": {"x * x * x": lambda: x * x * x, "x ** 3": lambda: x**3},
        "sign": {
            "sign": lambda: np.sign(x),
            "two masks, 0 for NaN": lambda: (x > 0).astype(np.float32) - (x < 0),
        },
        "ones": {
            "ones_like": lambda: np.ones_like(x),
            "full": lambda: np.full(shape, 1, np.float32),
        },
        "the other layout": {
            "copy": lambda: x.copy(order="C" if by_columns else "F"),
            "blocks of 16": in_blocks,
        },
        "columns": {"x[:, i]": lambda: x[:, places], "take": lambda: x.take(places, 1)},
        "square root": {"sqrt": lambda: np.sqrt(size), "** 0.5": lambda: size**0.5},
    }


def measured(ways: Mapping[str, Way]) -> dict[str, float]:
    """Return the seconds that each way takes, measured in turns."""
    counts: dict[str, int] = {}
    for name, way in ways.items():
        start = process_time()
        way()
        way()
        counts[name] = max(1, round(2 * SECONDS / max(process_time() - start, 1e-7)))
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(TURNS):
        for name, way in ways.items():
            start = process_time()
            for _ in range(counts[name]):
                way()
            times[name].append((process_time() - start) / counts[name])
    return {name: median(taken) for name, taken in times.items()}


def lines(shape: tuple[int, int], *, by_columns: bool, all_groups: bool) -> list[str]:
    """Return a line for each way of each group, the fastest first."""
    text: list[str] = []
    for group, each in ways(shape, by_columns=by_columns).items():
        seconds = measured(each)
        fastest = min(seconds.values())
        if not all_groups and max(seconds.values()) < WORTH * fastest:
            continue
        expected = next(iter(each.values()))()
        text.append(f"  {group}")
        for name in sorted(seconds, key=lambda name: seconds[name]):
            is_equal = each[name]().tobytes() == expected.tobytes()
            text.append(
                f"    {seconds[name] * 1e6:8.1f} µs  {seconds[name] / fastest:5.2f}  "
                f"{'' if is_equal else 'other bits':10}  {name}"
            )
    return text


def main() -> None:
    """Print the times of all ways for all shapes and both layouts."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.primitives", description=__doc__)
    parser.add_argument("--all", action="store_true", help="print groups without a difference, too")
    options = parser.parse_args()
    for by_columns in (False, True):
        for shape in SHAPES:
            layout = "columns" if by_columns else "rows"
            print(f"{shape[0]:,} × {shape[1]:,}, by {layout}")
            print("\n".join(lines(shape, by_columns=by_columns, all_groups=options.all)))
    print(f"\n{description()}")


if __name__ == "__main__":
    prepare()
    main()
