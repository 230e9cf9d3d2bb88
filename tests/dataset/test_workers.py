"""Worker processes of `map` and of sources: equal rows, and no process is left behind."""

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minispore
from minispore import dataset as ds
from minispore.dataset._node import Array
from minispore.dataset._workers import _holds_generator
from minispore.dataset.iterators import DatasetIterator
from minispore.dataset.transforms import Compose, RandomApply, RandomChoice, TypeCast
from minispore.dataset.vision import RandomCrop

Floats = npt.NDArray[np.float64]
Function = Callable[[Floats], object]
ROWS = 23
ROOT = Path(__file__).parents[2]


def double(x: Floats) -> Floats:
    x *= 2
    return x


def ragged(x: Floats) -> Floats:
    return np.full(1 + int(x.flat[0]) // 20, x.flat[0])


def named(x: Floats) -> dict[str, object]:
    return {"x": x, "name": str(x.flat[0])}


def draw(x: Floats) -> Floats:
    return x + np.random.rand()  # noqa: NPY002


def draw_late(x: Floats) -> Floats:
    return x + (random.random() if x.flat[0] > 40 else 0.0)


def draw_from_the_program(x: Floats) -> object:
    return RandomApply([double])(x)


def fail_at(x: Floats) -> Floats:
    if x.flat[0] == 48:
        raise ValueError(f"at {x}")
    return x


def process(x: Floats) -> tuple[Floats, int]:
    return x, os.getpid()


def kill_at(x: Floats) -> Floats:
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
    "an error between shapes": [fail_at, ragged],
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
                text = " ".join(f"{x!r} {getattr(x, 'dtype', '')}" for x in row)
                seen.append(text)
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
@example("slices", "an error between shapes", "nothing", 2, 0, [2, None])
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


def parallel(
    *functions: Function, callbacks: ds.DSCallback | None = None, rows: int = 400
) -> ds.Dataset:
    data = ds.NumpySlicesDataset(list(range(rows)), "x", shuffle=False)
    return data.map(
        list(functions),
        "x",
        ["x", "process"] if process in functions else None,
        num_parallel_workers=2,
        python_multiprocessing=True,
        callbacks=callbacks,
    )


def test_functions_run_in_other_processes() -> None:
    """And so do the calls of a source with an index."""
    for data in (
        parallel(process),
        ds.GeneratorDataset(Squares(process), ["x", "process"], num_parallel_workers=2),
    ):
        processes = {int(p) for _, p in data.create_tuple_iterator(num_epochs=1, output_numpy=True)}
        assert processes
        assert os.getpid() not in processes
        assert len(processes) <= 2


def test_number_of_workers_is_that_of_config() -> None:
    before = ds.config.get_num_parallel_workers()
    try:
        for number, serial in ((1, True), (2, False)):
            ds.config.set_num_parallel_workers(number)
            data = ds.NumpySlicesDataset([1], "x").map(
                process, "x", ["x", "process"], python_multiprocessing=True
            )
            assert [int(p) == os.getpid() for _, p in data] == [serial]
    finally:
        ds.config.set_num_parallel_workers(before)


def test_rows_are_read_ahead_within_a_bound() -> None:
    read: list[int] = []

    def count() -> Iterator[int]:
        for i in range(10_000):
            read.append(i)
            yield i

    data = ds.GeneratorDataset(count, "x").map(
        double, num_parallel_workers=2, python_multiprocessing=True
    )
    rows = data.batch(3).create_tuple_iterator(num_epochs=1)
    next(rows)
    assert 3 * 2 < len(read) <= 3 * 5


class Summed:
    """A function with a state."""

    def __call__(self, x: Floats) -> Floats:
        return x

    def state_dict(self) -> dict[str, object]:
        return {}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        assert not state


drawn_from: object = None


def augment(x: object, rng: object = None) -> object:
    del rng
    return x


class NoGenerator:
    """An object with a method of the generators' name."""

    def random(self) -> float:
        return 0.5


class Augmented:
    """A function whose attribute may be a generator."""

    def __init__(self, rng: object) -> None:
        self.rng = rng

    def __call__(self, x: object) -> object:
        return augment(x, self.rng)


class Inherited(Augmented):
    """A function that inherits everything."""


def refers_by_a_global_variable(x: object) -> object:
    return augment(x, drawn_from)


def with_default(rng: object) -> object:
    def own(x: object, rng: object = rng) -> object:
        return augment(x, rng)

    return own


def with_keyword_default(rng: object) -> object:
    def own(x: object, *, rng: object = rng) -> object:
        return augment(x, rng)

    return own


def with_attribute(rng: object) -> object:
    def own(x: object) -> object:
        return x

    vars(own)["rng"] = rng
    return own


def with_class_attribute(rng: object) -> object:
    class Of(Augmented):
        shared = rng

    class Heir(Of):
        pass

    return Heir(None)


def with_method_of_a_base(rng: object) -> object:
    class Of(Augmented):
        def __call__(self, x: object) -> object:
            return augment(x, rng)

    class Heir(Of):
        pass

    return Heir(None)


def with_static_method(rng: object) -> object:
    class Of(Augmented):
        @staticmethod
        def own(x: object) -> object:
            return augment(x, rng)

        def __call__(self, x: object) -> object:
            return self.own(x)

    return Of(None)


def class_method(rng: object) -> object:
    class Of:
        shared = rng

        @classmethod
        def own(cls, x: object) -> object:
            return augment(x, cls.shared)

    class Heir(Of):
        pass

    return Heir.own


REFERENCES: dict[str, Callable[[Any], object]] = {
    "method of the generator": lambda rng: rng.random,
    "global variable": lambda _: refers_by_a_global_variable,
    "closure": lambda rng: lambda x: augment(x, rng),
    "default": with_default,
    "keyword default": with_keyword_default,
    "argument": lambda rng: partial(augment, rng),
    "keyword argument": lambda rng: partial(augment, rng=rng),
    "inner arguments": lambda rng: partial(partial(augment, rng=rng), 1),
    "closure of a bound function": lambda rng: partial(lambda x: augment(x, rng), 1),
    "attribute": Augmented,
    "attribute of an heir": Inherited,
    "attribute of a function": with_attribute,
    "bound method": lambda rng: Augmented(rng).__call__,
    "class attribute": with_class_attribute,
    "method of a base": with_method_of_a_base,
    "static method": with_static_method,
    "class method": class_method,
}


@pytest.mark.parametrize("reference", REFERENCES)
def test_code_that_refers_to_a_generator_runs_in_one_process(
    reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rng in (np.random.default_rng(0), np.random.RandomState(0), random.Random(0)):
        monkeypatch.setitem(globals(), "drawn_from", rng)
        assert _holds_generator(REFERENCES[reference](rng))
    monkeypatch.setitem(globals(), "drawn_from", None)
    assert not _holds_generator(REFERENCES[reference](NoGenerator()))


SERIAL: dict[str, Callable[[], ds.Dataset]] = {
    "has a state": lambda: parallel(Summed()),
    "'partial' draws": lambda: parallel(partial(augment, rng=random.Random(0))),
    "'Augmented' draws": lambda: parallel(Augmented(random.Random(0))),
    "'Augmented.__call__' draws": lambda: parallel(Augmented(random.Random(0)).__call__),
    "it draws": lambda: parallel(draw),
    "code before it draws": lambda: ds.GeneratorDataset(Squares(draw), "x").map(
        double, num_parallel_workers=2, python_multiprocessing=True
    ),
    "callbacks": lambda: parallel(double, callbacks=ds.DSCallback()),
}


@pytest.mark.parametrize("reason", SERIAL)
def test_code_that_runs_in_one_process_is_told_with_the_reason(reason: str) -> None:
    with pytest.warns(UserWarning, match=f"one process in spite of.*{reason}"):
        list(SERIAL[reason]())


def interrupt(rows: Iterator[object]) -> None:
    next(rows)
    raise KeyboardInterrupt


ENDS: dict[str, Callable[[], object]] = {
    "end of data": lambda: trace(parallel(double).create_tuple_iterator(output_numpy=True)),
    "abandoned": lambda: next(parallel(double).create_tuple_iterator()),
    "not begun": lambda: parallel(double).create_tuple_iterator(),
    "take": lambda: len(list(parallel(double).take(3))),
    "error in the parent": lambda: list(parallel(double, process).map(fail_at)),
    "error in a worker": lambda: list(parallel(fail_at)),
    "interrupt": lambda: interrupt(parallel(double).create_tuple_iterator()),
}


@pytest.mark.parametrize("end", ENDS)
def test_no_process_is_left(end: str) -> None:
    with suppress(RuntimeError, KeyboardInterrupt):
        ENDS[end]()
    assert without_processes()


@pytest.mark.skipif(os.name == "nt", reason="POSIX only")
def test_killed_worker_is_an_error_and_the_next_iterator_has_others() -> None:
    data = parallel(kill_at)
    for _ in range(2):
        rows = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
        with pytest.raises(RuntimeError, match="'map', a worker process ended before"):
            list(rows)
        assert without_processes()


SCRIPT = """
import sys
from tests.dataset.test_workers import parallel, process

rows = parallel(process, rows=100_000).create_tuple_iterator(num_epochs=1, output_numpy=True)
for _, number in rows:
    print(number, flush=True)
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="Linux only")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=lambda number: number.name)
def test_workers_end_with_their_parent(number: signal.Signals) -> None:
    """SIGINT reaches all processes, as Ctrl-C in a terminal does."""
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    ) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        workers = {int(line) for line in islice(program.stdout, 200)}
        (program.kill if number == signal.SIGKILL else partial(os.killpg, program.pid, number))()
        for _ in program.stdout:
            pass
        errors = program.stderr.read()
    assert errors.count("KeyboardInterrupt") == (number == signal.SIGINT)
    end = time.monotonic() + 10
    while any(Path(f"/proc/{worker}").exists() for worker in workers) and time.monotonic() < end:
        time.sleep(0.01)
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)


@pytest.mark.full
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_every_start_method_gives_the_same_rows(method: str) -> None:
    before = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_start_method(method, force=True)
    try:
        traces = [trace(seeded(3, "object", "random", "batch", n)) for n in (None, 2)]
        assert traces[0] == traces[1]
        if method != "fork":
            with pytest.raises(RuntimeError, match="'map', Python code for worker .* picklable"):
                list(parallel(lambda x: x))
    finally:
        multiprocessing.set_start_method(before, force=True)
