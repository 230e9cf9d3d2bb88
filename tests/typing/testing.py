"""What type checkers say about `minispore.testing`. Nothing here is run.

Each `type: ignore[…]` is a mistake that both type checkers must find: where one doesn't, it calls
the comment unused.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from typing import assert_type

from hypothesis import strategies as st

from minispore import Tensor, nn
from minispore.testing import (
    Event,
    EventTrace,
    Scenario,
    check_callback,
    gradcheck,
    record_events,
    strategies,
)
from minispore.train import Callback, LossMonitor


def traces_are_data() -> None:
    with record_events() as trace:
        assert_type(trace, EventTrace)
    assert_type(trace[0], Event)
    assert_type(trace[:2], EventTrace)
    assert_type(trace.tree(durations=False), str)
    assert_type(trace[0].epoch, int | None)
    assert_type(trace[0].changed, tuple[str, ...])
    trace[0].name = "run"  # type: ignore[misc]
    trace[0].duraton  # type: ignore[attr-defined]  # noqa: B018
    trace.tree(False)  # type: ignore[call-arg]


def callbacks_are_created_by_a_factory(callback: type[Callback]) -> None:
    check_callback(LossMonitor, modes=["train"])
    check_callback(lambda: LossMonitor(2))
    check_callback(callback)
    check_callback(LossMonitor())  # type: ignore[arg-type]
    check_callback(LossMonitor, modes=["training"])  # type: ignore[list-item]
    check_callback(nn.ReLU)  # type: ignore[arg-type]


def gradients_are_of_tensors(t: Tensor) -> None:
    gradcheck(nn.Dense(2, 1), t)
    gradcheck(lambda x, n: x**n, (t, 3))
    gradcheck(t, t)  # type: ignore[arg-type]
    gradcheck(nn.Dense(2, 1), 3.0)  # type: ignore[arg-type]


def strategies_have_element_types() -> None:
    assert_type(strategies.tensors(), st.SearchStrategy[Tensor])
    assert_type(strategies.cells(), st.SearchStrategy[nn.Cell])
    assert_type(strategies.scenarios(kinds=["fit"]), st.SearchStrategy[Scenario])
    strategies.scenarios(kinds=["predict"])  # type: ignore[list-item]
    strategies.scenarios(faults=["flood"])  # type: ignore[list-item]
    strategies.dtypes("complex")  # type: ignore[arg-type]
