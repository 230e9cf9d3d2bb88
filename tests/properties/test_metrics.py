"""Properties of every metric."""

import re
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from minispore import Tensor, train
from minispore.train import Metric, rearrange_inputs
from minispore.utils.checks import is_sequence
from tests._metrics.cases import CASES, Case, Inputs

every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def test_table_contains_every_public_metric() -> None:
    public = {
        value
        for value in vars(train).values()
        if isinstance(value, type) and issubclass(value, Metric)
    }
    # `Loss` averages numbers, and is tested alone.
    missing = public - {Metric, train.Loss} - {type(case.make()) for case in CASES.values()}
    assert not missing, f"Add a case of {missing} to CASES in tests/_metrics/cases.py."


def result(metric: Metric, *batches: Inputs) -> object:
    for batch in batches:
        metric.update(*batch)
    return metric.eval()


def numbers(value: object) -> list[npt.NDArray[Any]]:
    """Return a result's numbers: one array, or one for each item of a tuple or list."""
    if is_sequence(value):
        return [array for part in value for array in numbers(part)]
    return [np.asarray(value)]


def assert_same(one: object, other: object) -> None:
    for a, b in zip(numbers(one), numbers(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@every_case
@given(data=st.data())
def test_result_is_a_function_of_the_samples(case: Case, data: st.DataObject) -> None:
    """Whatever their batches, their order and the type of the arrays."""
    inputs = data.draw(case.inputs)
    samples = len(inputs[0])
    expected = result(case.make(), inputs)
    low, high = case.bounds
    for array in numbers(expected):
        assert (np.isnan(array) | (array >= low) & (array <= high)).all()

    cuts = sorted(data.draw(st.lists(st.integers(0, samples), max_size=4)))
    bounds = zip([0, *cuts], [*cuts, samples], strict=True)  # some of them empty
    batches = [tuple(array[start:stop] for array in inputs) for start, stop in bounds]
    assert_same(result(case.make(), *batches), expected)
    assert_same(case.make()(*(Tensor(array) for array in inputs)), expected)
    assert_same(case.make()(*(array.tolist() for array in inputs)), expected)

    order = np.array(data.draw(st.permutations(range(samples))))
    for axis in range(case.sample_axes):  # results of samples are permuted too
        expected = cast("npt.NDArray[Any]", expected).take(order, axis)
    assert_same(result(case.make(), tuple(array[order] for array in inputs)), expected)


@every_case
@given(data=st.data())
def test_result_is_that_of_a_plain_model(case: Case, data: st.DataObject) -> None:
    """Also of one sample, of equal scores and in float16."""
    inputs = data.draw(case.inputs)
    actual, expected = (
        np.concatenate([array.ravel() for array in numbers(value)])
        for value in (result(case.make(), inputs), case.model(*inputs))
    )
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)


class MetricMachine(RuleBasedStateMachine):
    """A metric and its model: the list of all batches since `clear`."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case = case
        self.metric = case.make()
        self.batches: list[Inputs] = []
        # Batches that fit one another are parts of these.
        self.inputs: Inputs = ()

    @initialize(data=st.data())
    def draw_inputs(self, data: st.DataObject) -> None:
        self.inputs = data.draw(self.case.inputs)

    @rule(part=st.sampled_from([slice(None), slice(1, None), slice(0, 0)]))
    def update(self, part: slice) -> None:
        given = tuple(array[part].copy() for array in self.inputs)
        self.batches.append(tuple(array.copy() for array in given))
        self.metric.update(*given)
        for array, before in zip(given, self.batches[-1], strict=True):
            np.testing.assert_array_equal(array, before)
            array[...] = 5  # the caller may use its memory again

    @rule()
    def clear(self) -> None:
        self.metric.clear()
        self.batches.clear()

    @rule(indexed=st.booleans())
    def call(self, indexed: bool) -> None:
        """A call forgets earlier batches; `set_indexes` selects and orders its inputs."""
        given = (None, *reversed(self.inputs)) if indexed else self.inputs
        if indexed:
            indexes = list(range(len(self.inputs), 0, -1))
            assert self.metric.set_indexes(indexes).indexes == indexes
        assert_same(self.metric(*given), result(self.case.make(), self.inputs))
        self.metric.set_indexes(list(range(len(self.inputs))))
        self.batches[:] = [self.inputs]

    @rule(kind=st.sampled_from(["nothing", "one more", "text", "shape", "last"]))
    def invalid_update(self, kind: str) -> None:
        invalid: dict[str, tuple[object, ...]] = {
            "nothing": (),
            "one more": (*self.inputs, 1),
            "text": ("text", *self.inputs[1:]),
            "shape": (np.zeros((17, 13, 2)), *self.inputs[1:]),
            "last": (*self.inputs[:-1], np.full((17, 13, 2), 0.5)),
        }
        indexes, self.metric._indexes = self.metric.indexes, None
        with pytest.raises((TypeError, ValueError, RuntimeError)) as caught:
            self.metric.update(*invalid[kind])
        self.metric._indexes = indexes
        assert type(self.metric).__name__ in str(caught.value)

    @rule()
    def eval(self) -> None:
        try:
            expected = result(self.case.make(), *self.batches)
        except (RuntimeError, ValueError) as error:
            with pytest.raises(type(error), match=re.escape(str(error))):
                self.metric.eval()
            return
        actual = self.metric.eval()
        assert_same(actual, expected)
        for array in numbers(actual):
            array[...] = 7  # the caller may modify the result


@every_case
def test_metric_is_equivalent_to_its_batches(case: Case) -> None:
    class MachineOfCase(MetricMachine):
        def __init__(self) -> None:
            super().__init__(case)

    run_state_machine_as_test(MachineOfCase, settings=settings(stateful_step_count=8))


def test_rearrange_inputs() -> None:
    class First(Metric):
        def clear(self) -> None:
            self.seen: tuple[object, ...] = ()

        @rearrange_inputs
        def update(self, *inputs: object) -> tuple[object, ...]:
            self.seen = inputs
            return inputs

        def eval(self) -> object:
            return self.seen

    assert First().set_indexes([2, 0]).update(1, 2, 3) == (3, 1)
    assert First()(1, 2, 3) == (1, 2, 3)
    assert First().indexes is None
    assert First().set_indexes([2, 0])(1, 2, 3) == (3, 1)
    assert First().set_indexes([])(1, 2, 3) == ()
    with pytest.raises(IndexError, match=r"'First.update', 'set_indexes' .* \[0, 3\], .* only 3"):
        First().set_indexes([0, 3])(1, 2, 3)
    for wrong in ("a", 5, (0, 1), [0, 1.5]):
        with pytest.raises(ValueError, match="indexes"):
            First().set_indexes(wrong)  # type: ignore[arg-type]


def test_abstract_metrics_cannot_be_instantiated() -> None:
    class Half(Metric):
        def clear(self) -> None: ...

    with pytest.raises(TypeError, match="abstract"):
        Half()  # type: ignore[abstract]
