"""LambdaCallback: each function is called at its event."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from minispore.train import Callback, LambdaCallback, RunContext
from minispore.train.protocol.callback import EVENTS
from tests.helpers.stub_models import Rows, make


@given(st.sets(st.sampled_from([*EVENTS])))
def test_each_function_is_called_at_its_event(chosen: set[str]) -> None:
    observed: list[str] = []
    expected: list[str] = []

    def note(log: list[str], event: str) -> Callable[[object, RunContext], None]:
        return lambda self, run_context: log.append(event)

    def call(event: str) -> Callable[[RunContext], None]:
        return lambda run_context: note(observed, event)(None, run_context)

    functions = LambdaCallback(**{event: call(event) for event in chosen})
    hooks = type("Hooks", (Callback,), {event: note(expected, event) for event in EVENTS})()
    make({"accuracy"}).fit(1, Rows(4), Rows(4), callbacks=[functions, hooks])
    assert observed == [event for event in expected if event in chosen]
    assert expected == [
        *(f"on_train_{name}" for name in ("begin", "epoch_begin", "step_begin", "step_end")),
        "on_eval_begin", "on_eval_epoch_begin", "on_eval_step_begin", "on_eval_step_end",
        "on_eval_epoch_end", "on_eval_end", "on_train_epoch_end", "on_train_end",
    ]  # fmt: skip
