"""Worker processes of `map` and of sources: equal rows, and no process is left behind."""

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minispore
from minispore import dataset as ds
from minispore.dataset._node import Array
from minispore.dataset.iterators import DatasetIterator
from minispore.dataset.transforms import Compose, RandomApply, RandomChoice, TypeCast
from minispore.dataset.vision import RandomCrop

Function = Callable[[Array], object]
ROWS = 23
ROOT = Path(__file__).parents[2]


def double(x: Array) -> Array:
    x *= 2
    return x


def ragged(x: Array) -> Array:
    return np.full(1 + int(x.flat[0]) // 20, x.flat[0])


def named(x: Array) -> dict[str, object]:
    return {"x": x, "name": str(x.flat[0])}


def draw(x: Array) -> Array:
    return x + np.random.rand()  # noqa: NPY002


def draw_late(x: Array) -> Array:
    return x + (random.random() if x.flat[0] > 40 else 0.0)


def draw_from_the_program(x: Array) -> object:
    return RandomApply([double])(x)


def fail_at(x: Array) -> Array:
    if x.flat[0] == 52:
        raise ValueError(f"at {x}")
    return x


def process(x: Array) -> tuple[Array, int]:
    return x, os.getpid()


def kill_at(x: Array) -> Array:
    if x.flat[0] == 44:
        os.kill(os.getpid(), signal.SIGKILL)
    return x


class Squares:
    """A source with an index, which calls `function` for each row."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def __getitem__(self, index: int) -> object:
        return self.function(np.full((2, 3), 4 * index))

    def __len__(self) -> int:
        return ROWS


FUNCTIONS: dict[str, list[Function]] = {
    "double": [double],
    "two, with a transform between": [double, TypeCast(np.float32), double],
    "random": [RandomCrop(2), RandomChoice([double, np.negative])],
    "composed": [Compose([double, RandomApply([double])])],
    "ragged": [ragged],
    "dictionaries": [named],
    "numpy's stream": [draw],
    "random's stream": [draw_late],
    "the program's stream": [draw_from_the_program],
    "an error": [fail_at, double],
}
SOURCES: dict[str, Callable[[int | None], ds.Dataset]] = {
    "slices": lambda _: ds.NumpySlicesDataset(4 * np.arange(ROWS * 6).reshape(ROWS, 2, 3), "x"),
    "object": lambda n: ds.GeneratorDataset(Squares(np.negative), "x", num_parallel_workers=n),
    "drawing object": lambda n: ds.GeneratorDataset(Squares(draw), "x", num_parallel_workers=n),
    "failing object": lambda n: ds.GeneratorDataset(Squares(fail_at), "x", num_parallel_workers=n),
}
AFTER: dict[str, Callable[[ds.Dataset], ds.Dataset]] = {
    "nothing": lambda data: data,
    "batch": lambda data: data.batch(4),
    "repeat": lambda data: data.repeat(2).batch(3),
    "shuffle": lambda data: data.shuffle(5),
    "take": lambda data: data.take(9),
    "map": lambda data: data.map(draw, num_parallel_workers=2, python_multiprocessing=True),
}


def pipeline(source: str, functions: str, after: str, workers: int | None) -> ds.Dataset:
    data = SOURCES[source](workers)
    return AFTER[after](
        data.map(
            FUNCTIONS[functions],
            "x",
            num_parallel_workers=workers,
            python_multiprocessing=workers is not None,
        )
    )


def trace(rows: Iterator[list[Array]], epochs: int = 1) -> list[str]:
    """Return the rows as text, with an error at the place where it is raised."""
    seen: list[str] = []
    try:
        for _ in range(epochs):
            for row in rows:
                seen.append(" ".join(f"{x!r} {getattr(x, 'dtype', '')}" for x in row))
    except RuntimeError as error:
        seen.append(repr(error))
    return seen


def without_processes() -> bool:
    """Whether the worker processes end within ten seconds."""
    end = time.monotonic() + 10
    while multiprocessing.active_children() and time.monotonic() < end:
        time.sleep(0.01)
    return not multiprocessing.active_children()


def seeded(
    seed: int, source: str, functions: str, after: str, workers: int | None
) -> DatasetIterator[list[Array]]:
    minispore.set_seed(seed)
    random.seed(seed)
    data = pipeline(source, functions, after, workers)
    return data.create_tuple_iterator(num_epochs=2, output_numpy=True)


@pytest.mark.filterwarnings("ignore:.*Python code runs in one process:UserWarning")
@given(
    source=st.sampled_from([*SOURCES]),
    functions=st.sampled_from([*FUNCTIONS]),
    after=st.sampled_from([*AFTER]),
    taken=st.integers(1, ROWS),
    seed=st.integers(0, 9),
    workers=st.permutations([None, 2]),
)
@example("slices", "random's stream", "batch", 5, 0, [2, None])
@example("slices", "an error", "batch", 2, 0, [2, None])
@example("object", "random", "repeat", 9, 0, [None, 2])
@example("drawing object", "numpy's stream", "batch", 3, 0, [2, None])
@example("failing object", "double", "batch", 1, 0, [2, None])
def test_rows_are_those_of_one_process(
    source: str, functions: str, after: str, taken: int, seed: int, workers: list[int | None]
) -> None:
    """Also from any row on: another number of workers continues from a saved position."""
    settings = seed, source, functions, after
    first, second = (trace(seeded(*settings, count), epochs=2) for count in workers)
    assert first == second

    rows = seeded(*settings, workers[0])
    if len(trace(islice(rows, taken))) == taken and "Error" not in first[taken - 1]:
        state, rest = rows.state_dict(), trace(rows)
        other = seeded(*settings, workers[1])
        other.load_state_dict(state)
        assert trace(other) == rest
