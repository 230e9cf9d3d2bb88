"""What the tools say: traces print as what makes them, and wrong gradients are told by kind."""

from collections.abc import Callable
from typing import cast

import pytest
from hypothesis import given

from minispore import Tensor, ops
from minispore._array import Array
from minispore.testing import Event, EventTrace, GradientError, Schedule, gradcheck
from minispore.testing import strategies as mst


@given(mst.schedules())
def test_a_trace_prints_as_what_makes_it(schedule: Schedule) -> None:
    trace = schedule.run([])
    names = {"Event": Event, "EventTrace": EventTrace}
    assert eval(repr(trace), names) == trace
    assert str(trace) == trace.tree()


def test_a_function_may_not_change_what_it_is_given() -> None:
    def moves(x: Tensor) -> Tensor:
        flat = x - x
        x.add_(1.0)
        return flat

    with pytest.raises(GradientError, match=r"The function 'moves' changes its input 0\.$"):
        gradcheck(moves, Tensor([1.0, 2.0]))


def wrong(change: Callable[[Array], object]) -> Callable[[Tensor], Tensor]:
    """The identity, with another gradient."""

    def rule(x: Array) -> tuple[Array, tuple[Callable[[Array], Array]]]:
        return x, (lambda g: cast("Array", change(g)),)

    return lambda x: ops.apply_rule(rule, x)


def test_a_gradient_has_its_inputs_shape() -> None:
    with pytest.raises(GradientError, match=r"a .*\(2,\).*, is a .*\(1,\)"):
        gradcheck(wrong(lambda g: cast("Tensor", g)[:1]), Tensor([1.0, 2.0]))
