"""Worker processes of `map` and of sources: equal rows, and no process is left behind."""

import multiprocessing
import os
import pickle
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
from threading import Lock
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minispore
from minispore import dataset as ds
from minispore.dataset import _instances
from minispore.dataset._node import Array
from minispore.dataset._pickling import pickled
from minispore.dataset.iterators import DatasetIterator
from minispore.dataset.transforms import Compose, RandomApply, RandomChoice, TypeCast
from minispore.dataset.vision import RandomCrop
from tests.helpers import row_functions
from tests.helpers.processes import run_python
from tests.helpers.row_functions import (
    ROWS,
    Floats,
    Function,
    Squares,
    double,
    draw,
    draw_from_the_program,
    draw_late,
    fail_at,
    kill_at,
    named,
    process,
    ragged,
)

ROOT = Path(__file__).parents[2]


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
    "repeat": lambda data: data.repeat().take(2 * ROWS).batch(3),
    "split": lambda data: data.split([0.5, 0.5])[1],
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
@example("slices", "random", "split", 3, 0, [2, None])
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
        state, remaining = rows.state_dict(), trace(rows)
        other = seeded(*settings, workers[1])
        other.load_state_dict(state)
        assert trace(other) == remaining


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


def test_functions_run_in_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """And so do the calls of a source with an index, but not the transforms of the package."""
    with monkeypatch.context() as patch:
        patch.setattr(_instances, "make_pool", None)
        next(parallel(TypeCast(np.float32)).create_tuple_iterator())
    for data in (
        parallel(process),
        ds.GeneratorDataset(Squares(process), ["x", "process"], num_parallel_workers=2),
    ):
        processes = {int(p) for _, p in data.create_tuple_iterator(num_epochs=1, output_numpy=True)}
        assert processes
        assert os.getpid() not in processes
        assert len(processes) <= 2


READERS: dict[str, Function] = {
    "global variable": row_functions.reads_global,
    "variable of a module": row_functions.reads_module,
    "global variable of an inner function": row_functions.reads_inside,
    "function that is called": row_functions.calls_another,
    "cached function": row_functions.calls_cached,
    "assigned global variable": row_functions.assigns_global,
    "decorated function": row_functions.reads_behind_decorator,
    "object": row_functions.Heir(5.0),
    "bound method": row_functions.Heir(5.0).by_class,
    "class method": row_functions.Heir.by_class,
    "partial": partial(np.multiply, 5.0),
    "member of an enumeration": row_functions.Factor.TWO,
    "cached property": row_functions.Cached(),
    **row_functions.inner_functions(5.0),
}


@pytest.mark.parametrize("reader", READERS)
def test_workers_read_what_the_program_assigned(
    reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though they are new processes, which import the modules again."""
    monkeypatch.setattr(row_functions, "inherited", True, raising=False)
    monkeypatch.setattr(row_functions, "scale", 3.0)
    row_functions.cached.cache_clear()
    monkeypatch.setattr(row_functions.Base, "factor", 7.0)
    monkeypatch.setattr(row_functions.Base, "method", row_functions.add_factor)
    data = ds.NumpySlicesDataset([1.0, 2.0], "x", shuffle=False)
    functions = [READERS[reader], row_functions.inherits]
    rows = [
        data.map(
            functions, "x", ["x", "inherited"], num_parallel_workers=n, python_multiprocessing=True
        )
        for n in (1, 2)
    ]
    here, there = (
        [
            (x.item(), flag.item())
            for x, flag in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
        ]
        for dataset in rows
    )
    assert here == [(x, True) for x, _ in there]
    assert not any(inherited for _, inherited in there)


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


class WithClassAttribute(Augmented):
    """A function whose base and class may refer to a generator."""

    shared: object = None

    @classmethod
    def transform(cls, x: object) -> object:
        return augment(x, cls.shared)

    @staticmethod
    def static(x: object) -> object:
        return augment(x, drawn_from)


def refers_by_a_global_variable(x: object) -> object:
    return augment(x, drawn_from)


def with_default(rng: object) -> object:
    def transform(x: object, rng: object = rng) -> object:
        return augment(x, rng)

    return transform


def with_keyword_default(rng: object) -> object:
    def transform(x: object, *, rng: object = rng) -> object:
        return augment(x, rng)

    return transform


def with_attribute(rng: object) -> object:
    def transform(x: object) -> object:
        return x

    vars(transform)["rng"] = rng
    return transform


REFERENCES: dict[str, Callable[[Any], object]] = {
    "method of the generator": lambda rng: rng.random,
    "global variable": lambda _: refers_by_a_global_variable,
    "global variable of an inner function": lambda _: lambda: refers_by_a_global_variable,
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
    "item": lambda rng: partial(augment, {"rng": [rng]}),
    "bound method": lambda rng: Augmented(rng).__call__,
    "class attribute": lambda _: WithClassAttribute(None).__call__,
    "class method": lambda _: WithClassAttribute.transform,
    "static method": lambda _: WithClassAttribute.static,
}


@pytest.mark.parametrize("reference", REFERENCES)
def test_code_that_refers_to_a_generator_is_not_sent(
    reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rng in (np.random.default_rng(0), np.random.RandomState(0), random.Random(0)):
        monkeypatch.setitem(globals(), "drawn_from", rng)
        monkeypatch.setattr(WithClassAttribute, "shared", rng)
        with pytest.raises(pickle.PicklingError, match=f"it refers to a {type(rng).__name__}, "):
            pickled(REFERENCES[reference](rng))
    monkeypatch.undo()
    assert pickled(REFERENCES[reference](NoGenerator()))


SERIAL: dict[str, Callable[[], ds.Dataset]] = {
    "has a state": lambda: parallel(Summed()),
    "it refers to a Random, whose": lambda: parallel(partial(augment, rng=random.Random(0))),
    "it draws": lambda: parallel(draw),
    "code before it draws": lambda: ds.GeneratorDataset(Squares(draw), "x").map(
        double, num_parallel_workers=2, python_multiprocessing=True
    ),
    "callbacks": lambda: parallel(double, callbacks=ds.DSCallback()),
    "it cannot be sent.*lock": lambda: parallel(partial(augment, rng=Lock())),
    "what it returns cannot be sent back": lambda: parallel(row_functions.with_member),
}


@pytest.mark.parametrize("reason", SERIAL)
def test_code_that_runs_in_one_process_is_told_with_the_reason(reason: str) -> None:
    with pytest.warns(UserWarning, match=f"one process in spite of.*{reason}"):
        assert list(SERIAL[reason]())


def test_functions_need_cloudpickle_and_random_transforms_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    images = np.arange(24.0).reshape(2, 4, 3, 1)
    data = ds.NumpySlicesDataset(images, "x", shuffle=False)
    crop = data.map(RandomCrop(2), num_parallel_workers=2, python_multiprocessing=True)
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    assert len(list(crop)) == 2  # without a warning
    with pytest.warns(UserWarning, match=r"one process .* pip install 'minispore\[workers\]'"):
        assert [int(x) for (x,) in parallel(double, rows=3)] == [0, 2, 4]


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
    assert not multiprocessing.active_children()


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
from tests.dataset.test_workers import parallel
from tests.helpers.row_functions import process

rows = parallel(process, rows=100_000).create_tuple_iterator(num_epochs=1, output_numpy=True)
for _, number in rows:
    print(number, flush=True)
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="Linux only")
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGKILL, id="SIGKILL"),
        pytest.param(signal.SIGINT, id="SIGINT", marks=pytest.mark.full),
    ],
)
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


PROGRAMS = {
    "function": """
print("begins")
scale = 3
show(lambda x: x * scale)
""",
    "class": """
class Times:
    def __call__(self, x):
        return x * 2

print("begins")
Times.__call__ = lambda self, x: x * scale
scale = 3
show(Times())
""",
    "class below the guard": """
if __name__ == "__main__":
    print("begins")

    class Times:
        def __call__(self, x):
            return x * 3

    show(Times())
""",
}
SHOW = """
import os
from minispore.dataset import NumpySlicesDataset

def show(function):
    data = NumpySlicesDataset([0, 1], "x", shuffle=False)
    data = data.map(function, "x", num_parallel_workers=2, python_multiprocessing=True)
    print([int(x) for (x,) in data.create_tuple_iterator(num_epochs=1)])
"""


@pytest.mark.full
@pytest.mark.parametrize("program", PROGRAMS)
def test_program_runs_once_and_its_functions_in_workers(program: str, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(SHOW + PROGRAMS[program], encoding="utf-8")
    run = run_python("-W", "always::UserWarning", file)
    assert (run.stdout, run.stderr) == ("begins\n[0, 3]\n", "")
