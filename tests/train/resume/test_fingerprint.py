"""The fingerprint of a run: each changed setting raises an error with its path."""

import copy
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import FunctionType

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import dataset
from minispore.dataset import transforms, vision
from minispore.train.protocol.dataset import DatasetLike
from minispore.train.resume.fingerprint import differences, fingerprint
from minispore.utils.checks import is_dict, is_list
from tests.train import scripts
from tests.train.scripts import Script, X, Y, loaded, pipeline, program


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


NAMES: dict[str, object] = {
    **vars(scripts),
    **{each.__name__: each for each in (edited, mapped, changed, filtered, batched, partial)},
    "dataset": dataset,
    "transforms": transforms,
    "vision": vision,
}
# For each change: the part of the script before and after, and a line of the error, where `...` is
# any text and `CODE` the check sum of a function's code.
CHANGES = Path(__file__).with_name("changes.txt").read_text("utf-8").splitlines()
PLACEHOLDERS = {
    "...": ".*",
    "CODE": "code #........ of Python [0-9.]+ when saved, .*, code #........ of Python .* now",
    "MAPPED": r"train_dataset\.1\.functions\[0\]",
}


def parse(change: str) -> tuple[Script, Script, str]:
    """Return the script before and after a change, and the pattern of the error's lines."""
    option, _, rest = change.partition(": ")
    sources, _, line = rest.partition("  # ")
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
    for each in lines:
        assert re.fullmatch(f"    {line}", each)


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
