"""The plain attributes of callbacks that checks compare and print."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, float32
from minispore.testing import Scenario
from minispore.testing._observed_run import CallbackObserver, plain_attributes
from minispore.testing._runs import run_observed
from minispore.train import Callback, RunContext

integers = st.lists(st.integers(-9, 9), min_size=1, max_size=20)


class Keeps(Callback):
    def __init__(self, value: object) -> None:
        self.value = value


def compared(value: object) -> object:
    return plain_attributes(Keeps(value)).get("its attribute 'value'", "what is not compared")


@pytest.mark.parametrize("make", [np.array, Tensor])
@given(integers, st.data())
def test_arrays_are_compared_by_value(
    make: Callable[[list[int]], object], numbers: list[int], data: st.DataObject
) -> None:
    others = data.draw(st.just(numbers) | integers | st.permutations(numbers))
    assert (compared(make(numbers)) == compared(make(others))) == (numbers == others)
    assert compared([make(numbers)]) == [compared(make(numbers))]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.arange(3), [0, 1, 2]),
        (Tensor([[1.5], [2.5]]), [[1.5], [2.5]]),
        (np.zeros((2, 5), np.int32), "an array int32 (2, 5) with the checksum "),
        ({"a": (1, float("nan"))}, {"a": [1, "nan"]}),
        ({"a": [object()]}, "what is not compared"),
    ],
)
def test_small_values_are_printed_completely(value: object, expected: object) -> None:
    result = compared(value)
    assert result == expected or (isinstance(expected, str) and str(result).startswith(expected))


@given(st.floats(-1e9, 1e9))
def test_floats_are_compared_exactly(value: float) -> None:
    assert compared(value) != compared(math.nextafter(value, math.inf))


PARAMETERS = """
    mode epoch_num initial_epoch batch_num cur_epoch_num cur_step_num network train_network
    eval_network loss_fn optimizer train_dataset valid_dataset list_callback
"""
NAMES = st.sampled_from(PARAMETERS.split())
EDGES = st.sampled_from(["on_train_begin", "on_train_step_begin", "on_train_end"])


def violations(event: str, hook: Callable[[RunContext], object]) -> list[tuple[str, str]]:
    """Return the violations of a callback with this hook, in a training of one step."""
    subject = Callback()
    setattr(subject, event, hook)
    observer = CallbackObserver(subject)
    run_observed(Scenario("fit", 1, 1, 1), observer, [subject])
    return observer.violations


@given(NAMES, st.sampled_from(["mine", "net_outputs", "eval_results"]))
def test_changes_of_the_loops_own_parameters_are_violations(name: str, allowed: str) -> None:
    def change(run_context: RunContext) -> None:
        run_context.original_args().update({name: object(), allowed: object()})

    expected = ("bookkeeping", f"on_train_end changed the run's parameter '{name}'.")
    assert violations("on_train_end", change) == [expected]


@given(EDGES, st.integers(0, 99), st.integers(0, 99))
def test_the_smallest_change_of_one_element_is_a_violation(
    event: str, number: int, index: int
) -> None:
    changed: list[str] = []

    def change(run_context: RunContext) -> None:
        network = run_context.original_args().train_network
        parameters = [p for p in network.get_parameters() if p.dtype == float32]
        parameter = parameters[number % len(parameters)]
        array = parameter.asnumpy().copy()
        array.flat[index % array.size] = np.nextafter(
            array.flat[index % array.size], np.float32(np.inf)
        )
        parameter.set_data(Tensor(array))
        if not parameter.name.startswith("learning_rate"):
            changed.append(parameter.name)

    actual = violations(event, change)
    assert actual == [
        ("parameters", f"{event} changed the parameter '{weight}'.") for weight in changed
    ]
