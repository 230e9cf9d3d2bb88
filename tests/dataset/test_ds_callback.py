"""DSCallback: which events come in which order, told which rows; compared with MindSpore's."""

import ast
import re
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import dataset as ds
from minispore.dataset import Dataset, DSCallback, DSRunContext, NumpySlicesDataset


class Diary(DSCallback):
    """Write every event down, in the form `sb2,3,7`: a step begins in epoch 2 with row 3."""

    def __init__(self, step_size: int = 1, log: list[str] | None = None, name: str = "") -> None:
        super().__init__(step_size)
        self.log: list[str] = [] if log is None else log
        self.name = name

    def note(self, event: str, at: DSRunContext) -> None:
        where = f"{at.cur_epoch_num},{at.cur_step_num_in_epoch},{at.cur_step_num}"
        self.log.append(f"{self.name}{event}{where}")

    def ds_begin(self, ds_run_context: DSRunContext) -> None:
        self.note("begin", ds_run_context)

    def ds_epoch_begin(self, ds_run_context: DSRunContext) -> None:
        self.note("eb", ds_run_context)

    def ds_epoch_end(self, ds_run_context: DSRunContext) -> None:
        self.note("ee", ds_run_context)

    def ds_step_begin(self, ds_run_context: DSRunContext) -> None:
        self.note("sb", ds_run_context)

    def ds_step_end(self, ds_run_context: DSRunContext) -> None:
        self.note("se", ds_run_context)


def rows(count: int) -> Dataset:
    return NumpySlicesDataset({"x": np.arange(count)}, shuffle=False)


def same(x: object) -> object:
    return x


def told(data: Dataset, diary: Diary, epochs: int = 2) -> list[str]:
    iterator = data.create_tuple_iterator(num_epochs=epochs)
    for _ in range(epochs):
        for _ in iterator:
            pass
    return diary.log


# As MindSpore 2.10 told it; there, steps that several threads map may overlap.
RECORDED: dict[str, tuple[Callable[[Diary], Dataset], int, str]] = {
    "plain": (
        lambda diary: rows(4).map(same, callbacks=diary),
        1,
        (
            "begin0,0,0 eb1,0,0 sb1,1,1 sb1,2,2 se1,1,1 sb1,3,3 se1,2,2 se1,3,3 sb1,4,4 "
            "se1,4,4 ee1,4,4 eb2,0,4 sb2,1,5 sb2,2,6 sb2,3,7 sb2,4,8 se2,1,5 se2,2,6 se2,3,7 "
            "se2,4,8 ee2,4,8"
        ),
    ),
    "a step is two rows": (
        lambda diary: rows(5).map(same, callbacks=diary),
        2,
        (
            "begin0,0,0 eb1,0,0 sb1,1,1 se1,1,1 sb1,3,3 sb1,5,5 se1,3,3 se1,5,5 ee1,5,5 "
            "eb2,0,5 sb2,1,6 sb2,3,8 sb2,5,10 se2,1,6 se2,3,8 se2,5,10 ee2,5,10"
        ),
    ),
    "rows are batches": (
        lambda diary: rows(4).batch(2).map(same, callbacks=diary),
        1,
        (
            "begin0,0,0 eb1,0,0 sb1,1,1 sb1,2,2 se1,1,1 se1,2,2 ee1,2,2 eb2,0,2 sb2,1,3 "
            "sb2,2,4 se2,1,3 se2,2,4 ee2,2,4"
        ),
    ),
    "batched later": (
        lambda diary: rows(4).map(same, callbacks=diary).batch(2),
        2,
        (
            "begin0,0,0 eb1,0,0 sb1,1,1 sb1,3,3 se1,1,1 se1,3,3 ee1,4,4 eb2,0,4 sb2,1,5 "
            "se2,1,5 sb2,3,7 se2,3,7 ee2,4,8"
        ),
    ),
    "repeated later": (
        lambda diary: rows(3).map(same, callbacks=diary).repeat(2),
        1,
        (
            "begin0,0,0 eb1,0,0 sb1,1,1 sb1,2,2 se1,1,1 sb1,3,3 sb1,4,4 sb1,5,5 sb1,6,6 "
            "se1,2,2 se1,3,3 se1,4,4 se1,5,5 se1,6,6 ee1,6,6 eb2,0,6 sb2,1,7 sb2,2,8 sb2,3,9 "
            "se2,1,7 se2,2,8 sb2,4,10 sb2,5,11 se2,3,9 sb2,6,12 se2,4,10 se2,5,11 se2,6,12 "
            "ee2,6,12"
        ),
    ),
    "repeated before": (
        lambda diary: rows(3).repeat(2).map(same, callbacks=diary),
        1,
        (
            "begin0,0,0 eb1,0,0 sb1,1,1 sb1,2,2 se1,1,1 sb1,3,3 sb1,4,4 sb1,5,5 sb1,6,6 "
            "se1,2,2 se1,3,3 se1,4,4 se1,5,5 se1,6,6 ee1,6,6 eb2,0,6 sb2,1,7 sb2,2,8 se2,1,7 "
            "sb2,3,9 sb2,4,10 sb2,5,11 sb2,6,12 se2,2,8 se2,3,9 se2,4,10 se2,5,11 se2,6,12 "
            "ee2,6,12"
        ),
    ),
}


@pytest.mark.parametrize("case", RECORDED)
def test_mindspore_tells_the_same_with_steps_one_after_the_other(case: str) -> None:
    make, step_size, theirs = RECORDED[case]
    diary = Diary(step_size)
    ours = told(make(diary), diary)
    for kind in ("begin", "eb", "ee", "sb", "se"):
        events = [event for event in theirs.split() if event.startswith(kind)]
        assert [event for event in ours if event.startswith(kind)] == events
    for begun, ended in pairwise(ours):
        if begun.startswith("sb"):
            assert ended == begun.replace("sb", "se")


def sentence(count: int, step_size: int, epochs: int) -> list[str]:
    """What a callback is told of a `map` of `count` rows."""
    log = ["begin0,0,0"]
    for number in range(1, epochs + 1):
        before = (number - 1) * count
        log.append(f"eb{number},0,{before}")
        for row in range(1, count + 1, step_size):
            log += [f"{event}{number},{row},{before + row}" for event in ("sb", "se")]
        log.append(f"ee{number},{count},{before + count}")
    return log


@given(
    st.integers(1, 80),
    st.lists(st.integers(1, 90), min_size=1, max_size=3),
    st.integers(1, 3),
    st.sampled_from([1, 4, 50]),
)
def test_steps_of_any_size(count: int, sizes: list[int], epochs: int, batch: int) -> None:
    diaries = [Diary(size) for size in sizes]
    data = rows(count).map(same, callbacks=list(diaries)).batch(batch)
    told(data, diaries[0], epochs)
    for diary, size in zip(diaries, sizes, strict=True):
        assert diary.log == sentence(count, size, epochs)


@given(st.integers(2, 40), st.integers(1, 9), st.integers(1, 7))
def test_rows_are_mapped_inside_of_their_step(count: int, step_size: int, batch: int) -> None:
    diary = Diary(step_size)

    def note(x: np.generic) -> np.generic:
        diary.log.append(str(x))
        return x

    data = rows(count).map(note, callbacks=diary).batch(batch)
    got = [int(x) for (b,) in data.create_tuple_iterator(num_epochs=1) for x in b]
    assert got == list(range(count))
    expected: list[str] = []
    for first in range(0, count, step_size):
        expected += [f"sb1,{first + 1},{first + 1}"]
        expected += [str(row) for row in range(first, min(count, first + step_size))]
        expected += [f"se1,{first + 1},{first + 1}"]
    assert diary.log[2:-1] == expected


def test_a_step_begins_when_its_rows_are_wanted() -> None:
    diary = Diary(2)
    iterator = rows(6).map(same, callbacks=diary).create_tuple_iterator(num_epochs=1)
    assert diary.log == []
    next(iterator)
    next(iterator)
    assert diary.log[2:] == ["sb1,1,1", "se1,1,1"]
    next(iterator)
    assert diary.log[4:] == ["sb1,3,3", "se1,3,3"]


def test_what_is_not_wanted_is_not_mapped() -> None:
    diary = Diary()
    assert told(rows(6).map(same, callbacks=diary).take(2), diary, 1) == sentence(2, 1, 1)


def test_an_epoch_that_is_left_has_no_end() -> None:
    diary = Diary()
    iterator = rows(3).map(same, callbacks=diary).create_dict_iterator(num_epochs=1)
    next(iterator)
    del iterator
    assert diary.log == ["begin0,0,0", "eb1,0,0", "sb1,1,1", "se1,1,1"]


def test_callbacks_are_called_in_their_order_and_maps_in_theirs() -> None:
    log: list[str] = []
    a, b, c = (Diary(1, log, name) for name in "abc")
    told(rows(1).map(same, callbacks=[a, b]).map(same, callbacks=[c]), a, 1)
    begun = [event for event in log if "begin" in event or "eb" in event]
    assert [event[0] for event in begun] == ["a", "b", "a", "b", "c", "c"]
    steps = [event[:3] for event in log if event[1] == "s"]
    assert steps == ["asb", "bsb", "ase", "bse", "csb", "cse"]


def test_each_iterator_tells_its_own_story() -> None:
    diary = Diary()
    data = rows(2).map(same, callbacks=diary)
    told(data, diary, 1)
    told(data, diary, 1)
    assert diary.log == sentence(2, 1, 1) * 2


def test_asking_about_the_dataset_tells_nobody() -> None:
    diary = Diary()
    data = rows(4).map(same, callbacks=diary).filter(lambda x: x > 1).batch(2)
    assert (data.get_dataset_size(), data.output_shapes()) == (1, [[2]])
    assert diary.log == []


@pytest.mark.parametrize("taken", [0, 1, 3, 4, 5, 7])
def test_a_resumed_iterator_goes_on_counting(taken: int) -> None:
    straight, first, second = Diary(), Diary(), Diary()
    told(rows(4).map(same, callbacks=straight), straight, 3)
    data = rows(4).map(same, callbacks=first)
    iterator = data.create_tuple_iterator(num_epochs=3)
    for _ in range(taken):
        if next(iterator, None) is None:
            next(iterator)
    other = rows(4).map(same, callbacks=second).create_tuple_iterator(num_epochs=3)
    other.load_state_dict(iterator.state_dict())
    while True:
        try:
            for _ in other:
                pass
        except RuntimeError:
            break
    # The epoch that was interrupted is gone through again from its beginning.
    assert second.log[0] == ("begin0,0,4" if taken > 4 else "begin0,0,0")
    assert second.log[1:] == straight.log[-len(second.log) + 1 :]


def test_what_a_callback_raises_names_it() -> None:
    class Boom(DSCallback):
        def ds_step_end(self, ds_run_context: DSRunContext) -> None:
            raise KeyError("mine")

    with pytest.raises(RuntimeError, match=r"Boom\.ds_step_end.*KeyError: 'mine'"):
        next(rows(2).map(same, callbacks=Boom()).create_tuple_iterator(num_epochs=1))


@pytest.mark.parametrize("wrong", [3, [3], "a", [None], (Diary(),)])
def test_what_is_no_callback_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError, match=re.escape("'callbacks' must be a DSCallback")):
        rows(2).map(same, callbacks=wrong)  # type: ignore[arg-type]


def test_step_sizes() -> None:
    for wrong in (0, -1, 2**31):
        with pytest.raises(ValueError, match="For 'Diary', the argument 'step_size'"):
            Diary(wrong)
    for other in (1.5, "a", True, None):
        with pytest.raises(TypeError, match="'step_size'"):
            DSCallback(other)  # type: ignore[arg-type]
    assert DSCallback(7).step_size == 7


def test_a_misspelt_event_is_refused_with_the_nearest() -> None:
    with pytest.raises(TypeError, match="did you mean 'ds_step_begin'"):

        class Typo(DSCallback):  # pyright: ignore[reportUnusedClass]
            def ds_stepbegin(self, ds_run_context: DSRunContext) -> None: ...


def test_type_checkers_see_the_same_names() -> None:
    stub = ast.parse(Path(ds.__file__).with_suffix(".pyi").read_text("utf-8"))
    seen: dict[str, object] = {}
    for node in stub.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                home = import_module(str(node.module))
                seen[alias.asname or alias.name] = getattr(home, alias.name)
    assert seen == {name: getattr(ds, name) for name in ds.__all__}
    with pytest.raises(AttributeError, match="no attribute 'WaitedCallback'"):
        getattr(ds, "WaitedCallback")  # noqa: B009 (type checkers would see it)
