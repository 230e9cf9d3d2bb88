"""DSCallback: the order and the rows of its events, compared with MindSpore's."""

from collections.abc import Callable
from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.dataset import Dataset, DSCallback, DSRunContext, NumpySlicesDataset


class EventLog(DSCallback):
    """Record every event, in the form `sb2,3,7`: a step begins in epoch 2 with row 3."""

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


def run_epochs(data: Dataset, recorder: EventLog, epochs: int = 2) -> list[str]:
    """Iterate over the dataset, and return the recorded events."""
    iterator = data.create_tuple_iterator(num_epochs=epochs)
    for _ in range(epochs):
        for _ in iterator:
            pass
    return recorder.log


# Recorded with MindSpore 2.10, in which steps that several threads map may overlap.
RECORDED: dict[str, tuple[Callable[[EventLog], Dataset], int, str]] = {
    "plain": (
        lambda recorder: rows(4).map(same, callbacks=recorder),
        1,
        (
            "begin0,0,0 eb1,0,0 sb1,1,1 sb1,2,2 se1,1,1 sb1,3,3 se1,2,2 se1,3,3 sb1,4,4 "
            "se1,4,4 ee1,4,4 eb2,0,4 sb2,1,5 sb2,2,6 sb2,3,7 sb2,4,8 se2,1,5 se2,2,6 se2,3,7 "
            "se2,4,8 ee2,4,8"
        ),
    ),
    "a step is two rows": (
        lambda recorder: rows(5).map(same, callbacks=recorder),
        2,
        (
            "begin0,0,0 eb1,0,0 sb1,1,1 se1,1,1 sb1,3,3 sb1,5,5 se1,3,3 se1,5,5 ee1,5,5 "
            "eb2,0,5 sb2,1,6 sb2,3,8 sb2,5,10 se2,1,6 se2,3,8 se2,5,10 ee2,5,10"
        ),
    ),
    "rows are batches": (
        lambda recorder: rows(4).batch(2).map(same, callbacks=recorder),
        1,
        (
            "begin0,0,0 eb1,0,0 sb1,1,1 sb1,2,2 se1,1,1 se1,2,2 ee1,2,2 eb2,0,2 sb2,1,3 "
            "sb2,2,4 se2,1,3 se2,2,4 ee2,2,4"
        ),
    ),
    "batched later": (
        lambda recorder: rows(4).map(same, callbacks=recorder).batch(2),
        2,
        (
            "begin0,0,0 eb1,0,0 sb1,1,1 sb1,3,3 se1,1,1 se1,3,3 ee1,4,4 eb2,0,4 sb2,1,5 "
            "se2,1,5 sb2,3,7 se2,3,7 ee2,4,8"
        ),
    ),
    "repeated later": (
        lambda recorder: rows(3).map(same, callbacks=recorder).repeat(2),
        1,
        (
            "begin0,0,0 eb1,0,0 sb1,1,1 sb1,2,2 se1,1,1 sb1,3,3 sb1,4,4 sb1,5,5 sb1,6,6 "
            "se1,2,2 se1,3,3 se1,4,4 se1,5,5 se1,6,6 ee1,6,6 eb2,0,6 sb2,1,7 sb2,2,8 sb2,3,9 "
            "se2,1,7 se2,2,8 sb2,4,10 sb2,5,11 se2,3,9 sb2,6,12 se2,4,10 se2,5,11 se2,6,12 "
            "ee2,6,12"
        ),
    ),
    "repeated before": (
        lambda recorder: rows(3).repeat(2).map(same, callbacks=recorder),
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
def test_callback_events_equal_mindspores(case: str) -> None:
    make, step_size, recorded = RECORDED[case]
    recorder = EventLog(step_size)
    actual = run_epochs(make(recorder), recorder)
    for kind in ("begin", "eb", "ee", "sb", "se"):
        expected = [event for event in recorded.split() if event.startswith(kind)]
        assert [event for event in actual if event.startswith(kind)] == expected
    for begun, ended in pairwise(actual):
        if begun.startswith("sb"):
            assert ended == begun.replace("sb", "se")


def expected_events(count: int, step_size: int, epochs: int) -> list[str]:
    """Return the events of a `map` of `count` rows."""
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
def test_step_hooks_for_any_step_size(
    count: int, sizes: list[int], epochs: int, batch: int
) -> None:
    recorders = [EventLog(size) for size in sizes]
    data = rows(count).map(same, callbacks=list(recorders)).batch(batch)
    run_epochs(data, recorders[0], epochs)
    for recorder, size in zip(recorders, sizes, strict=True):
        assert recorder.log == expected_events(count, size, epochs)


@given(st.integers(2, 40), st.integers(1, 9), st.integers(1, 7))
def test_rows_are_mapped_within_their_step(count: int, step_size: int, batch: int) -> None:
    recorder = EventLog(step_size)

    def note(x: np.generic) -> np.generic:
        recorder.log.append(str(x))
        return x

    data = rows(count).map(note, callbacks=recorder).batch(batch)
    result = [int(x) for (b,) in data.create_tuple_iterator(num_epochs=1) for x in b]
    assert result == list(range(count))
    expected: list[str] = []
    for first in range(0, count, step_size):
        expected += [f"sb1,{first + 1},{first + 1}"]
        expected += [str(row) for row in range(first, min(count, first + step_size))]
        expected += [f"se1,{first + 1},{first + 1}"]
    assert recorder.log[2:-1] == expected


@given(count=st.integers(1, 9), size=st.integers(1, 4), taken=st.lists(st.integers(0, 9)))
def test_steps_begin_when_their_rows_are_requested(count: int, size: int, taken: list[int]) -> None:
    """Each iterator has its own events; one that is abandoned has no end."""
    recorder = EventLog(size)
    data = rows(count).map(same, callbacks=recorder)
    for number in taken:
        recorder.log.clear()
        iterator = data.create_tuple_iterator(num_epochs=1)
        read = len(list(islice(iterator, number)))
        expected = expected_events(count, size, 1)
        steps = -(-read // size)
        if number > count:
            assert recorder.log == expected
        elif number:
            # A last step with fewer rows ends with the epoch.
            assert recorder.log == expected[: 2 + 2 * steps - (steps * size > count)]
        else:
            assert recorder.log == []
    limited = EventLog(size)
    assert len(list(rows(count + 3).map(same, callbacks=limited).take(count))) == count
    assert limited.log == expected_events(count, size, 1)


@given(count=st.integers(1, 9), skipped=st.integers(0, 8))
def test_rows_skipped_later_are_counted_but_not_mapped(count: int, skipped: int) -> None:
    recorder = EventLog()
    run_epochs(rows(count).map(same, callbacks=recorder).skip(min(skipped, count - 1)), recorder, 1)
    expected = expected_events(count, 1, 1)
    assert recorder.log == expected[:2] + expected[2 + 2 * min(skipped, count - 1) :]


def test_callbacks_and_maps_run_in_order() -> None:
    log: list[str] = []
    a, b, c = (EventLog(1, log, name) for name in "abc")
    run_epochs(rows(1).map(same, callbacks=[a, b]).map(same, callbacks=[c]), a, 1)
    begun = [event for event in log if "begin" in event or "eb" in event]
    assert [event[0] for event in begun] == ["a", "b", "a", "b", "c", "c"]
    steps = [event[:3] for event in log if event[1] == "s"]
    assert steps == ["asb", "bsb", "ase", "bse", "csb", "cse"]


def test_dataset_properties_call_no_callback() -> None:
    recorder = EventLog()
    data = rows(4).map(same, callbacks=recorder).filter(lambda x: x > 1).batch(2)
    assert (data.get_dataset_size(), data.output_shapes()) == (1, [[2]])
    assert recorder.log == []


@given(taken=st.integers(0, 12))
def test_resumed_iterator_continues_callback_counts(taken: int) -> None:
    uninterrupted, first, second = EventLog(), EventLog(), EventLog()
    run_epochs(rows(4).map(same, callbacks=uninterrupted), uninterrupted, 3)
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
    # The interrupted epoch is repeated from its first row.
    assert second.log[0] == f"begin0,0,{max(0, taken - 1) // 4 * 4}"
    assert second.log[1:] == uninterrupted.log[-len(second.log) + 1 :]


def test_error_in_callback_names_it() -> None:
    class Failing(DSCallback):
        def ds_step_end(self, ds_run_context: DSRunContext) -> None:
            raise KeyError("key")

    with pytest.raises(RuntimeError, match=r"Failing\.ds_step_end.*KeyError: 'key'"):
        next(rows(2).map(same, callbacks=Failing()).create_tuple_iterator(num_epochs=1))


def test_misspelt_event_error_suggests_the_nearest() -> None:
    with pytest.raises(TypeError, match="did you mean 'ds_step_begin'"):

        class Typo(DSCallback):  # pyright: ignore[reportUnusedClass]
            def ds_stepbegin(self, ds_run_context: DSRunContext) -> None: ...
