"""The fingerprint of a run: each changed setting raises an error with its path."""

import copy
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import cast

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Tensor, nn
from minispore.dataset import (
    NumpySlicesDataset,
    SequentialSampler,
    WeightedRandomSampler,
    transforms,
    vision,
)
from minispore.train.protocol.dataset import DatasetLike
from minispore.train.resume.fingerprint import differences, fingerprint
from tests.train.scripts import (
    Another,
    Foreign,
    Script,
    X,
    Y,
    adam,
    generated,
    groups,
    layers,
    loaded,
    pipeline,
    program,
    sgd,
)


def nets(*makes: Callable[[], object]) -> tuple[Script, Script]:
    before, after = (Script(net=make) for make in makes)
    return before, after


def losses(before: Callable[[], nn.Cell], after: Callable[[], nn.Cell]) -> tuple[Script, Script]:
    return Script(loss=before), Script(loss=after)


def optimizers(*makes: Callable[[nn.Cell], nn.Optimizer]) -> tuple[Script, Script]:
    before, after = (Script(optimizer=make) for make in makes)
    return before, after


def datas(*makes: Callable[[], DatasetLike]) -> tuple[Script, Script]:
    before, after = (Script(data=make) for make in makes)
    return before, after


def own(old: str, new: str) -> tuple[Script, Script]:
    return nets(program()["Own"], program(old, new)["Own"])


def mapped(old: str, new: str, name: str = "noise", **options: object) -> tuple[Script, Script]:
    """Return datasets that map a function before and after an edit of the program."""

    def script(names: dict[str, Callable[..., object]]) -> Callable[[], DatasetLike]:
        created = names[name](**options) if options else names[name]
        return lambda: pipeline([cast("Callable[..., object]", created)])

    return datas(script(program()), script(program(old, new)))


def functions(*created: Callable[..., object]) -> tuple[Script, Script]:
    before, after = (Script(data=partial(pipeline, [each])) for each in created)
    return before, after


def changed(position: tuple[int, int]) -> npt.NDArray[np.float32]:
    x = X.copy()
    x[position] += 0.5
    return x


def batched(function: Callable[..., object]) -> DatasetLike:
    return loaded(SequentialSampler()).batch(1, per_batch_map=function)


def filtered(function: Callable[..., object]) -> DatasetLike:
    return NumpySlicesDataset({"x": X, "y": Y}, shuffle=False).filter(function).batch(4)


def weighted(*weights: float) -> nn.Cell:
    return nn.CrossEntropyLoss(Tensor(np.array(weights, np.float32)))


def rates(*values: float) -> Callable[[nn.Cell], nn.Optimizer]:
    return sgd(learning_rate=list(values))


CODE = "code #........ of Python [0-9.]+"


def edited(name: str) -> str:
    return f"{name}, {CODE} when saved, {name}, {CODE} now"


ROW = r"train_dataset\.1\.rows\[0\]: float32 \(12, 4\), #\w+ when saved, .*"
MAPPED = r"train_dataset\.1\.functions\[0\]"
P, Q = program(), program("ops.relu", "ops.tanh")
# For each change the script before and after, and how each line of the error reads.
CHANGES: dict[str, tuple[tuple[Script, Script], str]] = {
    "a value": (datas(pipeline, lambda: pipeline(x=changed((11, 3)))), ROW),
    "reversed rows": (datas(pipeline, lambda: pipeline(x=X[::-1].copy())), ROW),
    "an own dataset": (
        datas(lambda: Foreign(X), lambda: Foreign(X[::-1].copy())),
        r"train_dataset\.x: float32 \(12, 4\), #\w+ when saved, .*",
    ),
    "an activation": (
        nets(lambda: layers(nn.ReLU()), lambda: layers(nn.Tanh())),
        r"network\.1: ReLU\(\) when saved, Tanh\(\) now",
    ),
    "an activation by name": (
        nets(
            lambda: nn.Dense(4, 3, activation="relu"),
            lambda: nn.Dense(4, 3, activation="sigmoid"),
        ),
        r"network\.activation: ReLU\(\) when saved, Sigmoid\(\) now",
    ),
    "a setting of a layer": (
        nets(lambda: layers(nn.Softmax(-1)), lambda: layers(nn.Softmax(0))),
        r"network\.1\.axis: -1 when saved, 0 now",
    ),
    "a dropout rate": (
        nets(lambda: layers(nn.Dropout(p=0.25)), lambda: layers(nn.Dropout(p=0.5))),
        r"network\.1\.(p: 0\.25|keep_prob: 0\.75) when saved, 0\.5 now",
    ),
    "another layer": (
        nets(layers, lambda: layers(nn.ReLU())), r"network\.1: nothing when saved, ReLU\(\) now"
    ),
    "construct": (own("ops.relu", "ops.tanh"), rf"Own\.construct: {edited('Own.construct')}"),
    "a method": (own("SCALE ** ", "SCALE * "), rf"Own\.factor: {edited('Own.factor')}"),
    "a constant": (own("SCALE = 2.0", "SCALE = 3.0"),
                   r"Own\.factor\.SCALE: 2\.0 when saved, 3\.0 now"),
    "an entry that is read": (
        own('"slope": 0.5', '"slope": 0.7'),
        r"Own\.construct\.CONFIG: \{'slope': 0\.5\} when saved, \{'slope': 0\.7\} now",
    ),
    "an attribute of a class": (own("power = 1", "power = 2"),
                                r"Own\.power: 1 when saved, 2 now"),
    "an attribute": (own("shift=0.0", "shift=1.0"), r"network\.shift: 0\.0 when saved, 1\.0 now"),
    "a cell in a list": (
        own("p=0.1", "p=0.5"),
        r"network\.layers\[0\]\.(p: 0\.1|keep_prob: 0\.9) when saved, 0\.5 now",
    ),
    "a loss": (
        losses(nn.CrossEntropyLoss, lambda: cast("nn.Cell", Another())),
        r"loss_fn: CrossEntropyLoss\(\) when saved, Another\(\) now|Another(\..*)?: nothing .*",
    ),
    "label_smoothing": (
        losses(nn.CrossEntropyLoss, lambda: nn.CrossEntropyLoss(label_smoothing=0.1)),
        r"loss_fn\.label_smoothing: 0\.0 when saved, 0\.1 now",
    ),
    "reduction": (
        losses(nn.CrossEntropyLoss, lambda: nn.CrossEntropyLoss(reduction="sum")),
        r"loss_fn\.reduction: mean when saved, sum now",
    ),
    "class weights": (
        losses(lambda: weighted(1, 1, 1), lambda: weighted(1, 1, 2)),
        r"loss_fn\.weight: float32 \[1\.0, 1\.0, 1\.0\] when saved, .* 2\.0\] now",
    ),
    "weight_decay": (optimizers(sgd(), sgd(weight_decay=0.01)),
                     r"optimizer\.(weight_decay: 0\.0|decay_flags: .*) when saved, .*"),
    "momentum": (optimizers(sgd(), sgd(momentum=0.5)),
                 r"optimizer\.momentum: 0\.9 when saved, 0\.5 now"),
    "nesterov": (optimizers(sgd(), sgd(nesterov=True)),
                 r"optimizer\.nesterov: False when saved, True now"),
    "loss_scale": (optimizers(sgd(), sgd(loss_scale=8.0)),
                   r"optimizer\.loss_scale: 1\.0 when saved, 8\.0 now"),
    "learning_rate": (optimizers(sgd(), sgd(learning_rate=0.05)),
                      r"optimizer\.learning_rate: 0\.1 when saved, 0\.05 now"),
    "a schedule": (
        optimizers(sgd(learning_rate=nn.ExponentialDecayLR(0.1, 0.9, 10)),
                   sgd(learning_rate=nn.InverseDecayLR(0.1, 0.9, 10))),
        r"optimizer\.learning_rate: ExponentialDecayLR\(\) when saved, InverseDecayLR\(\) now",
    ),
    "a setting of a schedule": (
        optimizers(sgd(learning_rate=nn.CosineDecayLR(0.01, 0.1, 10)),
                   sgd(learning_rate=nn.CosineDecayLR(0.01, 0.1, 20))),
        r"optimizer\.learning_rate\.decay_steps: 10 when saved, 20 now",
    ),
    "a short list of rates": (
        optimizers(rates(0.1, 0.2, 0.3), rates(0.1, 0.2, 0.25)),
        r"optimizer\.learning_rate: float32 \[.*0\.3.*\] when saved, float32 \[.*0\.25\] now",
    ),
    "a long list of rates": (
        optimizers(rates(*[0.1] * 5000), rates(*[0.1] * 4321, 0.2, *[0.1] * 678)),
        r"optimizer\.learning_rate: float32 \(5000,\), #\w+ when saved, .*",
    ),
    "a group's rate": (optimizers(groups(0.1, 0.2, 0), groups(0.3, 0.2, 0)),
                       r"optimizer\.learning_rate: \[.*\] when saved, \[.*\] now"),
    "a group's decay": (optimizers(groups(0.1, 0.2, 0), groups(0.1, 0.3, 0)),
                        r"optimizer\.weight_decay: \[0\.0, 0\.2\] when saved, \[0\.0, 0\.3\] now"),
    "a parameter in another group": (
        optimizers(groups(0.2, 0.2, 0), groups(0.2, 0.2, 1)),
        r"optimizer\.(learning_rate|weight_decay|decay_flags): .*",
    ),
    "beta1": (optimizers(adam(), adam(beta1=0.5)),
              r"optimizer\.beta1: 0\.\d+ when saved, 0\.5 now"),
    "Rescale": (functions(vision.Rescale(0.5, 0.0), vision.Rescale(0.25, 0.0)),
                rf"{MAPPED}\.rescale: 0\.5 when saved, 0\.25 now"),
    "another transform": (
        functions(vision.Rescale(0.5, 0.0), transforms.TypeCast(np.float32)),
        rf"{MAPPED}: Rescale\(\) when saved, TypeCast\(\) now",
    ),
    "the map function": (mapped("x) * np", "x) + np"), rf"{MAPPED}: {edited('noise')}"),
    "a lambda": (functions(lambda x: x + np.float32(1), lambda x: x - np.float32(1)),
                 rf"{MAPPED}: {edited('<lambda>')}"),
    "a default": (mapped("times=0.5", "times=0.6"),
                  rf"{MAPPED}\.times: 0\.5 when saved, 0\.6 now"),
    "a function that it calls": (mapped("return x +", "return x -"),
                                 rf"{MAPPED}\.helper: {edited('helper')}"),
    "an array that it reads": (mapped("np.arange(1000.0)", "np.arange(1.0, 1001.0)"),
                               rf"{MAPPED}\.helper\.TABLE: float64 \(1000,\), #\w+ when saved, .*"),
    "a closure": (
        functions(cast("Callable[..., object]", P["outer"](1)),
                  cast("Callable[..., object]", P["outer"](2))),
        rf"{MAPPED}\.by: 1 when saved, 2 now",
    ),
    "an object": (
        functions(cast("Callable[..., object]", P["Add"](1)),
                  cast("Callable[..., object]", P["Add"](2))),
        rf"{MAPPED}\.by: 1 when saved, 2 now",
    ),
    "an object's code": (mapped("x + np.float32(self", "x - np.float32(self", "Add", by=1),
                         rf"Add\.__call__: {edited('Add.__call__')}"),
    "a method of an object": (
        functions(P["Add"](1).apply, P["Add"](2).apply),  # type: ignore[attr-defined]
        rf"{MAPPED}\.self\.by: 1 when saved, 2 now",
    ),
    "a partial": (functions(partial(P["noise"], times=0.5), partial(P["noise"], times=0.6)),
                  rf"{MAPPED}\.keywords: \{{'times': 0\.5\}} when saved, .*"),
    "a function of numpy": (functions(np.sin, np.cos), rf"{MAPPED}: sin when saved, cos now"),
    "a filter": (
        datas(lambda: filtered(lambda x, y: y > -1),
              lambda: filtered(lambda x, y: y > -2)),
        rf"train_dataset\.1\.predicate: {edited('<lambda>')}",
    ),
    "a batch function": (
        datas(lambda: batched(lambda x, y, i: (x[0], y[0])),
              lambda: batched(lambda x, y, i: (-x[0], y[0]))),
        rf"train_dataset\.0\.per_batch\.function: {edited('<lambda>')}",
    ),
    "a generator's code": (
        datas(lambda: generated(P["rows"]),
              lambda: generated(program("yield from ROWS", "yield from ROWS[::-1]")["rows"])),
        rf"train_dataset\.1\.start: {edited('rows')}",
    ),
    "a generator's data": (
        datas(lambda: generated(P["rows"]),
              lambda: generated(program("np.full(4, i", "np.full(4, i % 11")["rows"])),
        r"train_dataset\.1\.start\.ROWS: list of 12, #\w+ when saved, list of 12, #\w+ now",
    ),
    "a list of rows": (
        datas(lambda: generated(list(zip(X, Y, strict=True))),
              lambda: generated(list(zip(changed((5, 0)), Y, strict=True)))),
        r"train_dataset\.1\.source: list of 12, #\w+ when saved, list of 12, #\w+ now",
    ),
    "an own source": (
        datas(lambda: generated(P["Source"](0)), lambda: generated(P["Source"](1))),
        r"train_dataset\.1\.source\.first: 0 when saved, 1 now",
    ),
    "an own sampler": (
        datas(lambda: loaded(P["Backwards"](1)),
              lambda: loaded(program("range(11", "range(*[11]")["Backwards"](1))),
        rf"Backwards\.__iter__: {edited('Backwards.__iter__')}",
    ),
    "a sampler's setting": (
        datas(lambda: loaded(WeightedRandomSampler([1.0, 2.0] * 6)),
              lambda: loaded(WeightedRandomSampler([1.0, 3.0] * 6))),
        r"train_dataset\.1: StoreNode\(.*\) when saved, StoreNode\(.*\) now",
    ),
    "shuffling": (
        datas(lambda: pipeline().shuffle(2), lambda: pipeline().shuffle(3)),
        r"train_dataset\.0: Shuffle\(buffer_size=2\) when saved, Shuffle\(buffer_size=3\) now",
    ),
    "the seed": ((Script(), Script(seed=2)), r"seed: 1 when saved, 2 now"),
    "the datasets' seed": ((Script(dataset_seed=1), Script(dataset_seed=2)),
                           r"dataset_seed: 1 when saved, 2 now"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_changed_setting_raises_with_path(tmp_path: Path, name: str) -> None:
    (before, after), line = CHANGES[name]
    file = before.run(tmp_path / "a")
    with pytest.raises(ValueError, match="^The training state in") as raised:
        after.run(tmp_path / "b", file)
    first, *lines, last = str(raised.value).splitlines()
    assert first == (
        f"The training state in '{file}' is not one of this training: these settings differ:"
    )
    assert last == "With 'resume_strict=False' this is only a warning."
    assert lines
    for each in lines:
        assert re.fullmatch(f"    ({line})", each)
    before.run(tmp_path / "c", file)  # as it was: without a warning


def test_changed_setting_warns_without_resume_strict(tmp_path: Path) -> None:
    (before, after), _ = CHANGES["a dropout rate"]
    file = before.run(tmp_path / "a")
    with pytest.warns(UserWarning, match="The training is resumed from") as warned:
        resumed = after.run(tmp_path / "b", file, epochs=2, strict=False)
    (warning,) = warned
    assert str(warning.message) == (
        f"The training is resumed from '{file}', but these settings differ:\n"
        "    network.1.p: 0.25 when saved, 0.5 now\n"
        "    network.1.keep_prob: 0.75 when saved, 0.5 now."
    )
    assert warning.filename.endswith("scripts.py")
    # It has gone on with the change, which is what is saved from there on.
    after.run(tmp_path / "c", resumed.with_name("m-2_1.ckpt"), epochs=2)


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
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return "dict", sorted((key, repr(canonical(item))) for key, item in items)
    if isinstance(value, list):
        return "list", [canonical(item) for item in cast("list[object]", value)]
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
    (one, other) = (fingerprint(value=each) for each in functions)
    assert one == other != fingerprint(value=contains)


@given(st.integers(), st.integers())
@example(1, 2)
def test_what_a_function_reads_is_compared(one: int, other: int) -> None:
    def with_keyword(value: int) -> Callable[[], int]:
        def read(*, keyword: int = value) -> int:
            return keyword

        return read

    def with_default(value: int) -> Callable[[], int]:
        def read(default: int = value) -> int:
            return default

        return read

    def with_closure(value: int) -> Callable[[], int]:
        def read() -> int:
            return value

        return read

    for make in (with_keyword, with_default, with_closure):
        prints = [fingerprint(value=make(value)) for value in (one, other)]
        assert (prints[0] == prints[1]) == (one == other)


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
    assert fingerprint(value=Restored(one)) == fingerprint(value=Restored(other))
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
