"""The proxy that lesson 12 extends: a callback behind it is called as without it."""

from collections.abc import Mapping
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore._course.given_run import Act, GivenRun, given_runs, through_file
from minispore._course.lessons.lesson_12_triggers import Recorder
from minispore._course.proxy import Proxy
from minispore.train import Callback, RunContext


class Complete(Recorder):
    """Records all calls, and has a state."""

    def __enter__(self) -> Self:
        self.calls.append("__enter__")
        return self

    def __exit__(self, *error: object) -> None:
        self.calls.append("__exit__" if error[0] is None else "__exit__ with an exception")

    def on_exception(self, run_context: RunContext, error: BaseException) -> None:
        self.calls.append(f"on_exception {error!r}")

    def state_dict(self) -> dict[str, object]:
        return {"calls": list(self.calls)}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        self.calls = str(state["calls"]).split()


@given(given_runs(epochs=2) | given_runs(epochs=2, evaluates=True), st.integers(0, 8))
def test_callback_behind_a_proxy_is_called_as_without_it(run: GivenRun, fails: int) -> None:
    """Also if a later callback raises an exception in some step."""

    def fail(_: RunContext) -> None:
        raise ValueError("x")

    def calls(callback: Complete, listed: Callback) -> list[str]:
        if fails in range(1, len(run.losses) * len(run.losses[0]) + 1):
            with pytest.raises(ValueError, match="x"):
                run.train(listed, Act("on_train_step_begin", fails, fail))
            assert callback.calls[-1] == "__exit__ with an exception"
        else:
            run.train(listed)
        return callback.calls

    alone, behind = Complete(), Complete()
    assert calls(behind, Proxy(behind)) == calls(alone, alone)


@given(given_runs(epochs=2), st.booleans())
def test_proxy_has_the_state_and_the_process_of_its_callback(
    run: GivenRun, chief_only: bool
) -> None:
    first, second = Complete(), Complete()
    first.chief_only = chief_only
    proxy = Proxy(first)
    assert proxy.chief_only is chief_only
    run.train(proxy)
    restored = Proxy(second)
    restored.load_state_dict(through_file(proxy))
    assert second.calls == str(first.calls).split()
