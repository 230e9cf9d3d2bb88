"""Feedback on mistakes that no seeded bug makes, and on wrong results of every kind."""

import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from io import BytesIO
from itertools import product
from types import ModuleType
from typing import Any, NoReturn, TypeVar, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore import Parameter, Tensor
from minispore._course.exercise import CodeExercise
from minispore._course.feedback import (
    WrongResult,
    counted,
    describe_case,
    expect,
    format_value,
    is_same,
)
from minispore._course.lessons import lesson
from minispore._course.solutions import (
    backward,
    cell,
    loop,
    periodic,
    run_log_09,
    run_log_10,
    run_log_11,
)
from minispore._course.verdict import evaluate_submission
from minispore.engine.array import Shape, is_host, namespace
from minispore.engine.rules import broadcasting, elementwise, normalization, reduction
from minispore.graph import program
from minispore.train import RunContext
from minispore.train.checkpoint.protobuf import WireError
from minispore.train.protocol.outputs import first_output
from minispore.train.summary import tfrecord

W = TypeVar("W")
# What a learner writes has no types.
Anything = Any
# Lessons, names of functions or classes, wrong works and parts of the feedback on them.
MISTAKES: list[tuple[int, str, object, str]] = []


def mistake(number: int, name: str, message: str) -> Callable[[W], W]:
    """Register a wrong definition of a name in a lesson, and a part of the feedback on it."""

    def register(work: W) -> W:
        MISTAKES.append((number, name, work, message))
        return work

    return register


@mistake(1, "backward_pass", "your backward_pass asked n1 for its edges twice")
def visit_twice(*args: Anything) -> object:
    backward.backward_pass(*args)
    return backward.backward_pass(*args)


@mistake(1, "backward_pass", "but a dict was expected")
def return_pairs(*args: Anything) -> object:
    return list(backward.backward_pass(*args).items())


@mistake(2, "tanh", "your tanh modified x in place, to ")
def tanh_in_place(x: Anything) -> object:
    value, pullbacks = elementwise.tanh(x + 0.0)
    x[...] = value
    return value, pullbacks


@mistake(3, "unbroadcast", "gave a result of type ndarray, but a tensor")
def unbroadcast_to_numpy(g: Anything, shape: tuple[int, ...]) -> object:
    result: object = broadcasting.unbroadcast(g, shape)
    return result.asnumpy() if isinstance(result, Tensor) else result


@mistake(5, "log_softmax", "its value is of type ndarray; use only")
def log_softmax_to_numpy(x: Anything, axis: int) -> object:
    value, pullbacks = reduction.log_softmax(x, axis)
    return (value.asnumpy() if isinstance(value, Tensor) else value), pullbacks


@mistake(6, "Cell", "your cells_and_names returned None, but pairs of a path and")
class CellWithoutPairs(cell.Cell):
    def cells_and_names(self, *_: object, **__: object) -> Anything:
        return None


@mistake(6, "Cell", "but a pair of a path and an object was expected")
class CellWithoutNames(cell.Cell):
    def cells_and_names(self, *args: Anything, **kwargs: Anything) -> Iterator[Anything]:
        return (child for _, child in super().cells_and_names(*args, **kwargs))


@mistake(6, "Cell", "did not find the one parameter, in the innermost cell")
class ShallowCell(cell.Cell):
    def parameters_and_names(self, name_prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        pairs = super().parameters_and_names(name_prefix)
        return ((name, parameter) for name, parameter in pairs if name.count(".") < 1000)


@mistake(9, "RunLog", "'bookkeeping' is violated in the run train with")
class CountingLog(run_log_09.RunLog):
    def on_train_epoch_end(self, run_context: Anything) -> None:
        super().on_train_epoch_end(run_context)
        run_context.original_args().cur_epoch_num += 1


@mistake(9, "RunLog", "your `losses` contain a Tensor, but")
class LogOfTensors(run_log_09.RunLog):
    def on_train_step_end(self, run_context: Anything) -> None:
        loss: Anything = first_output(run_context.original_args().net_outputs)
        self._steps.append(loss)


@mistake(10, "RunLog", "your code raised StopIteration")
class RaisingLog(run_log_10.RunLog):
    def on_train_epoch_end(self, run_context: Anything) -> None:
        super().on_train_epoch_end(run_context)
        if run_context.get_stop_requested():
            raise StopIteration


@mistake(11, "RunLog", "your state_dict returned ")
class LogWithListState(run_log_11.RunLog):
    def state_dict(self) -> Anything:
        return list(super().state_dict())


@mistake(11, "RunLog", "resume")
class LogWithoutLoading(run_log_11.RunLog):
    def load_state_dict(self, state: Mapping[str, object]) -> NoReturn:
        raise NotImplementedError


@mistake(
    12, "Periodic", "as call number 2, your Periodic forwarded on_train_step_begin in step 1, but "
)
class PeriodicWithoutForwarding(periodic.Periodic):
    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        pass


@mistake(15, "standardize", "your standardize returned None, but a pair was expected")
def standardize_without_result(*_: object) -> object:
    return None


@mistake(9, "RunLog", "but got an object of another class of type NotACallback in it.")
class NotACallback:
    def __repr__(self) -> str:
        return "an object of another class"


@mistake(16, "place", "but a Placement of a dict and an int was expected")
def place_without_size(*args: Anything) -> object:
    return program.place(*args).offsets


@mistake(16, "last_uses", "your last_uses gave [")
def last_uses_as_pairs(entries: Anything) -> object:
    return list(program.last_uses(entries).items())


@mistake(17, "train", "but a generator was expected: a function with `yield`")
def train_without_yield(
    rank: int, size: int, batches: Anything, w: Anything, *_: Anything
) -> object:
    return w


@mistake(17, "train", "the arrays in all-reduce number 1 have the shapes (0,), (2,)")
def train_with_short_arrays(
    rank: int, size: int, batches: Anything, w: Anything, *_: Anything
) -> Iterator[Anything]:
    yield w[: 2 * rank]


@mistake(1, "backward_pass", "For a sum of 50000 operations on one input, your code")
def visit_few(seeds: Anything, edges: Anything) -> object:
    count = 0

    def counted(node: Anything) -> Anything:
        nonlocal count
        count += 1
        if count > 1000:
            raise OverflowError
        return edges(node)

    return backward.backward_pass(seeds, counted)


@mistake(
    8, "fit", "after on_train_epoch_end your loop began epoch 2, but on_train_end was expected"
)
def stop_only_the_epoch(
    step: Anything, batches: Anything, epochs: int, callbacks: Anything, validate: Anything = None
) -> None:
    state = loop.State()
    loop.emit(callbacks, "on_train_begin", state)
    for state.epoch in range(1, epochs + 1):
        loop.emit(callbacks, "on_train_epoch_begin", state)
        for state.step, batch in enumerate(batches, 1):
            loop.emit(callbacks, "on_train_step_begin", state)
            state.loss = step(*batch)
            loop.emit(callbacks, "on_train_step_end", state)
            if state.stop:
                break
        if validate and not state.stop:
            state.results = validate()
        loop.emit(callbacks, "on_train_epoch_end", state)
        state.results = None
    loop.emit(callbacks, "on_train_end", state)


@mistake(8, "emit", "your emit passed 'on_train_end' to the hook, but the state was expected")
def emit_with_the_name(callbacks: Anything, event: str, _: object) -> None:
    for callback in callbacks:
        if hasattr(callback, event):
            getattr(callback, event)(event)


@mistake(13, "encode_record", "but bytes were expected")
def record_as_text(data: bytes) -> object:
    return tfrecord.encode_record(data).decode("latin-1")


@mistake(13, "read_records", "your read_records never ends")
def endless_records(_: object) -> Iterator[bytes]:
    while True:
        yield b""


@mistake(13, "read_records", "read the complete rest of the stream at once")
def greedy_records(stream: BytesIO) -> Iterator[bytes]:
    return tfrecord.read_records(BytesIO(stream.read()))


@mistake(13, "read_records", "gave nothing and then the end, but WireError was expected")
def trusting_records(stream: BytesIO) -> Iterator[bytes]:
    """Treat any end as the regular end, except for the streams of truncated records."""
    try:
        yield from tfrecord.read_records(stream)
    except WireError:
        if type(stream) is BytesIO:
            raise


def standardize_with(step: Callable[[Anything], object]) -> Callable[..., object]:
    """Return the rule with an additional step on arrays that are not numpy's."""

    def standardize(x: Anything, axes: Anything, epsilon: float) -> object:
        if not is_host(x):
            step(x)
        return normalization.standardize(x, axes, epsilon)

    return standardize


@mistake(15, "standardize", "your pullback gave ndarray, which is on the host")
def standardize_with_numpy_gradient(x: Anything, axes: Anything, epsilon: float) -> object:
    value, (pullback,) = normalization.standardize(x, axes, epsilon)

    def pull(g: Anything) -> object:
        return getattr(pullback(g), "_values", pullback(g))

    return value, (pull,)


@mistake(15, "standardize", "standardize gave ndarray, but Tensor was exp")
def standardize_to_numpy(x: Anything, axes: Anything, epsilon: float) -> object:
    value, pullbacks = normalization.standardize(x, axes, epsilon)
    return (value.asnumpy() if isinstance(value, Tensor) else value), pullbacks


STANDARDIZE: list[tuple[Callable[[Anything], object], str]] = [
    (np.asarray, "was converted to a numpy array"),
    (lambda x: float(x[0, 0]), "was read, which synchronizes"),
    (lambda x: sum(x.mT), "was read, which synchronizes"),
    (lambda x: x + np.ones(1), "combined with one of another"),
    (lambda x: cast("Anything", namespace(x)).cumsum(x), "has no 'cumsum'"),
    (
        lambda x: namespace(x).exp(np.ones(1)),
        "namespace of another device got an array of the host",
    ),
]
MISTAKES.extend(
    (15, "standardize", standardize_with(step), message) for step, message in STANDARDIZE
)


@pytest.mark.parametrize(
    ("number", "name", "work", "message"),
    # The graph of 40000 operations takes seconds.
    [pytest.param(*case, marks=[pytest.mark.full] * (case[2] is visit_few)) for case in MISTAKES],
)
def test_feedback_describes_mistake(number: int, name: str, work: object, message: str) -> None:
    exercise = lesson(number).exercise
    assert isinstance(exercise, CodeExercise)
    module = ModuleType("work")
    vars(module).update(vars(import_module(exercise.module)))
    setattr(module, name, work)
    verdict = evaluate_submission(exercise, module, speedup=4)
    if verdict.passed:  # a quarter of the cases may not contain a counterexample
        verdict = evaluate_submission(exercise, module)
    assert not verdict.passed
    assert message in verdict.lines[0]
    assert re.search(r"[^.]\.\Z", verdict.lines[0])  # one period


NUMBERS = st.floats(-100, 100)
VALUES: list[object] = [None, False, 0, True, 1, "", "1", [], [1], (), (1,)]


@given(NUMBERS, st.sampled_from([1e-8, 1e-3]), st.sampled_from([0, 0.9, -0.9, 2.1, -2.1]))
def test_numbers_are_equal_within_the_tolerance(
    expected: float, tolerance: float, errors: float
) -> None:
    """The tolerance is absolute and relative: the bound is their sum."""
    bound = tolerance * (1 + abs(expected))
    numbers: list[Callable[[float], object]] = [float, np.float64, lambda x: np.array([0.0, x])]
    for number in numbers:
        assert is_same(number(expected + errors * bound), number(expected), tolerance) == (
            abs(errors) < 1
        )
    assert is_same(expected + errors, expected) == (errors == 0)


def test_other_values_are_equal_by_type_and_value() -> None:
    for one, other in product(VALUES, VALUES):
        assert is_same(one, other) == (type(one) is type(other) and one == other)


@given(hnp.array_shapes(min_dims=0, max_dims=2), hnp.array_shapes(min_dims=0, max_dims=2))
def test_arrays_are_equal_only_with_equal_shapes(one: Shape, other: Shape) -> None:
    assert is_same(np.ones(one), np.ones(other), 1e-6) == (one == other)
    assert is_same(np.full(one, np.nan), np.full(one, np.nan))
    assert not is_same(np.full(one, None), np.ones(one))


@given(st.integers(-10, 10), st.booleans())
def test_long_values_are_truncated(more: int, array: bool) -> None:
    text = "x" * (296 + more)
    value: object = np.array([text]) if array else [text]
    shown, complete = format_value(value), repr([text])
    assert shown == (complete if len(complete) <= 300 else f"{complete[:299]}…")


@given(st.integers(0, 5), st.sampled_from(["epoch", "step", "batch"]))
def test_counted_uses_the_plural_except_for_1(number: int, noun: str) -> None:
    plural = "batches" if noun == "batch" else f"{noun}s"
    assert counted(number, noun) == f"{number} {noun if number == 1 else plural}"


@pytest.mark.parametrize(
    ("actual", "expected", "tolerance", "message"),
    [
        ("one", np.float64(1), 0.0, "'one', but 1.0"),
        (1 / 3, 0.5, 1e-9, "0.333333, but 0.5"),
        (1 / 3, 0.5, 0.0, "0.3333333333333333, but 0.5"),
        # The same when rounded.
        (0.50000001, 0.5, 1e-9, "0.50000001, but 0.5"),
        (np.array([-1e-9]), np.ones(1), 1e-9, r"\[0.0\], but \[1.0\]"),
    ],
)
def test_expect_reports_both_values(
    actual: object, expected: object, tolerance: float, message: str
) -> None:
    with pytest.raises(WrongResult, match=f"^it gave {message} was expected$"):
        expect("it", actual, expected, tolerance=tolerance)


def test_describe_case_falls_back_to_repr() -> None:
    assert describe_case(lambda case: str(1 // case), 0) == "0"
