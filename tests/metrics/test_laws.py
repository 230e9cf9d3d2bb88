"""What is true of every metric, whatever it measures."""

from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor
from minispore.train import Metric, rearrange_inputs

from .cases import CASES, Case, Inputs

every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def result(metric: Metric, *batches: Inputs) -> object:
    for batch in batches:
        metric.update(*batch)
    return metric.eval()


def numbers(value: object) -> list[npt.NDArray[Any]]:
    """A result's numbers: one array, or one for each part of a tuple or list."""
    if isinstance(value, tuple | list):
        return [array for part in cast("list[object]", value) for array in numbers(part)]
    return [np.asarray(value)]


def assert_same(one: object, other: object) -> None:
    for a, b in zip(numbers(one), numbers(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@every_case
@given(data=st.data())
def test_batches_give_what_all_samples_at_once_give(case: Case, data: st.DataObject) -> None:
    inputs = data.draw(case.inputs)
    samples = len(inputs[0])
    cuts = sorted(data.draw(st.lists(st.integers(0, samples), max_size=4)))
    places = zip([0, *cuts], [*cuts, samples], strict=True)  # some of them empty
    batches = [tuple(array[start:stop] for array in inputs) for start, stop in places]
    assert_same(result(case.make(), *batches), result(case.make(), inputs))


@every_case
@given(data=st.data())
def test_the_order_of_samples_does_not_matter(case: Case, data: st.DataObject) -> None:
    inputs = data.draw(case.inputs)
    order = np.array(data.draw(st.permutations(range(len(inputs[0])))))
    expected = result(case.make(), inputs)
    for axis in range(case.by_sample):  # but what is told of each sample goes with it
        expected = cast("npt.NDArray[Any]", expected).take(order, axis)
    assert_same(result(case.make(), tuple(array[order] for array in inputs)), expected)


@every_case
@given(data=st.data())
def test_cleared_is_new(case: Case, data: st.DataObject) -> None:
    first, second = data.draw(case.inputs), data.draw(case.inputs)
    metric = case.make()
    result(metric, first)
    metric.clear()
    with pytest.raises(RuntimeError, match="number of samples is 0"):
        metric.eval()
    assert_same(result(metric, second), result(case.make(), second))
    assert_same(metric(*first), result(case.make(), first))


@every_case
@given(data=st.data())
def test_results_are_in_their_bounds(case: Case, data: st.DataObject) -> None:
    low, high = case.bounds
    for array in numbers(result(case.make(), data.draw(case.inputs))):
        assert (np.isnan(array) | (array >= low) & (array <= high)).all()


@every_case
@given(data=st.data())
def test_tensors_arrays_and_lists_are_alike_and_not_changed(
    case: Case, data: st.DataObject
) -> None:
    inputs = data.draw(case.inputs)
    before = [array.copy() for array in inputs]
    expected = result(case.make(), inputs)
    for array, copy in zip(inputs, before, strict=True):
        np.testing.assert_array_equal(array, copy)
    assert_same(case.make()(*(Tensor(array) for array in inputs)), expected)
    assert_same(case.make()(*(array.tolist() for array in inputs)), expected)


@every_case
@given(data=st.data())
def test_inputs_may_be_used_again(case: Case, data: st.DataObject) -> None:
    inputs = data.draw(case.inputs)
    expected = result(case.make(), inputs)
    metric = case.make()
    metric.update(*inputs)
    for array in inputs:
        array[...] = 5
    assert_same(metric.eval(), expected)


@every_case
@given(data=st.data())
def test_evaluating_changes_nothing(case: Case, data: st.DataObject) -> None:
    inputs = data.draw(case.inputs)
    metric = case.make()
    first = result(metric, inputs)
    for array in numbers(first):
        array[...] = 7  # what was returned is the caller's
    assert_same(metric.eval(), result(case.make(), inputs))


@every_case
@given(data=st.data())
def test_a_refused_update_counts_nothing(case: Case, data: st.DataObject) -> None:
    inputs = data.draw(case.inputs)
    metric = case.make()
    expected = result(metric, inputs)
    wrong: list[tuple[object, ...]] = [
        (),
        (*inputs, 1),
        ("text", *inputs[1:]),
        (np.zeros((17, 13)), *inputs[1:]),
    ]
    for refused in wrong:
        with pytest.raises((TypeError, ValueError, RuntimeError)) as caught:
            metric.update(*refused)
        assert type(metric).__name__ in str(caught.value)
    assert_same(metric.eval(), expected)


@every_case
@given(data=st.data())
def test_indexes_choose_and_order_the_inputs(case: Case, data: st.DataObject) -> None:
    inputs = data.draw(case.inputs)
    places = list(range(len(inputs), 0, -1))
    metric = case.make().set_indexes(places)
    assert metric.indexes == places
    assert_same(metric(None, *reversed(inputs)), result(case.make(), inputs))


def test_rearranged_inputs() -> None:
    class First(Metric):
        def clear(self) -> None:
            self.seen: tuple[object, ...] = ()

        @rearrange_inputs
        def update(self, *inputs: object) -> None:
            self.seen = inputs

        def eval(self) -> object:
            return self.seen

    assert First()(1, 2, 3) == (1, 2, 3)
    assert First().indexes is None
    assert First().set_indexes([2, 0])(1, 2, 3) == (3, 1)
    assert First().set_indexes([])(1, 2, 3) == ()
    with pytest.raises(IndexError, match=r"'First.update', 'set_indexes' .* \[0, 3\], .* only 3"):
        First().set_indexes([0, 3])(1, 2, 3)
    for wrong in ("a", 5, (0, 1), [0, 1.5]):
        with pytest.raises(ValueError, match="indexes"):
            First().set_indexes(wrong)  # type: ignore[arg-type]


def test_a_metric_without_its_methods_cannot_be_made() -> None:
    class Half(Metric):
        def clear(self) -> None: ...

    with pytest.raises(TypeError, match="abstract"):
        Half()  # type: ignore[abstract]
