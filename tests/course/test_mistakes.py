"""What is said of mistakes that no seeded bug makes: each in words of its lesson."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from io import BytesIO
from types import ModuleType
from typing import Any, NoReturn, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Parameter, Tensor
from minispore._array import is_host, namespace
from minispore._autograd import graph
from minispore._course import judging
from minispore._course.exercise import Build, Property
from minispore._course.judging import judge
from minispore._course.lessons import lesson
from minispore._course.playing import Run, _Batches
from minispore._rules import broadcasting, elementwise, normalization, softmax
from minispore.nn import cell
from minispore.train._files.protobuf import WireError
from minispore.train.callback import _early_stopping, _history
from minispore.train.summary import _records

# What a learner writes has no types.
Anything = Any


def walk_twice(*args: Anything) -> object:
    graph.walk(*args)
    return graph.walk(*args)


def walk_to_pairs(*args: Anything) -> object:
    return list(graph.walk(*args).items())


def tanh_that_writes(x: Anything) -> object:
    value, pullbacks = elementwise.tanh(x)
    x[...] = value
    return value, pullbacks


def unbroadcast_to_the_host(g: Anything, shape: tuple[int, ...]) -> object:
    found: object = broadcasting.unbroadcast(g, shape)
    return found.asnumpy() if isinstance(found, Tensor) else found


def log_softmax_on_the_host(x: Anything, axis: int) -> object:
    value, pullbacks = softmax.log_softmax(x, axis)
    return (value.asnumpy() if isinstance(value, Tensor) else value), pullbacks


class CellsOfNothing(cell.Cell):
    def cells_and_names(self, *_: object, **__: object) -> Anything:
        return None


class CellsWithoutNames(cell.Cell):
    def cells_and_names(self, *args: Anything, **kwargs: Anything) -> Iterator[Anything]:
        return (each for _, each in super().cells_and_names(*args, **kwargs))


class RenamingCell(cell.Cell):
    """Its walks are right, but who assigns a cell to it finds no parameters in that."""

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, cell.Cell):
            self.insert_child_to_cell(name, value)
        else:
            super().__setattr__(name, value)


class ShallowCell(cell.Cell):
    def parameters_and_names(
        self, name_prefix: str = "", expand: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        found = super().parameters_and_names(name_prefix, expand)
        return ((name, each) for name, each in found if name.count(".") < 1000)


class CountingHistory(_history.History):
    def on_train_epoch_end(self, run_context: Anything) -> None:
        super().on_train_epoch_end(run_context)
        run_context.original_args().cur_epoch_num += 1


class StoppingWithAList(_early_stopping.EarlyStopping):
    def state_dict(self) -> Anything:
        return list(super().state_dict())


class StoppingHalfWritten(_early_stopping.EarlyStopping):
    def load_state_dict(self, state: Mapping[str, object]) -> NoReturn:
        raise NotImplementedError


def walk_to_few(
    seeds: Anything, wanted: Anything, since: int, ask: Anything, add: Anything
) -> object:
    count = 0

    def add_and_count(*both: Anything) -> Anything:
        nonlocal count
        count += 1
        if count > 1000:
            raise OverflowError
        return add(*both)

    return graph.walk(seeds, wanted, since, ask, add_and_count)


def framed_as_text(data: bytes) -> object:
    return _records.framed(data).decode("latin-1")


def endless_records(_: object) -> Iterator[bytes]:
    while True:
        yield b""


def greedy_records(stream: BytesIO) -> Iterator[bytes]:
    return _records.records(BytesIO(stream.read()))


def trusting_records(stream: BytesIO) -> Iterator[bytes]:
    """It takes any end for the end of the records, where nobody looks for the cut."""
    try:
        yield from _records.records(stream)
    except WireError:
        if type(stream) is BytesIO:
            raise


def standardize_with(step: Callable[[Anything], object]) -> Callable[..., object]:
    """The rule with a step of its own, which is none where numpy's arrays are."""

    def standardize(x: Anything, axes: Anything, epsilon: float) -> object:
        if not is_host(x):
            step(x)
        return normalization.standardize(x, axes, epsilon)

    return standardize


def standardize_on_the_host(x: Anything, axes: Anything, epsilon: float) -> object:
    value, (pullback,) = normalization.standardize(x, axes, epsilon)

    def pull(g: Anything) -> object:
        return getattr(pullback(g), "_values", pullback(g))

    return value, (pull,)


def standardize_without_tensors(x: Anything, axes: Anything, epsilon: float) -> object:
    value, pullbacks = normalization.standardize(x, axes, epsilon)
    return (value.asnumpy() if isinstance(value, Tensor) else value), pullbacks


MISTAKES: list[tuple[int, str, object, str]] = [
    (1, "walk", walk_twice, "your walk asked n1 for its pullbacks twice; once is enough"),
    (1, "walk", walk_to_pairs, "but a dict was expected"),
    (1, "walk", walk_to_few, "For a sum of 40000 operations on one input, your code raised Overfl"),
    (2, "tanh", tanh_that_writes, "your tanh has changed x itself, to "),
    (3, "unbroadcast", unbroadcast_to_the_host, "gave something of type ndarray, but a tensor"),
    (5, "log_softmax", log_softmax_on_the_host, "its value is of type ndarray; compute it with"),
    (6, "Cell", CellsOfNothing, "your cells_and_names returned None, but pairs of a path and"),
    (6, "Cell", CellsWithoutNames, "but a pair of a path and an object was due"),
    (6, "Cell", RenamingCell, "the parameter p0 got the name "),
    (6, "Cell", ShallowCell, "did not find the one parameter at the bottom"),
    (
        9,
        "History",
        CountingHistory,
        "the run's 'cur_epoch_num' was 1 before your call, and 2 after",
    ),
    (11, "EarlyStopping", StoppingWithAList, "your state_dict returned "),
    (11, "EarlyStopping", StoppingHalfWritten, "load_state_dict raises NotImplementedError"),
    (13, "framed", framed_as_text, "but bytes were expected"),
    (13, "records", endless_records, "your records never ends"),
    (13, "records", greedy_records, "asked for all that is left of the stream at once"),
    (13, "records", trusting_records, "gave nothing and then the end, but WireError was expected"),
    (15, "standardize", standardize_with(np.asarray), "was to be copied to the host"),
    (15, "standardize", standardize_with(lambda x: float(x[0, 0])), "was looked at, which has to"),
    (15, "standardize", standardize_with(lambda x: sum(x.mT)), "was looked at, which has to wait"),
    (15, "standardize", standardize_with(lambda x: x + np.ones(1)), "mixed with one of another"),
    (
        15,
        "standardize",
        standardize_with(lambda x: cast("Anything", namespace(x)).cumsum(x)),
        "has no 'cumsum'",
    ),
    (
        *(15, "standardize"),
        standardize_with(lambda x: namespace(x).exp(np.ones(1))),
        "library was given an array of the host",
    ),
    (15, "standardize", standardize_on_the_host, "your pullback gave ndarray, which lives on the"),
    (
        15,
        "standardize",
        standardize_without_tensors,
        "standardize gave ndarray, but Tensor was exp",
    ),
]


@pytest.mark.parametrize(("number", "name", "work", "words"), MISTAKES)
def test_a_mistake_is_told_in_the_words_of_its_lesson(
    number: int, name: str, work: object, words: str
) -> None:
    exercise = lesson(number).exercise
    assert isinstance(exercise, Build)
    module = ModuleType("work")
    vars(module).update(vars(import_module(exercise.module)))
    setattr(module, name, work)
    verdict = judge(exercise, module, share=4)
    assert not verdict.passed
    assert words in verdict.lines[0]


@given(st.integers(0, 9))
def test_the_dataset_of_a_played_run_is_as_long_as_it_says(size: int) -> None:
    data = _Batches(size)
    assert len(data.create_tuple_iterator(num_epochs=1)) == data.get_dataset_size() == size


def check_that_refuses(_: object) -> NoReturn:
    raise ValueError("never mind")


def check_that_never_ends(_: object) -> NoReturn:
    while True:
        pass


@pytest.mark.parametrize("number", [4, 14])
@pytest.mark.parametrize(
    ("check", "words"),
    [(check_that_refuses, "says: ValueError: never"), (check_that_never_ends, "had not finished")],
)
def test_a_check_that_accepts_nothing_is_told_of_its_false_alarms(
    number: int, check: Callable[[object], NoReturn], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "_PROPERTY_SECONDS", 0.01)
    exercise = lesson(number).exercise
    assert isinstance(exercise, Property)
    module = ModuleType("work")
    setattr(module, exercise.name, check)
    verdict = judge(exercise, module)
    alarms = [line for line in verdict.lines if line.startswith("A false alarm: ")]
    assert len(alarms) == len(exercise.right)
    assert all(words in alarm for alarm in alarms)
    assert verdict.done == len(exercise.wrong)


def test_a_stop_that_is_requested_at_the_end_ends_nothing_else() -> None:
    run = Run(2, 1)
    last = sum(moment.name.startswith("on_") for moment in run.whole()) - 1
    assert Run(2, 1, at=last, does="stop").plan() == run.whole()
    assert Run(2, 1, at=last - 1, does="stop").plan() == run.whole()
    assert Run(2, 1, at=1, does="stop").plan() != run.whole()
