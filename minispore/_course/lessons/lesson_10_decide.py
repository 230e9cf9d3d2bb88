"""Lesson 10: early stopping is a stop request to the training loop."""

from dataclasses import dataclass
from itertools import accumulate
from types import ModuleType

from hypothesis import strategies as st

from minispore._course.exercise import CodeExercise, Lesson, Property, bugs
from minispore._course.feedback import WrongResult, expect_text
from minispore._course.given_run import Act, GivenRun, expect_invariants, given_runs
from minispore._course.lessons.lesson_09_observe import expect_losses, properties_of_log
from minispore.train import RunContext

NAN = float("nan")


@dataclass(frozen=True)
class Case:
    """A run, and the argument `patience`."""

    run: GivenRun
    patience: int | None

    def __str__(self) -> str:
        return f"patience={self.patience} and {self.run}"

    def stop(self) -> int:
        """Return the epoch after which the run must be stopped, 0 for none."""
        best, wait = float("inf"), 0
        for epoch, loss in enumerate(self.run.means(), start=1):
            wait += 1
            if loss < best:
                best, wait = loss, 0
            if wait == self.patience:
                return epoch
        return 0


def cases(runs: st.SearchStrategy[GivenRun]) -> st.SearchStrategy[Case]:
    """Generate runs with a patience."""
    return st.builds(Case, runs, st.none() | st.integers(1, 3))


def _of_falls(falls: list[bool]) -> GivenRun:
    """Return a run with a loss that falls in some epochs, each time below all before."""
    levels = accumulate(falls, lambda level, fall: level - fall, initial=len(falls))
    return GivenRun(tuple((float(level),) for level in levels))


_FALLING = st.lists(st.booleans(), min_size=3, max_size=6).map(_of_falls)


def _simulate(work: ModuleType, case: Case) -> tuple[int, list[RunContext], list[object]]:
    """Run a training; return its last epoch, its context, and the recorded losses."""
    contexts = list[RunContext]()
    log = work.RunLog(patience=case.patience)
    case.run.train(log, Act("on_train_end", 1, contexts.append))
    return contexts[0].original_args().cur_epoch_num, contexts, log.losses


def _stops_at_the_right_epoch(work: ModuleType, case: Case) -> None:
    epoch, contexts, _ = _simulate(work, case)
    stopped = epoch if contexts[0].get_stop_requested() else 0
    expect_text("your callback requested", _format_stop(stopped), _format_stop(case.stop()))


def _format_stop(epoch: int) -> str:
    return f"a stop after epoch {epoch}" if epoch else "no stop"


def _records_the_last_epoch(work: ModuleType, case: Case) -> None:
    epoch, _, losses = _simulate(work, case)
    expect_losses(losses, case.run.means()[:epoch])


def _marks_the_run_as_finished(work: ModuleType, case: Case) -> None:
    _, (context,), _ = _simulate(work, case)
    if context.is_interrupted():
        raise WrongResult(
            "your callback requested an interruption, but the run should be marked as finished"
        )


@dataclass(frozen=True)
class Interrupted:
    """A run that another callback stops in a step."""

    run: GivenRun
    step: int

    def __str__(self) -> str:
        return f"{self.run}, and another callback that requests a stop in step {self.step}"


def _ignores_unfinished_epochs(work: ModuleType, case: Interrupted) -> None:
    log = work.RunLog()
    case.run.train(log, Act("on_train_step_end", case.step, lambda context: context.request_stop()))
    done = (case.step - 1) // len(case.run.losses[0])
    expect_losses(log.losses, case.run.means()[:done])


def _has_no_side_effects(work: ModuleType, _: None) -> None:
    expect_invariants(lambda: work.RunLog(patience=1), "resume", modes=["train", "fit"])


def _of_nan(run: GivenRun) -> GivenRun:
    return GivenRun(tuple((NAN,) * len(epoch) for epoch in run.losses))


LESSON = Lesson(
    title="Early stopping",
    exercise=CodeExercise(
        module="minispore._course.solutions.run_log_10",
        from_empty=True,
        continues=9,
        tasks={
            "RunLog": "Add the argument patience=None. After `patience` consecutive epochs whose "
            "mean loss is not lower than the lowest before, request a stop with "
            "run_context.request_stop(finished=True); None means never. A loss that is NaN is "
            "never lower. If a stop has interrupted an epoch "
            "(run_context.is_epoch_unfinished()), it is neither recorded nor counted."
        },
        properties=(
            Property(
                "The run ends after `patience` consecutive epochs without a new lowest loss.",
                cases(given_runs(epochs=7, steps=1) | _FALLING), _stops_at_the_right_epoch,
            ),
            Property(
                "The epoch after which the run is stopped is recorded as well.",
                cases(given_runs(epochs=7, steps=2)), _records_the_last_epoch, examples=40,
            ),
            Property(
                "The run is marked as finished: resuming it does no further step.",
                cases(given_runs(epochs=7, steps=1)), _marks_the_run_as_finished, examples=40,
            ),
            Property(
                "A loss that is NaN is never lower, also in the first epoch.",
                cases(given_runs(epochs=5, steps=1).map(_of_nan)),
                _stops_at_the_right_epoch,
            ),
            Property(
                "An epoch that another callback's stop has interrupted is neither recorded nor "
                "counted.",
                given_runs(epochs=2, steps=3).filter(lambda run: len(run.losses[0]) > 1).flatmap(
                    lambda run: st.integers(1, len(run.losses) * len(run.losses[0]))
                    .filter(lambda step: step % len(run.losses[0]) != 0)
                    .map(lambda step: Interrupted(run, step))
                ),
                _ignores_unfinished_epochs, examples=40,
            ),
            Property(
                "check_callback finds no violated invariant (except the one about resuming): for "
                "example, a second run with the same object behaves as the first.",
                st.none(), _has_no_side_effects, examples=1,
                show=lambda _: "patience=1 and the runs of check_callback",
            ),
            *properties_of_log()[:-1],  # a second run is in the law before
        ),
        bugs=(
            *bugs(
                "RunLog.__init__",
                ("the loss is assumed to be the only output",
                 "super().__init__()",
                 ("super().__init__(); self.on_train_step_end = lambda context: "
                 "self._steps.append(float(context.original_args().net_outputs))")),
                ("the results are no longer recorded",
                 "super().__init__()", "super().__init__(); self.on_eval_end = lambda _: None"),
                ("the dictionary of the run is stored, and not a copy",
                 "super().__init__()",
                 ("super().__init__(); self.on_eval_end = lambda context: "
                 "self.results.append(context.original_args().metrics)")),
            ),
            *bugs(
                "RunLog.on_train_epoch_end",
                ("an array is recorded, not a number",
                 "loss = self.losses[-1]",
                 'loss = self.losses[-1]; self.losses[-1] = __import__("numpy").asarray(loss)'),
                ("a lower loss does not reset `wait`",
                 "self.best, self.wait = loss, 0", "self.best = loss"),
                ("the stop is one epoch late", "self.wait >= self.patience",
                 "self.wait > self.patience"),
                ("the stop counts as an interruption", "finished=True", "finished=False"),
                ("the loss of the epoch before the stop is lost",
                 "            run_context.request_stop(finished=True)",
                 "            run_context.request_stop(finished=True); self.losses.pop()"),
                ("NaN counts as an improvement",
                 "loss < self.best", "not loss >= self.best"),
                ("an interrupted epoch is recorded",
                 "run_context.is_epoch_unfinished()", "False"),
            ),
            *bugs(
                "RunLog.on_train_begin",
                ("a second run waits on from the first",
                 "self.best, self.wait = float(\"inf\"), 0", "pass"),
                ("a second run appends to the results of the first",
                 "super().on_train_begin(run_context)",
                 ("results = self.results; super().on_train_begin(run_context); "
                 "self.results = results")),
            ),
        ),
    ),
    hints="""
        Three more attributes: `patience`, the lowest loss so far, which begins as float("inf"),
        and the number of epochs since. Set the last two in on_train_begin as well.

        Decide at the end of on_train_epoch_end, after the loss was recorded. Each epoch adds 1 to
        the number; a loss that is lower than the lowest so far resets it to 0.

        NaN < x and NaN >= x are both False. So test for `loss < self.best`, and not for the
        opposite.

        `if run_context.is_epoch_unfinished(): return` comes first. Request the stop with
        run_context.request_stop(finished=True) if patience is not None and the number has reached
        it.
        """,
)  # fmt: skip
