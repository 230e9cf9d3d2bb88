"""Runs with given losses show callbacks these losses, also when killed and resumed."""

from collections.abc import Mapping

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from minispore import Tensor
from minispore._course.feedback import WrongResult
from minispore._course.given_run import RESULT, GivenRun, given_runs, kill_and_resume, through_file
from minispore.train import Callback, RunContext
from minispore.utils.checks import is_dict, is_tuple


class Log(Callback):
    """Records the losses, accuracies and norms of gradients that it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.losses: list[list[float]] = []
        self.accuracies: list[float] = []
        self.norms: list[float] = []

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        self.losses.append([])

    def on_train_step_end(self, run_context: RunContext) -> None:
        outputs = run_context.original_args().net_outputs
        if is_tuple(outputs):
            loss, gradients = outputs
            assert is_dict(gradients)
            tensors = [value for value in gradients.values() if isinstance(value, Tensor)]
            self.norms.append(sum(float((tensor**2).sum()) for tensor in tensors) ** 0.5)
        else:
            loss = outputs
        assert isinstance(loss, Tensor)
        self.losses[-1].append(loss.item())

    def on_eval_end(self, run_context: RunContext) -> None:
        results = run_context.original_args()["eval_results"]
        assert isinstance(results, dict)
        self.accuracies.append(results[RESULT])

    def state_dict(self) -> dict[str, object]:
        return {"losses": self.losses, "accuracies": self.accuracies}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        vars(self).update(state)


some_runs = st.tuples(st.booleans(), st.booleans()).flatmap(
    lambda kind: given_runs(evaluates=kind[0], gradients=kind[1])
)


@given(some_runs)
def test_callbacks_see_the_given_numbers(run: GivenRun) -> None:
    assert len({len(epoch) for epoch in run.losses}) == 1
    assert len(run.accuracies) in {0, len(run.losses)}
    assert all((4 * loss).is_integer() for epoch in run.losses for loss in epoch)
    run.train(log := Log())
    assert log.losses == [list(epoch) for epoch in run.losses]
    assert log.accuracies == list(run.accuracies)
    assert run.means() == [sum(epoch) / len(epoch) for epoch in log.losses]
    if run.gradients:
        assert log.norms == [5 * loss for epoch in run.losses for loss in epoch]


@given(some_runs, st.integers(1, 6))
def test_resumed_run_sees_the_remaining_numbers(run: GivenRun, epoch: int) -> None:
    # After the last epoch there is nothing to resume.
    assume(epoch != len(run.losses))
    log, context = kill_and_resume(run, epoch, Log)
    assert isinstance(log, Log)
    assert (context is None) == (epoch > len(run.losses))
    assert log.losses == [list(losses) for losses in run.losses]
    assert log.accuracies == list(run.accuracies)


def test_states_that_no_file_can_store_are_wrong_results() -> None:
    class Bad(Log):
        def __init__(self, state: object) -> None:
            super().__init__()
            self.state = state

        def state_dict(self) -> dict[str, object]:
            return self.state  # type: ignore[return-value]

    for state, message in (([1], "returned \\[1\\], but a dictionary"), ({"a": {1}}, "written to")):
        with pytest.raises(WrongResult, match=message):
            through_file(Bad(state))
