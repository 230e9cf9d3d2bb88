"""The fingerprint of a run: each changed setting raises an error with its path."""

import copy
import io
import mmap
import os
import re
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from itertools import pairwise
from pathlib import Path
from queue import SimpleQueue
from types import FunctionType, ModuleType
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Parameter, Tensor, dataset, float16, nn, ops
from minispore.dataset import transforms, vision
from minispore.train import DynamicLossScaleManager, FixedLossScaleManager
from minispore.train.protocol.dataset import DatasetLike
from minispore.train.resume.fingerprint import differences, fingerprint
from minispore.utils.checks import is_dict, is_list
from tests.helpers import optimizer_cases
from tests.helpers.processes import run_python
from tests.helpers.public_calls import calls
from tests.nn.test_invalid_inputs import LAYERS, LOSSES
from tests.train import scripts
from tests.train.resume import settings_grid
from tests.train.scripts import Script, X, Y, layers, loaded, pipeline, program


def edited(name: str, old: str = "", new: str = "") -> Callable[..., object]:
    """Return what the program defines, after an edit."""
    return program(old, new)[name]


def mapped(function: Callable[..., object]) -> DatasetLike:
    return pipeline([function])


def changed(position: tuple[int, int]) -> npt.NDArray[np.float32]:
    x = X.copy()
    x[position] += 0.5
    return x


def filtered(function: Callable[..., object]) -> DatasetLike:
    return dataset.NumpySlicesDataset({"x": X, "y": Y}, shuffle=False).filter(function).batch(4)


def batched(function: Callable[..., object]) -> DatasetLike:
    return loaded(dataset.SequentialSampler()).batch(1, per_batch_map=function)


def hooked(cell: nn.Cell) -> nn.Cell:
    cell.register_forward_hook(lambda cell, inputs, output: None)
    return cell


NAMES: dict[str, object] = {
    "np": np,
    **vars(scripts),
    **{f.__name__: f for f in (edited, mapped, changed, filtered, batched, partial)},
    "dynamic": DynamicLossScaleManager,
    "fixed": FixedLossScaleManager,
    "float16": float16,
    "hooked": hooked,
    "dataset": dataset,
    "transforms": transforms,
    "vision": vision,
}
# For each change: the part of the script before and after, and a line of the error, where `...` is
# any text and `CODE` the checksum of a function's code.
CHANGES = Path(__file__).with_name("changes.txt").read_text("utf-8").splitlines()
PLACEHOLDERS = {
    "...": ".*",
    "CODE": "code #........ of Python [0-9.]+ when saved, .*, code #........ of Python .* now",
    "MAPPED": r"train_dataset\.1\.functions\[0\]",
}


# Of the pairs of settings, how many are left out for one that is tried in a place.
STEP = 8
# The parameters of cells that are trained.
RESTORED_PLACES = {
    *("attribute of a layer", "attribute of an inner layer", "flag of a cell"),
    *("attribute of an optimizer", "private attribute that the class has too"),
}


def parse(change: str) -> tuple[Script, Script, str]:
    """Return the script before and after a change, and the pattern of the error's lines."""
    option, _, sources_and_line = change.partition(": ")
    sources, _, line = sources_and_line.partition("  # ")
    make = "lambda: " if option in {"data", "net", "loss"} else ""
    before, after = (
        Script(**{option: eval(make + source, NAMES)}) for source in sources.split(" | ")
    )
    pattern = re.escape(line)
    for name, meaning in PLACEHOLDERS.items():
        pattern = pattern.replace(re.escape(name), meaning)
    return before, after, pattern


@pytest.mark.parametrize("change", CHANGES)
def test_changed_setting_raises_with_path(tmp_path: Path, change: str) -> None:
    before, after, line = parse(change)
    file = before.run(tmp_path / "a")
    with pytest.raises(ValueError, match="^The training state in") as raised:
        after.run(tmp_path / "b", file)
    first, *lines = str(raised.value).removesuffix(".").splitlines()
    assert first == (
        f"The training state in '{file}' is not one of this training: these settings differ:"
    )
    assert raised.value.__notes__ == ["With 'resume_strict=False' this is only a warning."]
    assert lines
    for message in lines:
        assert re.fullmatch(f"    {line}", message)


def test_changed_setting_warns_without_resume_strict(tmp_path: Path) -> None:
    file = Script(seed=1).run(tmp_path / "a")
    with pytest.warns(UserWarning, match="The training is resumed from") as warned:
        resumed = Script(seed=2).run(tmp_path / "b", file, epochs=2, strict=False)
    (warning,) = warned
    assert str(warning.message) == (
        f"The training is resumed from '{file}', but these settings differ:\n"
        "    seed: 1 when saved, 2 now."
    )
    assert warning.filename.endswith("scripts.py")
    # It has gone on with the change, which is what is saved from there on.
    Script(seed=2).run(tmp_path / "c", resumed.with_name("m-2_1.ckpt"), epochs=2)


# A text of digits is described like the number.
letters = st.text("abc", max_size=9)
numbers = st.integers() | st.floats() | st.booleans() | st.none()
plain = st.recursive(
    numbers | letters | letters.map(lambda text: 250 * "x" + text),
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.dictionaries(letters, inner, max_size=6)
        | st.sets(numbers | letters, max_size=6)
    ),
    max_leaves=6,
)


def canonical(value: object) -> object:
    """Return the same for values that differ in the order of sets and dicts only."""
    if isinstance(value, set):
        return "set", sorted(map(repr, value))
    if is_dict(value):
        return "dict", sorted((str(key), repr(canonical(item))) for key, item in value.items())
    if is_list(value):
        return "list", [canonical(item) for item in value]
    return repr(value)


@given(plain, plain)
@example(250 * "x" + "a", 250 * "x" + "b")
@example({1}, {2})
@example([1.0], [1])
@example([1, 2, 3, 4, 5], [1, 2, 3, 5, 4])
def test_values_with_equal_fingerprints_are_equal(one: object, other: object) -> None:
    assert fingerprint(value=copy.deepcopy(one)) == fingerprint(value=one)
    if fingerprint(value=one) == fingerprint(value=other):
        assert canonical(one) == canonical(other)


@given(st.sets(st.integers(0, 99).map(lambda i: 8 * i), min_size=2))
@example({0, 8})
def test_order_of_sets_is_not_compared(numbers: set[int]) -> None:
    """That of an attribute, and of a constant in the code of a function."""

    def contains(x: int) -> bool:
        return x in {1, 2}

    orders = [frozenset(sorted(numbers)), frozenset(sorted(numbers, reverse=True))]
    assert fingerprint(value=orders[0]) == fingerprint(value=orders[1])
    code = contains.__code__
    functions = [
        FunctionType(code.replace(co_consts=(None, order)), {"__name__": __name__})
        for order in orders
    ]
    (one, other) = (fingerprint(value=function) for function in functions)
    assert one == other != fingerprint(value=contains)


class Restored:
    """An object whose attributes a resume restores."""

    def __init__(self, value: object) -> None:
        self.value = value

    def state_dict(self) -> dict[str, object]:
        return {"value": self.value}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        self.value = state["value"]


@given(plain, plain)
@example(1, 2)
def test_restored_attributes_and_objects_in_arrays_are_not_compared(
    one: object, other: object
) -> None:
    assert fingerprint(train_dataset=Restored(one)) == fingerprint(train_dataset=Restored(other))
    arrays = [np.full(9, None, object) for _ in "ab"]
    arrays[0][0], arrays[1][0] = object(), object()
    assert fingerprint(value=arrays[0]) == fingerprint(value=arrays[1])


paths = st.dictionaries(
    st.sampled_from(["a", "a.b", "a[0]", "a[0].c", "ab", "b"]), st.sampled_from("xy")
)


@given(paths, paths)
@example({"a": "x", "ab": "x"}, {"a": "y", "ab": "y"})
def test_differences_list_each_changed_path_but_parts_of_others(
    saved: dict[str, str], now: dict[str, str]
) -> None:
    lines = differences(saved, now)
    changed = [path for path in {**saved, **now} if saved.get(path) != now.get(path)]
    actual = [line.partition(": ")[0] for line in lines]
    assert lines == [
        f"{path}: {saved.get(path, 'nothing')} when saved, {now.get(path, 'nothing')} now"
        for path in actual
    ]
    assert {*actual} <= {*changed}
    for path in changed:
        inside = any(path.startswith((f"{other}.", f"{other}[")) for other in actual)
        assert path in actual or inside


@pytest.mark.parametrize("place", settings_grid.PLACES)
def test_setting_in_any_place_is_compared(place: str, pytestconfig: pytest.Config) -> None:
    """Equal programs have equal fingerprints; others differ, unless a resume restores the value."""
    step = 1 if pytestconfig.getoption("full") else STEP
    for before, after in settings_grid.pairs(place, step):
        saved, again, now = (settings_grid.described(place, x) for x in (before, before, after))
        assert differences(saved, again) == []
        restored = place in RESTORED_PLACES and before.startswith("ms.Parameter")
        assert bool(differences(saved, now)) is not restored, (before, after)


@pytest.mark.full
def test_programs_have_the_same_fingerprints_in_other_processes() -> None:
    file = settings_grid.__file__
    outputs = [
        run_python(file, STEP, environment={"PYTHONHASHSEED": seed}).stdout for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0].count("\n") > 6 * len(settings_grid.PLACES)


# Changes of a program that do not count, with the reason.
ACCEPTED = [
    ("K = 1\ndef root(x): return x.K", "K = 1", "K = 2", "a name of an attribute is no variable"),
    ("K = 1\ndef root(x): return x['K']", "K = 1", "K = 2", "nor is a text"),
    ("K = 1\ndef root(x):\n    K = 3\n    return K", "K = 1", "K = 2", "nor a local variable"),
    ("K = 1\ndef root(K): return K", "K = 1", "K = 2", "nor an argument"),
    ("K = {'k': 1, 'e': 1}\ndef root(x): return x * K['k']", "'e': 1", "'e': 2", "no other entry"),
    ("K = Box(1)\nK.e = 1\ndef root(x): return x * K.item", "e = 1", "e = 2", "no other attribute"),
    ("def root(x): return x", "return x", "return x  # same", "a comment is no code"),
    ("def root(x): return x", "def root", "\ndef root", "nor is the line"),
    ("class O:\n    def __init__(self): self.k = 1\nroot = O()", "= 1", "= 2 - 1", "the result"),
    ("root = list(range(5000))", "5000))", "5000))\nroot[1] = 0", "one item of a long list"),
    ("root = np.zeros((9999, 99))", "99))", "99))\nroot[1] = 1", "one row of a large array"),
    ("root = np.random.default_rng()", "()", "(None)", "without a seed, each run differs"),
    ("root = np.random.RandomState()", "()", "(None)", "likewise"),
    ("np.random.seed(1)\nroot = np.random.normal", "(1)", "(2)", "a resume restores its state"),
    ("import random\nrandom.seed(1)\nroot = random.gauss", "(1)", "(2)", "likewise"),
    ("import logging\nroot = logging.getLogger('a')", "('a')", "('a')\nroot.setLevel(9)", "a log"),
    ("root = open('/dev/null', 'w', encoding='utf-8')", "'w'", "'a'", "what a run writes"),
    ("import os\nroot = os.environ", "root", "os.environ['K'] = '1'\nroot", "the environment"),
    ("import threading\nroot = threading.Lock()", "()", "()\nroot.acquire()", "a lock"),
    ("K = 1\ndef root(x): return globals()['K']", "K = 1", "K = 2", "a name that is computed"),
    ("nn.ReLU.k = 1\nroot = nn.ReLU()", "= 1", "= 2", "a number in a class of a library"),
    ("ops.K = 1\nroot = ops.relu", "= 1", "= 2", "or in its modules"),
    ("root = nn.ReLU().set_train(False)", "False", "True", "a run sets the mode of its cells"),
    ("root = nn.ReLU()\nroot.phase = 'a'", "'a'", "'b'", "likewise"),
    ("root = nn.Dense(2, 1)", "(2, 1)", "(2, 1, 'ones')", "a resume restores parameters"),
    ("net = nn.Dense(2, 1)\nroot = nn.SGD(net.trainable_params(), 0.1)", "0.1)",
     "0.1)\nroot.learning_rate.set_data(2)", "likewise"),
]  # fmt: skip


@pytest.mark.parametrize(("program", "old", "new", "reason"), ACCEPTED)
def test_change_is_not_compared_for_a_reason(program: str, old: str, new: str, reason: str) -> None:
    assert old in program, reason
    prints: list[dict[str, str]] = []
    try:
        for source in (program, program.replace(old, new, 1)):
            names = dict(settings_grid.NAMES)
            exec(source, names)
            prints.append(fingerprint(root=names["root"]))
            if isinstance(names["root"], io.IOBase):
                names["root"].close()
    finally:
        for owner in (nn.ReLU, ops):
            for name in ("k", "K"):
                if name in vars(owner):
                    delattr(owner, name)
        os.environ.pop("K", None)
    assert differences(*prints) == []


def generator() -> Iterator[int]:
    yield 1


class Queue(deque[int]):
    """A subclass of a class whose items are stored in C."""

    def __hash__(self) -> int:  # type: ignore[override]
        return 1


HIDDEN: dict[str, Callable[[], object]] = {
    "a generator": generator,
    "a Match": lambda: re.match("a", "a"),
    "a ContextVar": lambda: ContextVar("value"),
    "a _local": threading.local,
    "a SimpleQueue": SimpleQueue,
    "a mmap": lambda: mmap.mmap(-1, 1),
    "an ufunc": lambda: np.frompyfunc(lambda x: x, 1, 1),
    "a Queue": Queue,
}


@pytest.mark.parametrize("kind", HIDDEN)
@pytest.mark.parametrize("place", ["attribute", "long list", "dict", "set"])
def test_hidden_state_is_refused_by_name(tmp_path: Path, kind: str, place: str) -> None:
    """Unless `resume_strict` is False."""
    value = HIDDEN[kind]()
    inside: dict[str, tuple[object, str]] = {
        "attribute": (value, ""),
        "long list": ([0, 1, 2, 3, 4, value], "[5]"),
        "dict": ({"k": value}, "['k']"),
        "set": ({value}, "[…]"),
    }
    item, suffix = inside[place]

    def net() -> nn.Cell:
        cell = nn.ReLU()
        cell.hidden = item
        return layers(cell)

    script = Script(net=net)
    file = script.run(tmp_path / "a")
    message = (
        "is not one of this training: these settings differ or cannot be compared:\n"
        f"    network.1.hidden{suffix} is {kind}, whose state cannot be compared."
    )
    with pytest.raises(ValueError, match="^The training state") as raised:
        script.run(tmp_path / "b", file)
    assert str(raised.value) == f"The training state in '{file}' {message}"
    assert raised.value.__notes__ == ["With 'resume_strict=False' this is only a warning."]
    with pytest.warns(UserWarning, match="cannot be compared"):
        script.run(tmp_path / "c", file, strict=False)


@pytest.mark.filterwarnings("ignore:.*They are broadcast")
@pytest.mark.parametrize("name", [*LAYERS, *LOSSES])
def test_calls_of_layers_and_losses_do_not_change_what_is_compared(name: str) -> None:
    cell = {**LAYERS, **LOSSES}[name]
    before = fingerprint(root=cell)
    cell.set_train()
    called = 0
    for shape in ((2, 2), (2, 3), (2, 3, 4), (2, 3, 4, 4)):
        half = Tensor(np.full(shape, 0.5, np.float32))
        for arguments in ((half,), (half, half), (half, Tensor([0, 1])), (Tensor([0, 1]),)):
            with suppress(TypeError, ValueError, RuntimeError, IndexError):
                cell(*arguments)
                called += 1
    assert called
    assert differences(before, fingerprint(root=cell)) == []


@optimizer_cases.each_optimizer
def test_steps_of_optimizers_do_not_change_what_is_compared(which: int) -> None:
    optimizer = optimizer_cases.optimizers(optimizer_cases.two())[which]
    before = fingerprint(root=optimizer)
    for i in range(3):
        optimizer(optimizer_cases.gradients(i))
    assert differences(before, fingerprint(root=optimizer)) == []


def test_state_that_a_resume_restores_is_that_of_the_pipelines_own_objects() -> None:
    """An object in another one has a state of its own that nobody restores."""

    class Outer:
        def __init__(self, value: int) -> None:
            self.inner = Restored(value)

        def __call__(self, x: object) -> object:
            return x

    class Own(Restored):
        def __call__(self, x: object) -> object:
            return x

    data = [mapped(Own(value)) for value in (1, 2)]
    assert differences(*(fingerprint(data=rows) for rows in data)) == []
    data = [mapped(Outer(value)) for value in (1, 2)]
    path = "data.1.functions[0].inner.value"
    assert differences(*(fingerprint(data=rows) for rows in data)) == [
        f"{path}: 1 when saved, 2 now"
    ]


def test_packages_are_described_like_programs(tmp_path: Path) -> None:
    """Also in `site-packages`, and with the name of a module of Python."""
    source = (
        "K = {}\ndef scaled(x): return x * K\nclass Net:\n    def __call__(self, x): return K\n"
    )
    for name in ("mynets", "profile"):
        module = ModuleType(name)
        module.__file__ = str(tmp_path / "lib/python3.11/site-packages" / name / "__init__.py")
        with patch.dict(sys.modules, {name: module}):
            prints: list[dict[str, str]] = []
            for number in (1, 2):
                exec(compile(source.format(number), module.__file__, "exec"), vars(module))
                prints.append(fingerprint(f=vars(module)["scaled"], net=vars(module)["Net"]()))
        assert differences(*prints) == [
            "f.K: 1 when saved, 2 now",
            "Net.__call__.K: 1 when saved, 2 now",
        ]


# Arguments that set the initial values of parameters, which a resume restores.
INITIAL = {
    *("embedding_table", "w", "weight_init", "bias_init", "gamma_init", "beta_init"),
    *("moving_mean_init", "moving_var_init"),
}


def test_each_numeric_argument_of_cells_is_compared() -> None:
    """Of layers, losses, optimizers and schedules, but what is restored or without effect."""
    lines = (Path(__file__).parents[2] / "nn" / "numbers.txt").read_text("utf-8").splitlines()
    accepted = {name: numbers for name, _, numbers in (line.partition(": ") for line in lines)}
    changes = 0
    for name, _, good, make in calls("nn"):
        for argument in good.keys() - INITIAL:
            numbers = accepted.get(f"{name}.{argument}", "").replace("any", "-1.5 2").split()
            values = [float(number) if "." in number else int(number) for number in numbers[:4]]
            with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
                made = [make(**(good | {argument: value})) for value in [good[argument], *values]]
            without_effect = {"DistributedGradReducer", "get_activation"}
            if not isinstance(made[0], nn.Cell) or name in without_effect:
                continue
            prints = [fingerprint(root=cell) for cell in made]
            for (one, saved), (other, now) in pairwise(
                zip([good[argument], *values], prints, strict=True)
            ):
                if one != other:
                    changes += 1
                    assert differences(saved, now), (name, argument, one, other)
    assert changes > 250


# Arguments of transforms, and others for them.
TRANSFORMS = Path(__file__).with_name("transforms.txt").read_text("utf-8").splitlines()
POSITIONS: list[Callable[[Callable[..., object]], object]] = [
    mapped,
    lambda f: mapped(transforms.Compose([vision.HWC2CHW(), f])),
    lambda f: mapped(transforms.RandomApply([f], 0.5)),
    lambda f: mapped(transforms.RandomChoice([f, vision.HWC2CHW()])),
    lambda f: mapped(lambda x: f(x)),
    lambda f: mapped(partial(f)),
    lambda f: batched(lambda x, y, info: (f(x), y)),
]


@pytest.mark.parametrize("position", POSITIONS)
def test_each_argument_of_transforms_is_compared(
    position: Callable[[Callable[..., object]], object],
) -> None:
    changes = 0
    for row in TRANSFORMS:
        call, _, others = row.partition(": ")
        name = call.partition("(")[0]
        calls = [call, call, *(f"{name}({arguments})" for arguments in others.split(" | "))]
        saved, again, *changed = (fingerprint(data=position(eval(text, NAMES))) for text in calls)
        assert saved == again
        for now in changed:
            changes += 1
            assert differences(saved, now), call
    assert changes == 40


def test_what_a_step_makes_when_it_is_used_is_no_setting() -> None:
    """Earlier versions have made and compared it: their files are resumed."""
    net = nn.Dense(1, 1)
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1))
    before = fingerprint(train_network=step)
    assert step.grad.get_by_list
    assert fingerprint(train_network=step) == before
    earlier = before | {"train_network.grad": "GradOperation()", "train_network.grad.all": "0"}
    assert differences(earlier, before) == []
    assert differences(before | {"train_network.grad_reducer": "a"}, before) != []


def test_modules_of_earlier_versions_are_no_difference() -> None:
    now = fingerprint(kinds=[Tensor, Parameter])
    kinds = [f"minispore.common.{name}" for name in ("tensor.Tensor", "parameter.Parameter")]
    earlier = now | {f"kinds[{i}]": kind for i, kind in enumerate(kinds)}
    assert earlier != now
    assert differences(earlier, now) == []
    assert differences(now | {"kinds[0]": "minispore.common.parameter.Parameter"}, now) != []


def test_what_one_iterator_has_is_no_setting() -> None:
    """Earlier versions have compared it in data sets that are zipped or joined."""
    joined = dataset.NumpySlicesDataset([1.0]).map(abs) + dataset.NumpySlicesDataset([2.0])
    now = fingerprint(train_dataset=joined)
    part = "train_dataset.0.children[0]"
    assert now[f"{part}.callbacks"] == "()"
    earlier = now | {f"{part}.driver": "None", f"{part}.child.pool": "None"}
    assert differences(earlier, now) == []
    assert differences(now | {f"{part}.functions": "others"}, now) != []
