"""Graph mode: a replayed step leaves the bits of the eager step, and each guard is needed."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

import copy
import gc
import os
import signal
import sys
import threading
import tracemalloc
import weakref
from abc import ABCMeta
from collections.abc import Callable, Iterator, MutableMapping
from datetime import datetime
from enum import IntEnum
from functools import lru_cache, partial
from io import StringIO
from logging import NullHandler, getLogger
from os import environ, getenv
from os.path import exists
from pathlib import Path
from pprint import pprint
from secrets import randbelow
from tempfile import TemporaryDirectory
from threading import current_thread
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore as ms
from minispore import Parameter, Tensor, nn, ops
from minispore._cli.tutorial import Network
from minispore.common.initializer import Normal
from minispore.engine.array import is_ndarray
from minispore.engine.array.capture_hooks import current_hooks
from minispore.engine.graph import in_record_block, is_recording, record
from minispore.graph import cache, capture, plan
from minispore.graph.guards import Guards
from minispore.graph.tape import Tape
from minispore.graph.watch import Watch
from minispore.utils import facade
from minispore.utils.checks import as_items
from tests.helpers.optimizer_cases import each_optimizer, gradients, optimizers, two
from tests.helpers.replays import needs_replays
from tests.helpers.training_schedules import ACTIONS, LOSSES, NETWORKS, OPTIMIZERS, Net, Training

pytestmark = [pytest.mark.filterwarnings("ignore"), needs_replays]


@pytest.fixture(autouse=True)
def _mode() -> Iterator[None]:
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


# The law.

names = st.tuples(*map(st.sampled_from, (list(NETWORKS), list(LOSSES), list(OPTIMIZERS))))


@given(names, st.lists(st.sampled_from(list(ACTIONS)), max_size=6))
def test_steps_leave_the_bits_of_eager_steps(
    names: tuple[str, str, str], actions: list[str]
) -> None:
    actions = ["five steps", *actions, "five steps"]
    eager, graph = Training(*names), Training(*names)
    eager.run(actions, ms.PYNATIVE_MODE)
    info = graph.run(actions, ms.GRAPH_MODE)
    assert graph.trace == eager.trace
    assert info.replayed >= 2


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_steps_are_replayed_from_the_fourth_on(network: str, loss: str, optimizer: str) -> None:
    info = Training(network, loss, optimizer).run(["five steps"] * 2, ms.GRAPH_MODE)
    assert (info.observed, info.captured, info.replayed, info.eager) == (1, 2, 7, 0), str(info)


@each_optimizer
def test_each_optimizer_is_replayed(which: int) -> None:
    def updated(decorate: Decorator) -> list[object]:
        optimizer = optimizers(two())[which]

        def update(first: Tensor, second: Tensor) -> None:
            optimizer((first, second))

        f = decorate(update)
        for i in range(8):
            f(*gradients(i))
        if decorate is not identity:
            assert ms.graph_info(f).replayed == 5
        return [bits(parameter) for parameter in optimizer.get_parameters()]

    assert updated(identity) == updated(ms.jit)


# Each guard: what happens with it, and that it happens because of it. Places of state are in
# `test_state.py`.

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]
Patch = Callable[[pytest.MonkeyPatch], None]
X = Tensor(np.linspace(-1.0, 1.0, 6, dtype=np.float32).reshape(2, 3))
LABELS = Tensor([0, 2])
SCALE = 2.0


def bits(value: object) -> object:
    if isinstance(value, Tensor):
        return value.shape, value.asnumpy().tobytes()
    items = as_items(value)
    return value if items is None else [bits(item) for item in items]


def calls(function: Function, *args: object, times: int = 5) -> list[object]:
    results: list[object] = []
    for _ in range(times):
        try:
            results.append(bits(function(*args)))
        except (IndexError, RuntimeError, ValueError) as error:
            results.append((type(error), str(error)))
    return results


def rerun(change: Callable[[], object], function: Function, *args: object) -> list[object]:
    """Return the results of calls before and after a change."""
    before = calls(function, *args)
    change()
    return [before, calls(function, *args)]


def identity(function: Function) -> Function:
    return function


def flag_and_factor(decorate: Decorator) -> object:
    f = decorate(lambda x, factor: x * factor)
    return [calls(f, X, factor) for factor in (2, 3.0, -0.0, 0.0)]


def positional_then_keyword(decorate: Decorator) -> object:
    f = decorate(lambda x, a=1, b=2: x * a - b)
    return calls(f, X, 3), [bits(f(X, b=3)) for _ in range(5)]


def last_batch_of_one_row(decorate: Decorator) -> object:
    f = decorate(lambda x: x + 1)
    return calls(f, X), calls(f, X[:1])


def integers_after_floats(decorate: Decorator) -> object:
    f = decorate(lambda x: x + 1)
    return calls(f, X), calls(f, Tensor([[5, 6, 7], [8, 9, 10]]))


def transposed_batch(decorate: Decorator) -> object:
    f = decorate(lambda x: x.sum(0))
    x = np.random.default_rng(0).standard_normal((65, 67)).astype(np.float32)
    return calls(f, Tensor.from_numpy(x)), calls(f, Tensor.from_numpy(np.asfortranarray(x)))


def input_is_a_weight(decorate: Decorator) -> object:
    weight = Parameter(X.copy(), name="weight")

    def f(x: Tensor) -> Tensor:
        ops.assign_add(weight, x)
        return x * 1

    g = decorate(f)
    return calls(g, X), calls(g, Tensor.from_numpy(weight.asnumpy()))


def loaded_between_steps(decorate: Decorator) -> object:
    weight = Parameter(X.copy(), name="weight")
    return rerun(lambda: weight.set_data(X * 2), decorate(lambda x: x * weight), X)


def requires_grad_switched(decorate: Decorator) -> object:
    weight = Parameter(X.copy(), name="weight")
    gradient = ms.grad(lambda x: x * weight, None, weight)
    f = decorate(lambda x: gradient(x))
    return rerun(lambda: setattr(weight, "requires_grad", False), f, X)


def attribute_changed(decorate: Decorator) -> object:
    ms.set_seed(1)
    net = Net()
    x = Tensor(np.linspace(-1.0, 1.0, 8, dtype=np.float32).reshape(2, 4))
    return rerun(lambda: setattr(net, "scale", 3.0), decorate(lambda x: net.construct(x)), x)


def attribute_added(decorate: Decorator) -> object:
    weight = Parameter(X.copy(), name="weight")
    optimizer = nn.SGD([weight], 0.5)

    def f(x: Tensor) -> None:
        optimizer((x,))

    g = decorate(f)
    before = calls(g, X)
    vars(optimizer)["construct"] = lambda gradients: ops.assign(weight, gradients[0])
    return before, calls(g, X), bits(weight)


def flags_changed(decorate: Decorator) -> object:
    relu = nn.ReLU().add_flags(doubled=True)
    f = decorate(lambda x: relu(x) * (2.0 if relu.get_flags()["doubled"] else 1.0))
    return rerun(lambda: relu.get_flags().update(doubled=False), f, X)


def code_replaced(decorate: Decorator) -> object:
    def scaled(x: Tensor) -> Tensor:
        return x * 2

    code = (lambda x: x * 3).__code__
    return rerun(lambda: setattr(scaled, "__code__", code), decorate(lambda x: scaled(x)), X)


def defaults_replaced(decorate: Decorator) -> object:
    def scaled(x: Tensor, factor: float = 2.0) -> Tensor:
        return x * factor

    return rerun(lambda: setattr(scaled, "__defaults__", (3.0,)), decorate(scaled), X)


def keyword_defaults_changed(decorate: Decorator) -> object:
    def scaled(x: Tensor, *, factor: float = 2.0) -> Tensor:
        return x * factor

    defaults: dict[str, object] = scaled.__kwdefaults__  # type: ignore[assignment]
    return rerun(lambda: defaults.update(factor=3.0), decorate(scaled), X)


def variable_assigned_later(decorate: Decorator) -> object:
    f = decorate(lambda x: x if x.shape[0] else x * factor)
    results = calls(f, X)
    factor = 2.0
    return results


def name_read(decorate: Decorator) -> object:
    weight = Parameter(X.copy(), name="weight")
    f = decorate(lambda x: x * len(weight.name))
    return rerun(lambda: setattr(weight, "name", "w"), f, X)


def optimizer_of_the_user(decorate: Decorator) -> object:
    class Counting(nn.SGD):
        steps = 0

        def construct(self, gradients: Any) -> Any:  # noqa: ANN401 (as of the base class)
            Counting.steps += 1
            return super().construct(gradients)

    weight = Parameter(X.copy(), name="weight")
    optimizer = Counting([weight], 0.5)
    f = decorate(lambda x: optimizer((x,)))
    return calls(f, X), bits(weight), Counting.steps


def class_replaced(decorate: Decorator) -> object:
    class Double(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return x * 2

    class Triple(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return x * 3

    net = Double()
    return rerun(lambda: setattr(net, "__class__", Triple), decorate(lambda x: net(x)), X)


def module_changed(decorate: Decorator) -> object:
    module: Any = ModuleType("settings")
    vars(module).update(__file__="settings.py", factor=2.0)
    change = vars(module).update
    return rerun(lambda: change(factor=3.0), decorate(lambda x: x * module.factor), X)


def module_of_a_library(decorate: Decorator) -> object:
    return calls(decorate(lambda x: x * np.pi), X)


def momentum_set_to_zero(decorate: Decorator) -> object:
    optimizer = nn.SGD([Parameter(X.copy(), name="weight")], 0.1, 0.9)

    def f(x: Tensor) -> None:
        optimizer((x,))

    results = rerun(lambda: optimizer.momentum.set_data(0.0), decorate(f), X)
    return results, [bits(parameter) for parameter in optimizer.get_parameters()]


def label_out_of_range(decorate: Decorator) -> object:
    loss = nn.CrossEntropyLoss()
    f = decorate(lambda x, labels: loss(x, labels))
    return [
        calls(f, X, labels)
        for labels in (LABELS, Tensor([0, 3]), Tensor([-1, 1]), Tensor([-100, 1]))
    ]


def grad_of_jitted(decorate: Decorator) -> object:
    weight = Parameter(X.copy(), name="weight")
    f = decorate(lambda x: x * weight)
    return calls(f, X), bits(ms.grad(f, None, weight)(X))


def branch_on_values(decorate: Decorator) -> object:
    f = decorate(lambda x: x if x.sum() > 0 else -x)
    return [calls(f, x) for x in (X + 1, X - 1)]


def number_of_a_value(decorate: Decorator) -> object:
    f = decorate(lambda x: x * float(x.max()))
    return [calls(f, x) for x in (X + 1, X - 1)]


def counter(decorate: Decorator) -> object:
    class Count(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.count = 0

        def construct(self, x: Tensor) -> Tensor:
            self.count += 1
            return x

    net = Count()
    f = decorate(lambda x: net(x))
    return calls(f, X), net.count


def appended(decorate: Decorator) -> object:
    seen: list[int] = []

    def f(x: Tensor) -> Tensor:
        seen.append(1)
        return x * 2

    return calls(decorate(f), X), seen


def item_assigned(decorate: Decorator) -> object:
    seen = {"count": 0}

    def f(x: Tensor) -> Tensor:
        seen["count"] = seen["count"] + 1
        return x * 2

    return calls(decorate(f), X), seen


def object_read(decorate: Decorator) -> object:
    class Options:
        factor = 2.0

    options = Options()
    f = decorate(lambda x: x * options.factor)
    return rerun(lambda: setattr(options, "factor", 3.0), f, X)


def exception_handled(decorate: Decorator) -> object:
    def f(x: Tensor, i: Tensor) -> Tensor:
        try:
            return x[i]
        except IndexError:
            return x * 2

    g = decorate(f)
    return [calls(g, X, i) for i in (Tensor([0, 1]), Tensor([0, 5]))]


def hook_registered(decorate: Decorator) -> object:
    called: list[int] = []
    relu = nn.ReLU()
    handle = relu.register_forward_hook(lambda *_: called.append(1))
    f = decorate(lambda x: relu(x))
    results = calls(f, X)
    handle.remove()
    return results, called


def gradient_hook(decorate: Decorator) -> object:
    weight = Parameter(X.copy(), name="weight")
    record(lambda: weight.register_hook(ops.neg))
    gradient = ms.grad(lambda x: x * weight, None, weight)
    f = decorate(lambda x: gradient(x))
    return calls(f, X)


def random_numbers(decorate: Decorator) -> object:
    ms.set_seed(1)
    f = decorate(lambda x: x + ops.rand(2, 3) * ops.randn(2, 3, seed=3))
    return rerun(lambda: ms.set_seed(2), f, X)


def gradient_of_rows(decorate: Decorator) -> object:
    table = Parameter(Tensor(np.linspace(0.1, 1.0, 15, dtype=np.float32).reshape(5, 3)))
    gradient = ms.grad(lambda i: ops.tanh(table[i]), None, table)
    f = decorate(lambda i: gradient(i))
    return [calls(f, Tensor(i)) for i in ([0, 4, 0, 2], [1, 1, 1, -1])]


def index_out_of_range(decorate: Decorator) -> object:
    table = nn.Embedding(5, 3)
    table.embedding_table.set_data(ops.ones((5, 3)))
    dropout = nn.Dropout(p=0.5).set_train()
    ms.set_seed(1)
    first = decorate(lambda i: dropout(table(i)))
    ms.set_seed(1)
    second = decorate(lambda x, i: dropout(x) * table(i))
    return [[calls(first, i), calls(second, X, i)] for i in (Tensor([0, 4]), Tensor([0, 5]))]


def result_is_kept(decorate: Decorator) -> object:
    f = decorate(lambda x: x * 2)
    results = [f(X + i) for i in range(6)]
    return bits(results)


def inputs_in_the_result(decorate: Decorator) -> object:
    f = decorate(lambda x, y: [y, (x, x * 2, y, X)])
    return calls(f, X, LABELS), calls(f, X + 1, LABELS + 1), calls(f, X, X)


def tensor_created_in_the_step(decorate: Decorator) -> object:
    def f(x: Tensor) -> Tensor:
        total = ops.zeros((2, 3))
        total.add_(x)
        return total * 1

    g = decorate(f)
    return calls(g, X), calls(g, X + 1)


def library_functions(decorate: Decorator) -> object:
    """Functions of Python's library that are written in Python, and read more than arguments."""
    with TemporaryDirectory() as folder:
        path, logger = Path(folder, "number"), getLogger("tests.graph_mode")
        results: list[object] = []
        functions: tuple[Function, ...] = (
            lambda x: x * float(getenv("GRAPH_MODE_TEST", "1")),
            lambda x: x * (2 if exists(path) else 3),
            lambda x: x * float(Path(path).read_text("utf-8")),
            lambda x: x * len(getLogger("tests.graph_mode").handlers),
            lambda x: x * len(current_thread().name),
            lambda x: x * datetime.now().microsecond * 0 + x,
        )
        for function in functions:
            path.write_text("1", "utf-8")
            results += calls(decorate(function), X)
            f = decorate(function)
            results += calls(f, X)
            with patch.dict(environ, GRAPH_MODE_TEST="2"):
                path.write_text("2", "utf-8")
                logger.addHandler(NullHandler())
                results += calls(f, X)
            path.unlink()
            results += calls(f, X) if function is functions[1] else []
            logger.handlers.clear()
        return results


def random_branch(decorate: Decorator) -> object:
    """Random numbers of the library differ in each call, so both branches are taken."""
    f = decorate(lambda x: x * 2 if randbelow(2) else x * 3)
    return {str(f(X).tolist()) for _ in range(60)}


def printed(decorate: Decorator) -> object:
    lines = StringIO()

    def f(x: Tensor) -> Tensor:
        pprint(x.shape, lines)
        return x * 2

    return calls(decorate(f), X), lines.getvalue()


def code_like_that_of_a_library(decorate: Decorator) -> object:
    """A module where Python's own modules are, and one with the name of one of them."""
    source = "class Net(nn.Cell):\n    def construct(self, x): return x * self.options['scale']"
    folder = Path(os.__file__).with_name("site-packages")
    results: list[object] = []
    for file, name in ((folder / "installed.py", "installed"), (Path("test.py"), "test")):
        module: dict[str, Any] = {"__name__": name, "nn": nn}
        exec(compile(source, str(file), "exec"), module)
        net = module["Net"]()
        net.options = {"scale": 2.0}
        change = partial(net.options.update, scale=3.0)
        results.append(rerun(change, decorate(net), X))
    return results


def method_of_the_package_replaced(decorate: Decorator) -> object:
    norm = nn.BatchNorm1d(3)
    f = decorate(lambda x: norm(x))
    before = calls(f, X)
    with patch.object(nn.BatchNorm1d, "construct", lambda self, x: x):
        changed = calls(f, X)
    with patch.object(nn.Cell, "__call__", lambda self, x: x * 2):
        return before, changed, calls(f, X)


def arguments_changed(decorate: Decorator) -> object:
    def f(x: Tensor, log: list[object], by: dict[str, int]) -> Tensor:
        log += [x.shape]
        list(map(log.append, x.shape))
        by.update(steps=by.get("steps", 0) + 1)
        return x * 2

    g = decorate(f)
    logs: list[tuple[list[object], dict[str, int]]] = [([], {}) for _ in range(6)]
    return [(bits(g(X, *log)), log) for log in logs]


def argument_with_state(decorate: Decorator) -> object:
    class Options(tuple[float, ...]):  # noqa: SLOT001 (it has attributes)
        """It has a dict of attributes."""

        scale = 1.0

    options: Any = Options((1.0,))
    f = decorate(lambda x, options: x * options.scale)
    return rerun(lambda: setattr(options, "scale", 3.0), lambda: f(X, options))


def same_list_twice(decorate: Decorator) -> object:
    f = decorate(lambda x, a, b: x * (2.0 if a is b else 3.0))
    one, two = [1.0], [1.0]
    return calls(lambda: f(X, one, one)), calls(lambda: f(X, one, two))


def own_list_returned(decorate: Decorator) -> object:
    cache = [1.0]

    def f(x: Tensor, log: list[float]) -> object:
        return x * 2, cache, log, [log, log]

    g, log = decorate(f), [1.0]
    results = [g(X, log) for _ in range(6)]
    return [(r[1] is cache, r[2] is log, r[3][0] is r[3][1]) for r in results]


def dict_returned(decorate: Decorator) -> object:
    f = decorate(lambda x: {"a": x * 2, "b": [{"c": x + 1}]})
    results = [f(X + i) for i in range(6)]
    return [(bits(result["a"]), bits(result["b"][0]["c"])) for result in results]


def unaligned_input(decorate: Decorator) -> object:
    f = decorate(lambda x: x.sum())
    values = np.random.default_rng(0).standard_normal(100_000).astype(np.float32)
    unaligned = np.frombuffer(bytearray(400_001), np.float32, 100_000, offset=1)
    unaligned[:] = values
    return [calls(f, Tensor.from_numpy(array)) for array in (unaligned, values, unaligned)]


def stored_in_a_list(decorate: Decorator) -> object:
    """A tensor that a step has stored is one like others afterwards."""
    stored: list[Tensor] = []

    def f(x: Tensor) -> Tensor:
        stored.append(x * 2)
        return x

    g = decorate(f)
    for _ in range(4):
        g(X)
    h = decorate(lambda x: x + 1)
    return [calls(h, tensor) for tensor in stored]


class CountingSchedule(nn.LearningRateSchedule):
    """A learning rate that depends on the number of calls."""

    calls = 0

    def construct(self, global_step: Tensor) -> Tensor:
        self.calls += 1
        if self.calls == 8:
            raise ValueError("the eighth call")
        return Tensor(0.0 if self.calls == 6 else 0.01 * self.calls)


def schedule_with_a_state(decorate: Decorator) -> object:
    """It is called once in each step, also in one for which the plan does not hold."""
    weight, schedule = Parameter(X.copy(), name="weight"), CountingSchedule()
    optimizer, loss = nn.SGD([weight], schedule), nn.CrossEntropyLoss()
    gradient = ms.value_and_grad(lambda x, labels: loss(x * weight, labels), None, [weight])

    def f(x: Tensor, labels: Tensor) -> object:
        value, gradients = gradient(x, labels)
        optimizer(gradients)
        return value

    g = decorate(f)
    ignoring = Tensor([0, -100])
    results = [calls(g, X, ignoring if i == 4 else LABELS, times=1) for i in range(10)]
    return results, schedule.calls, bits(weight)


def hook_of_a_subclass(decorate: Decorator) -> object:
    class Step(nn.TrainOneStepCell):
        pass

    seen: list[int] = []
    network = nn.Dense(3, 1, "ones", "zeros")
    step = Step(nn.WithLossCell(network, nn.MSELoss()), nn.SGD(network.trainable_params(), 0.1))
    f, target = decorate(lambda x, y: step._step(x, y)), Tensor([[1.0], [2.0]])
    return rerun(lambda: step.register_gradient_hook(lambda _: seen.append(1)), f, X, target), len(
        seen
    )


def same_tensor_or_same_memory(decorate: Decorator) -> object:
    f = decorate(lambda x, y: x * (2.0 if x is y else 3.0))
    x = X.copy()
    y = Tensor.from_numpy(x.asnumpy())
    return calls(f, x, x), calls(f, x, y), calls(f, x, x)


def argument_is_a_global_variable(decorate: Decorator) -> object:
    known: list[Any] = [[1.0], {"a": 1.0}]
    results: list[object] = []
    for value in known:
        f = decorate(lambda x, options, value=value: x * (2.0 if options is value else 3.0))
        results += calls(f, X, value), calls(f, X, copy.copy(value)), calls(f, X, value)
    return results


def list_of_a_cell_returned(decorate: Decorator) -> object:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.sizes = [2.0]

        def construct(self, x: Tensor) -> object:
            return x * 2, self.sizes

    net = Net()
    f = decorate(lambda x: net(x))
    return [f(X)[1] is net.sizes for _ in range(6)]


def hook_in_c(decorate: Decorator) -> object:
    network, seen = nn.Dense(3, 1, "ones", "zeros"), list[object]()
    step = nn.TrainOneStepCell(
        nn.WithLossCell(network, nn.MSELoss()), nn.SGD(network.trainable_params(), 0.1)
    )
    step.register_gradient_hook(lru_cache(seen.append))
    f = decorate(lambda x, y: step._step(x, y))
    return calls(f, X, Tensor([[1.0], [2.0]])), len(seen)


def nested(depth: int, wrap: Callable[[Any], Any], value: object) -> Any:  # noqa: ANN401
    for _ in range(depth):
        value = wrap(value)
    return value


def deep_arguments(decorate: Decorator) -> object:
    deep, cycle = nested(2000, lambda x: [x], 1.0), list[Any]([2.0])
    cycle.append(cycle)
    f = decorate(lambda x, items, number: x * len(items) * (number % 7))
    return calls(f, X, deep, 2), calls(f, X, cycle, 2), calls(f, X, cycle, 10**5000)


def deep_values(decorate: Decorator) -> object:
    for wrap in (lambda x: (x,), lambda x: [x], lambda x: partial(len, x)):
        chain = nested(2000, wrap, ())
        f = decorate(lambda x, chain=chain: x * (1 if chain else 2))
        if len({str(result) for result in calls(f, X)}) != 1:
            return "an error"
    return None


def deep_result(decorate: Decorator) -> object:
    def f(x: Tensor) -> object:
        result: object = x * 2
        for _ in range(2000):
            result = [result]
        return result

    g = decorate(f)
    results: list[Any] = [g(X) for _ in range(5)]
    for _ in range(2000):
        results = [result[0] for result in results]
    return bits(results)


def none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove nothing: several guards protect from this."""


def without(target: object, name: str, value: object) -> Patch:
    return lambda monkeypatch: monkeypatch.setattr(
        target, name, lambda *_, **__: value, raising=False
    )


def without_guards(*names: str) -> Patch:
    def patch_all(monkeypatch: pytest.MonkeyPatch) -> None:
        for name in names:
            monkeypatch.setattr(Guards, name, lambda *_, **__: None)

    return patch_all


def layout(*indices: int) -> Patch:
    def cut(data: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> object:
        whole = (data.shape, data.dtype, data.strides)
        return tuple(whole[i] for i in indices)

    return lambda monkeypatch: monkeypatch.setattr(cache, "layout", cut)


GUARDS: list[tuple[Callable[[Decorator], object], Patch]] = [
    (flag_and_factor, without(cache, "repr", "")),
    (positional_then_keyword, none),
    (last_batch_of_one_row, layout(1)),
    (integers_after_floats, layout(0)),
    (transposed_batch, layout(0, 1)),
    (input_is_a_weight, without(plan.Plan, "_is_state", value=False)),
    (loaded_between_steps, without(Guards, "guard_tensor", None)),
    (requires_grad_switched, without(Guards, "guard_tensor", None)),
    (attribute_changed, without_guards("_guard_attribute")),
    (attribute_added, without_guards("_guard_keys")),
    (flags_changed, without_guards("_guard_items")),
    (code_replaced, without_guards("_guard_attribute")),
    (defaults_replaced, without_guards("_guard_attribute")),
    (keyword_defaults_changed, without_guards("_guard_items")),
    (variable_assigned_later, none),
    (name_read, without(Guards, "_refuse", None)),
    (optimizer_of_the_user, none),
    (class_replaced, without_guards("_compare")),
    (module_changed, without_guards("_guard_item")),
    (module_of_a_library, none),
    (momentum_set_to_zero, without(plan.Plan, "_branches_otherwise", value=False)),
    (label_out_of_range, without(plan.Plan, "_decides_otherwise", value=False)),
    (grad_of_jitted, without(cache, "_environment", None)),
    (branch_on_values, none),
    (number_of_a_value, without(Tape, "refuse", None)),
    (counter, none),
    (appended, none),
    (item_assigned, none),
    (object_read, without_guards("_refuse")),
    (exception_handled, none),
    (hook_registered, none),
    (gradient_hook, none),
    (random_numbers, without(Tape, "host_values", np.full((2, 3), 0.5, np.float32))),
    (gradient_of_rows, none),
    (index_out_of_range, without(capture, "_unsuitable", None)),
    (result_is_kept, none),
    (inputs_in_the_result, none),
    (tensor_created_in_the_step, without(Tape, "refuse", None)),
    (library_functions, none),
    (random_branch, none),
    (printed, none),
    (code_like_that_of_a_library, without_guards("_guard_items")),
    (method_of_the_package_replaced, without_guards("_guard_class")),
    (arguments_changed, none),
    (argument_with_state, without_guards("_refuse")),
    (same_list_twice, none),
    (own_list_returned, none),
    (dict_returned, without(plan, "views_in", ())),
    (unaligned_input, none),
    (stored_in_a_list, none),
    (schedule_with_a_state, without(cache.StepCache, "run_eagerly", None)),
    (hook_of_a_subclass, without_guards("_guard_items")),
    (same_tensor_or_same_memory, none),
    (argument_is_a_global_variable, without(Guards, "holds", value=False)),
    (list_of_a_cell_returned, without(Guards, "holds", value=False)),
    (hook_in_c, none),
    (deep_arguments, none),
    (deep_values, none),
    (deep_result, none),
]


@pytest.mark.parametrize("case", GUARDS, ids=lambda case: case[0].__name__)
def test_guard_keeps_the_results(case: tuple[Callable[[Decorator], object], Patch]) -> None:
    scenario, _ = case
    assert scenario(ms.jit) == scenario(identity)


# What functions of C read, and names in the code do not show: what a step reads from a holder, and
# a change of that.
Read = tuple[Any, Callable[[Any], Any], Callable[[], object]]


_SAME = ("__len__", "__contains__", "__iter__")


def method_in_c(
    name: str, read: Callable[[Any], Any], meta: type = object, *, class_of: bool = False
) -> Read:
    """Return a read by a method of a class, or of a metaclass, that is one of another object."""
    inner = {"a": 1.0}
    method: object = getattr(inner, name if name in _SAME else "__getitem__")
    if name == "__call__":
        method = partial(max, inner)
    kind: Any = type("Kind", () if meta is object else (meta,), {name: method})
    holder = kind if class_of else kind("New", (), {}) if meta is type else kind()
    return holder, read, lambda: inner.update(b=2.0, a=3.0)


def attributes_replaced(holder: Any) -> Read:  # noqa: ANN401
    holder.scale = 1.0
    return holder, lambda x: x.scale, lambda: setattr(holder, "__dict__", {"scale": 3.0})


def own_method(base: Any, name: str, result: object) -> Read:  # noqa: ANN401
    """Return a read of a container of which a method does not show what it holds."""
    holder = type("Own", (base,), {name: lambda self: result})(["a"] if base is list else {0: "a"})
    return holder, lambda x: len(x[0]), lambda: holder.__setitem__(0, "three")


def longer_than_it_says() -> Read:
    holder = type("Own", (list,), {"__len__": lambda self: 1})(["a"])
    return holder, lambda x: len([*x]), lambda: holder.append("a")


def slot_below_an_attribute() -> Read:
    class Base:
        __slots__ = ("scale",)

    class Kind(Base):
        scale = 1.0

        def get(self) -> float:
            base: Any = super()
            return float(base.scale)

    value, scale = Kind(), vars(Base)["scale"]
    scale.__set__(value, 1.0)
    return value, lambda x: x.get(), lambda: scale.__set__(value, 3.0)


def class_of_numpy() -> Read:
    kind: Any = type("Number", (np.float64,), {"scale": 1.0})
    return kind(1.0), lambda x: x.scale, lambda: setattr(kind, "scale", 3.0)


def read_by_text() -> Read:
    outer: Any = SimpleObject()
    part: Any = SimpleObject()
    outer.part = part
    part.scale = 1.0
    return (
        outer,
        lambda x: float(FORMAT("{0.part.scale}", x)),
        lambda: setattr(part, "scale", 3.0),
    )


def subclasses() -> Read:
    base, found = type("Base", (), {}), list[type]()
    return base, lambda x: len(SUBCLASSES(x)), lambda: found.append(type("Sub", (base,), {}))


def universal_function() -> Read:
    inner = {1: 1.0}
    return np.frompyfunc(inner.get, 1, 1), lambda f: f(1), lambda: inner.update({1: 3.0})


def bound_of_a_slice() -> Read:
    bound = np.array(1)
    return slice(None, bound), lambda x: len("abc"[x]), lambda: bound.fill(3)


def attributes_of_a_module() -> Read:
    module: Any = ModuleType("settings")
    inner = {"scale": 1.0}
    vars(module)["__getattr__"] = inner.__getitem__
    return module, lambda x: x.scale, lambda: inner.update(scale=3.0)


def builtins_of_a_function() -> Read:
    inner = [1.0]
    space: dict[str, Any] = {"__builtins__": {"len": inner.__len__}}
    exec("def f(): return len()", space)
    return space["f"], lambda f: f(), lambda: inner.append(1.0)


def member(read: Callable[[Any], Any], change: Callable[[Any], object]) -> Callable[[], Read]:
    """Return a read of a member of a new enumeration, and a change of it."""

    def make() -> Read:
        class Kind(IntEnum):
            ONE = 1
            THREE = 3

            def scaled(self) -> float:
                return 2.0 * self.value

        return Kind.ONE, read, lambda: change(Kind.ONE)

    return make


class SimpleObject:
    """An object with attributes."""


FORMAT = str.format
SUBCLASSES = type.__subclasses__
READS: dict[str, Callable[[], Read]] = {
    "__len__": lambda: method_in_c("__len__", len),
    "__getitem__": lambda: method_in_c("__getitem__", lambda x: x["a"]),
    "__getattr__": lambda: method_in_c("__getattr__", lambda x: x.a),
    "__contains__": lambda: method_in_c("__contains__", lambda x: 1.0 + ("b" in x)),
    "__iter__": lambda: method_in_c("__iter__", lambda x: len(list(x))),
    "__call__": lambda: method_in_c("__call__", lambda x: len([x(), "a"]) + (x() == "b")),
    "__class_getitem__": lambda: method_in_c("__class_getitem__", lambda x: x["a"], class_of=True),
    "metaclass": lambda: method_in_c("__getitem__", lambda x: x["a"], type),
    "attributes of an object": lambda: attributes_replaced(SimpleObject()),
    "attributes of a cell": lambda: attributes_replaced(nn.ReLU()),
    "attributes of a function": lambda: attributes_replaced(lambda: None),
    "list with __iter__": lambda: own_method(list, "__iter__", iter(())),
    "list with __len__": longer_than_it_says,
    "dict with values": lambda: own_method(dict, "values", ["a"]),
    "slot": slot_below_an_attribute,
    "class of numpy": class_of_numpy,
    "text": read_by_text,
    "subclasses": subclasses,
    "universal function": universal_function,
    "slice": bound_of_a_slice,
    "module": attributes_of_a_module,
    "builtins": builtins_of_a_function,
    "value of a member": member(lambda x: x.value, lambda x: setattr(x, "_value_", 3.0)),
    "method of a member": member(
        lambda x: x.scaled(), lambda x: setattr(type(x), "scaled", lambda self: 3.0)
    ),
    "attribute of a member": member(
        lambda x: 3.0 if hasattr(x, "scale") else 1.0, lambda x: setattr(x, "scale", 3.0)
    ),
}


@pytest.mark.parametrize("name", READS)
def test_reads_by_functions_of_c_are_guarded_or_refused(name: str) -> None:
    def results(decorate: Decorator) -> list[object]:
        holder, read, change = READS[name]()
        return rerun(change, decorate(lambda x: x * read(holder)), X)

    eager = results(identity)
    assert eager[0] != eager[1]
    assert results(ms.jit) == eager


def test_objects_with_getattribute_are_not_asked() -> None:
    asked: list[str] = []

    class Asked:
        def __getattribute__(self, name: str) -> object:
            asked.append(name)
            return super().__getattribute__(name)

        def __len__(self) -> int:
            return 2

    value = Asked()
    f = ms.jit(lambda x: x * len(value))
    assert calls(f, X) == [bits(X * 2)] * 5
    assert not asked


REMOVABLE = [case for case in GUARDS if case[1] is not none]


@pytest.mark.parametrize("case", REMOVABLE, ids=lambda case: case[0].__name__)
def test_without_the_guard_the_results_differ(
    case: tuple[Callable[[Decorator], object], Patch], monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario, remove = case
    expected = scenario(identity)
    remove(monkeypatch)
    try:
        result = scenario(ms.jit)
    except Exception:  # also a difference
        return
    assert result != expected


REASONS: dict[Callable[[Decorator], object], str] = {
    appended: "while it runs, an attribute or item of 'seen'",
    branch_on_values: "reads the values",
    code_replaced: "'scaled' of",
    counter: "assigns the attribute 'count'",
    exception_handled: "handles exceptions",
    grad_of_jitted: "gradient is computed",
    gradient_hook: "has a hook",
    hook_registered: "has a hook",
    index_out_of_range: "an index after random numbers",
    item_assigned: "assigns an item",
    label_out_of_range: "a decision on its inputs",
    loaded_between_steps: "the memory of 'weight'",
    class_replaced: "the class of",
    name_read: "reads 'name'",
    optimizer_of_the_user: "the optimizer Counting is not one of minispore's",
    variable_assigned_later: "'factor' of <lambda> is not assigned yet",
    momentum_set_to_zero: "became zero",
    number_of_a_value: "reads the values",
    object_read: "'options' of <lambda> is of the class 'Options', whose changes",
    input_is_a_weight: "shares memory",
    requires_grad_switched: "'requires_grad' of 'weight'",
    tensor_created_in_the_step: "reads the values",
}


def test_code_of_a_package_above_is_judged_as_a_programs() -> None:
    network = Network()
    f, x = ms.jit(network), Tensor(np.ones((2, 1, 28, 28), np.float32))
    assert [bits(f(x)) for _ in range(4)] == 4 * [bits(network(x))]
    assert ms.graph_info(f).replayed == 1


asked_for: list[type] = []


def note(subclass: type) -> None:
    asked_for.append(subclass)


class Asked(ABCMeta):
    """As that of Pyodide's proxies: it has Python code for `isinstance`."""

    def __subclasscheck__(cls, subclass: type) -> bool:
        note(subclass)
        return super().__subclasscheck__(subclass)


class Proxy(MutableMapping[str, int], metaclass=Asked):
    """`isinstance(x, Mapping)` asks it, since it is a subclass of `Mapping`."""


def test_code_that_isinstance_runs_is_no_part_of_a_step() -> None:
    Proxy.register(type("New", (), {}))  # what earlier calls have found is forgotten
    names = next(iter(NETWORKS)), next(iter(LOSSES)), next(iter(OPTIMIZERS))
    info = Training(*names).run(["five steps"] * 2, ms.GRAPH_MODE)
    assert (info.observed, info.captured, info.replayed, info.eager) == (1, 2, 7, 0), str(info)
    assert asked_for


class Finder:
    """Such as pytest's, and those of editable installations."""

    def find_spec(self, name: str, *_: object) -> None:
        note(type(name))


def test_finder_that_the_packages_import_asks_is_no_part_of_a_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(tmp_path, "imported_in_a_step.py").write_text("value = 1", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "imported_in_a_step", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    import_name: Any = facade._import
    watch = Watch(Tape())
    watch.start()
    import_name("minispore", "imported_in_a_step", "value")
    watch.stop()
    assert {Finder.find_spec.__code__, note.__code__} <= watch.library - watch.other


@pytest.mark.parametrize("scenario", REASONS, ids=lambda scenario: scenario.__name__)
def test_reason_is_given(scenario: Callable[[Decorator], object]) -> None:
    functions: list[Function] = []

    def decorate(function: Function) -> Function:
        functions.append(ms.jit(function))
        return functions[-1]

    scenario(decorate)
    assert REASONS[scenario] in str([ms.graph_info(function).reasons for function in functions])


# Steps for which a plan does not hold, while it holds for the next one: the function, the arguments
# for which it holds, and those for which it does not.
WEIGHT = Parameter(X.copy(), name="weight")
# A matrix of which numpy computes the product with its own transpose by another routine.
WIDE = Tensor(np.random.default_rng(0).normal(size=(5, 300)).astype(np.float32))
EXCEPTIONS: dict[str, tuple[Function, tuple[Tensor, ...], tuple[Tensor, ...]]] = {
    "a decision on its inputs": (
        lambda x, labels: ops.cross_entropy(x, labels), (X, LABELS), (X, Tensor([0, 3]))
    ),
    "shares memory with a parameter": (
        lambda x: x * WEIGHT, (X,), (Tensor.from_numpy(WEIGHT.asnumpy()),)
    ),
    "two of its tensors share memory": (
        lambda x, y: x @ y.T, (WIDE, WIDE.copy()), (WIDE, Tensor.from_numpy(WIDE.asnumpy()[:]))
    ),
    "it raises an error": (lambda x, i: x[i], (X, LABELS // 2), (X, LABELS)),
}  # fmt: skip


@pytest.mark.parametrize("reason", EXCEPTIONS)
def test_plan_is_kept_where_another_step_needs_none(reason: str) -> None:
    function, usual, other = EXCEPTIONS[reason]
    f = ms.jit(function)
    for _ in range(2):
        calls(f, *usual)
        assert ms.graph_info(f).last == ("replayed", "")
        calls(f, *other, times=1)
        assert ms.graph_info(f).last[0] == "eager"
        assert reason in ms.graph_info(f).last[1]
    assert ms.graph_info(f).captured == 2


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * SCALE,
        lambda x: x.sum(int(SCALE) - 2),
        lambda x: x[:, int(SCALE) - 2 :] * 1,
        lambda x: ops.zeros((int(SCALE), 1)) + x[0],
        lambda x: [x, x + 1][int(SCALE) - 2],
    ],
)
def test_two_captures_that_differ_make_no_plan(
    function: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    f = ms.jit(function)
    calls(f, X, times=2)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    calls(f, X, times=1)
    assert ms.graph_info(f).last == ("captured", "two captures of it differ")


def test_unread_attributes_of_the_package_may_be_anything() -> None:
    normal = Normal(0.5)
    vars(normal)["note"] = object()
    f = ms.jit(lambda x: x * normal.sigma)
    assert calls(f, X) == [bits(X * 0.5)] * 5
    assert ms.graph_info(f).last == ("replayed", "")


# Evaluation and prediction.


@pytest.mark.parametrize("name", NETWORKS)
def test_evaluations_and_predictions_are_replayed(name: str) -> None:
    def results(mode: int) -> list[object]:
        ms.set_context(mode=mode)
        ms.set_seed(1)
        network = NETWORKS[name]()
        optimizer = nn.SGD(network.trainable_params(), 0.1)
        model = ms.Model(
            network, nn.CrossEntropyLoss(), optimizer, metrics={"loss": nn.Loss(), "acc": "acc"}
        )
        rng = np.random.default_rng(0)
        rows = rng.standard_normal((24, 4)).astype(np.float32)
        labels = rng.integers(0, 3, 24).astype(np.int32)
        data = ms.dataset.NumpySlicesDataset((rows, labels), shuffle=False).batch(4)
        found: list[object] = []
        for _ in range(2):
            found.append(model.eval(data))
            found.extend(bits(model.predict(Tensor(rows[i : i + 4]))) for i in range(6))
            model.train(1, data)
        if mode == ms.GRAPH_MODE:
            assert model.eval_network is not None
            for target in (model, model.eval_network, model.train_network):
                assert ms.graph_info(target).replayed >= 3, str(ms.graph_info(target))
        return found

    assert results(ms.GRAPH_MODE) == results(ms.PYNATIVE_MODE)


# Saved plans.


def test_saved_plan_lists_calls_and_lifetimes(tmp_path: Path) -> None:
    folder = tmp_path / "graphs"
    ms.set_context(save_graphs=True, save_graphs_path=str(folder))
    try:
        f = ms.jit(lambda x: ops.tanh(ops.tanh(x * 2) * 2))
        calls(f, X, times=2)
        assert not folder.exists()
        calls(f, X)
        ms.set_context(save_graphs=False)
        calls(f, Tensor([1.0]))
    finally:
        ms.set_context(save_graphs=False, save_graphs_path=".")
    (file,) = folder.iterdir()
    plan, table, lifetimes = file.read_text("utf-8").split("\n\n")
    assert "inputs (2, 3) float32; 4 calls" in plan
    names = [line.split()[1] for line in table.splitlines()[1:]]
    assert names == ["multiply", "tanh", "multiply", "tanh"]
    bars = [line.split("  ")[-1].count("█") for line in lifetimes.splitlines()[1:]]
    assert bars == [2, 2, 2, 1]


# Life of a plan.


def test_hook_without_code_of_its_own_is_called_in_each_step() -> None:
    net = nn.Dense(2, 1)
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
    seen: list[tuple[Tensor, ...]] = []
    step.register_gradient_hook(seen.append)
    ms.set_context(mode=ms.GRAPH_MODE)
    for _ in range(6):
        step(Tensor([[1.0, 2.0]]), Tensor([[3.0]]))
    assert len({gradients[0].asnumpy().tobytes() for gradients in seen}) == 6
    assert "is the function 'list.append', which is written in C" in str(ms.graph_info(step))


def test_copies_begin_without_plans() -> None:
    training = Training("user", "function", "SGD")
    assert training.run(["five steps"], ms.GRAPH_MODE).replayed == 2
    copied = copy.deepcopy(training.step)
    assert ms.graph_info(copied).replayed == 0
    x, labels = training.batch()
    ms.set_context(mode=ms.GRAPH_MODE)
    results = [[bits(step(x, labels)) for _ in range(5)] for step in (training.step, copied)]
    assert results[0] == results[1]


@pytest.mark.parametrize("replays", [400, pytest.param(20_000, marks=pytest.mark.slow)])
def test_replays_do_not_grow(replays: int) -> None:
    training = Training("batch norm and dropout", "cross entropy", "AdamW")
    x, labels = training.batch()
    ms.set_context(mode=ms.GRAPH_MODE)
    sizes: list[int] = []
    for count in (10, 100, replays):
        tracemalloc.start()
        for _ in range(count):
            training.step(x, labels)
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    assert ms.graph_info(training.step).replayed == replays + 107
    assert sizes[2] < 20_000


def test_plan_is_freed_with_its_cell() -> None:
    training = Training("user", "function", "SGD")
    training.run(["five steps"], ms.GRAPH_MODE)
    network = weakref.ref(training.network)
    del training
    gc.collect()
    assert network() is None


def test_two_threads_have_the_results_of_one() -> None:
    f = ms.jit(lambda x: ops.tanh(x) * 2)
    expected = bits(ops.tanh(X) * 2)
    results: list[object] = []

    def work() -> None:
        results.extend(bits(f(X)) for _ in range(200))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 800


def test_steps_run_eagerly_under_a_debugger() -> None:
    f = ms.jit(lambda x: x * 2)
    sys.settrace(lambda *_: None)
    try:
        f(X)
    finally:
        sys.settrace(None)
    assert ms.graph_info(f).last == ("eager", "a debugger or profiler is active")


def test_number_of_plans_is_limited() -> None:
    f = ms.jit(lambda x, factor: x * factor)
    for factor in range(cache.MAX_PLANS + 1):
        f(X, factor)
    assert ms.graph_info(f).last == ("eager", "there are 8 plans already")


def test_weights_with_new_memory_in_each_step_are_trained_eagerly() -> None:
    info = Training("user", "function", "SGD").run(["load", "step"] * 20, ms.GRAPH_MODE)
    assert info.eager > 0
    assert info.captured <= 2 * (cache.MAX_FAILURES + 1)


def test_fullgraph_raises_the_reason_after_the_call() -> None:
    called: list[int] = []

    @ms.jit(fullgraph=True)
    def f(x: Tensor) -> Tensor:
        called.append(1)
        return x

    f(X)
    with pytest.raises(
        RuntimeError, match="not captured: while it runs, an attribute or item of 'called'"
    ):
        f(X)
    assert len(called) == 2


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"capture_mode": "x"}, ValueError),
        ({"jit_level": "O9"}, ValueError),
        ({"dynamic": 3}, ValueError),
        ({"dynamic": "a"}, TypeError),
        ({"fullgraph": 1}, TypeError),
        ({"function": 3}, TypeError),
    ],
)
def test_jit_checks_its_options(options: dict[str, str], error: type[Exception]) -> None:
    with pytest.raises(error, match=f"'{next(iter(options))}'"):
        ms.jit(**({"function": identity} | options))  # type: ignore[call-overload]


def test_graph_info_names_what_it_expects() -> None:
    with pytest.raises(TypeError, match="must be a TrainOneStepCell"):
        ms.graph_info(X)


class Interrupt(BaseException):
    """Raised by a signal, at any time."""


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_interrupts_leave_nothing_behind(mode: int) -> None:
    """Ctrl-C at a random time ends a step; all later steps are as if there had been none."""
    armed = False

    def interrupt(*_: object) -> None:
        nonlocal armed
        if armed:
            armed = False
            raise Interrupt

    def step_cell() -> nn.TrainOneStepCell:
        network = nn.SequentialCell(*[nn.Dense(4, 4) for _ in range(3)])
        optimizer = nn.Adam(network.trainable_params())
        return nn.TrainOneStepCell(nn.WithLossCell(network, nn.CrossEntropyLoss()), optimizer)

    def is_left_behind(step: nn.TrainOneStepCell) -> list[object]:
        return [
            current_hooks.get(),
            is_recording(),
            in_record_block(),
            not gc.isenabled(),
            sys.getprofile(),
            cache._captures,
            step._captured_steps and vars(step._captured_steps)["_turns"],
            [p for p in step.get_parameters() if not is_ndarray(p._data)],
        ]

    rng, x, labels = np.random.default_rng(0), Tensor(np.ones((8, 4), np.float32)), Tensor([0] * 8)

    def run(step: nn.TrainOneStepCell) -> None:
        # A function, since Python 3.12 may end a loop of a `try` block outside of it.
        nonlocal armed
        armed = True
        signal.setitimer(signal.ITIMER_VIRTUAL, rng.uniform(1e-4, 8e-3))
        while mode == ms.PYNATIVE_MODE or ms.graph_info(step).replayed < 2:
            step(x, labels)
        armed = False

    handler = signal.signal(signal.SIGVTALRM, interrupt)
    interrupted = 0
    try:
        for _ in range(80):
            ms.set_context(mode=mode)
            step = step_cell()
            step(x, labels)
            try:
                run(step)
            except Interrupt:
                interrupted += 1
            assert not any(is_left_behind(step))
            ms.set_context(mode=ms.PYNATIVE_MODE)
            step(x, labels)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, handler)
    assert interrupted > 20


class _Written(nn.Cell):
    """A network that writes to what shares memory with its parameters and results."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.dense = nn.Dense(2, 2, "ones")
        self.norm = nn.BatchNorm1d(2)
        self.seen = Parameter(ops.zeros((2, 2)), requires_grad=False)
        self.row = self.seen[1]

    def construct(self, x: Tensor) -> Tensor:
        y = self.dense(x)
        if self.how == "batch norm":
            y = self.norm(y)
        elif self.how == "parameter":
            ops.assign_add(self.seen, ops.ones((2, 2)))
        elif self.how == "view":
            self.seen[1].add_(1.0)
        elif self.how == "result":
            y[0].fill_(2.0)
        elif self.how == "older view":
            self.row.add_(1.0)
        elif self.how == "input":
            x.add_(1.0)
        return y + self.seen.sum()


@pytest.mark.parametrize(
    "how", ["batch norm", "parameter", "view", "result", "older view", "input"]
)
def test_steps_that_write_leave_views_as_eager_steps_do(how: str) -> None:
    """Also views that are made after the capture."""

    def trace_in(mode: int) -> tuple[list[object], int]:
        ms.set_context(mode=mode)
        ms.set_seed(1)
        net = _Written(how).set_train()
        optimizer = nn.SGD(net.trainable_params(), 0.01)
        step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
        held, trace = [net.row], list[object]()
        if how == "batch norm":
            del net.row  # so that steps are replayed at first
            held.clear()
        for i in range(9):
            x = Tensor(np.arange(6, dtype=np.float32).reshape(3, 2) + i)
            trace += [step(x, Tensor(np.ones((3, 2), np.float32))).tolist(), x.tolist()]
            if i == 5:
                held += [net.norm.moving_mean[0:1], net.seen[0]]
            trace.append([tensor.tolist() for tensor in (*held, net.seen)])
        net.seen.fill_(8.0)
        net.norm.moving_mean.fill_(9.0)
        return [*trace, [tensor.tolist() for tensor in held]], ms.graph_info(step).replayed

    eager, _ = trace_in(ms.PYNATIVE_MODE)
    graph, replayed = trace_in(ms.GRAPH_MODE)
    assert graph == eager
    assert (replayed > 0) == (how == "batch norm")
