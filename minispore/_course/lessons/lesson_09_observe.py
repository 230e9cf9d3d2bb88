"""Lesson 9: a logging callback has no side effects and stores copies."""

from collections.abc import Callable, Sequence
from statistics import mean
from types import ModuleType

from hypothesis import strategies as st

from minispore._course.exercise import CodeExercise, Contract, Lesson, Property, bugs
from minispore._course.feedback import WrongResult, expect, expect_count, is_same
from minispore._course.given_run import Act, GivenRun, expect_invariants, given_runs
from minispore.common import Tensor
from minispore.train import RunContext


def expect_losses(actual: list[object], expected: list[float]) -> None:
    """Raise `WrongResult` unless a list has these losses, as Python numbers.

    Any way to convert a tensor to a number is accepted, since float32 is rounded differently.
    """
    if type(actual) is not list or not all(
        is_same(one, other, 1e-5) for one, other in zip(actual, expected, strict=False)
    ):
        expect("`losses`, read at the end,", actual, expected)
    expect_count("`losses`", len(actual), len(expected), "item")


def _records(summary: Callable[[Sequence[float]], float]) -> Callable[[ModuleType, GivenRun], None]:
    def records(work: ModuleType, run: GivenRun) -> None:
        log = work.RunLog()
        run.train(log)
        expect_losses(log.losses, [float(summary(losses)) for losses in run.losses])

    return records


def _records_results(work: ModuleType, run: GivenRun) -> None:
    log, seen = work.RunLog(), list[object]()

    def see(run_context: RunContext) -> None:
        seen.append(dict(run_context.original_args().metrics))

    run.train(log, Act("on_eval_end", 1, see))
    expect("`metrics` after your on_eval_end", seen, [{"accuracy": run.accuracies[0]}])
    expect("`results`", log.results, [{"accuracy": accuracy} for accuracy in run.accuracies])


def _stores_copies(work: ModuleType, run: GivenRun) -> None:
    log = work.RunLog()

    def change(run_context: RunContext) -> None:
        run_context.original_args().metrics["accuracy"] = "changed"

    run.train(log, Act("on_eval_end", 1, change))
    for result in log.results:
        if result.get("accuracy") == "changed":
            raise WrongResult(
                "a callback after yours changed the dictionary `metrics` in on_eval_end, and your "
                "`results` changed with it; copy the dictionary in your on_eval_end"
            )


def _stores_numbers(work: ModuleType, run: GivenRun) -> None:
    log = work.RunLog()
    run.train(log)
    for loss in log.losses:
        if not isinstance(loss, int | float) or isinstance(loss, Tensor):
            raise WrongResult(
                f"your `losses` contain a {type(loss).__name__}, but a Python number was expected"
            )


def _forgets_earlier_runs(work: ModuleType, run: GivenRun) -> None:
    log = work.RunLog()
    run.train(log)
    first = len(log.losses), len(log.results)
    run.train(log)
    if (len(log.losses), len(log.results)) != first:
        raise WrongResult(
            f"`losses` and `results` have {first[0]} and {first[1]} items after the first run, but "
            f"{len(log.losses)} and {len(log.results)} after a second one with the same object"
        )


def _has_no_side_effects(work: ModuleType, _: None) -> None:
    expect_invariants(work.RunLog, "reuse", "resume")


def properties_of_log(
    text: str = "the mean", summary: Callable[[Sequence[float]], float] = mean
) -> tuple[Property, ...]:
    """Return the properties of what `RunLog` records, which later lessons keep."""
    return (
        Property(
            f"`losses` has, for each epoch, {text} of the losses of its steps; of several "
            "outputs of a step, the first one is its loss.",
            given_runs() | given_runs(gradients=True), _records(summary), examples=40,
        ),
        Property(
            "The recorded losses are Python numbers, which nothing can change later.",
            given_runs(), _stores_numbers, examples=20,
        ),
        Property(
            "`results` has the results of each evaluation.",
            given_runs(evaluates=True), _records_results, examples=40,
        ),
        Property(
            "The recorded results are copies: later changes of `metrics` do not change them.",
            given_runs(evaluates=True), _stores_copies, examples=20,
        ),
        Property(
            "A second run with the same object begins with empty lists.",
            given_runs(evaluates=True), _forgets_earlier_runs, examples=20,
        ),
    )  # fmt: skip


def _properties(
    text: str = "the mean", summary: Callable[[Sequence[float]], float] = mean
) -> tuple[Property, ...]:
    return (
        *properties_of_log(text, summary),
        Property(
            "The callback has no side effects: check_callback finds no violated invariant "
            "(except those about resuming and reuse).",
            st.none(), _has_no_side_effects, examples=1,
            show=lambda _: "the runs of check_callback",
        ),
    )  # fmt: skip


def _contract(text: str, new: str, summary: Callable[[Sequence[float]], float]) -> Contract:
    return Contract(
        "RunLog",
        f"`losses` has, for each epoch, {text} of the losses of its steps, not the mean.",
        bugs("RunLog.on_train_epoch_end", ("", "sum(self._steps) / len(self._steps)", new)),
        _properties(text, summary),
    )


LESSON = Lesson(
    title="Logging callbacks: no side effects",
    exercise=CodeExercise(
        module="minispore._course.solutions.run_log_09",
        from_empty=True,
        tasks={
            "RunLog": "A subclass of Callback, constructed by RunLog(). `losses` is a list with, "
            "for each finished epoch, the mean of the losses of its steps, as a Python number. "
            "The loss of a step is params.net_outputs or, if that is a tuple, its first item. "
            "`results` is a list with the dictionary params.metrics of each finished evaluation. "
            "A new training empties both lists. The callback changes nothing else."
        },
        properties=_properties(),
        contracts=(
            _contract("the largest", "max(self._steps)", max),
            _contract("the smallest", "min(self._steps)", min),
            _contract("the last", "self._steps[-1]", lambda losses: losses[-1]),
            _contract("the sum", "sum(self._steps)", sum),
        ),
        bugs=(
            *bugs(
                "RunLog.on_train_epoch_end",
                ("the loss of the last step is recorded instead of the mean",
                 "sum(self._steps) / len(self._steps)", "self._steps[-1]"),
                ("an array is recorded, not a number",
                 "sum(self._steps) / len(self._steps)",
                 '__import__("numpy").asarray(sum(self._steps) / len(self._steps))'),
            ),
            *bugs(
                "RunLog.on_train_step_end",
                ("the loss is assumed to be the only output",
                 'cast("tuple[Tensor]", outputs)[0] if isinstance(outputs, tuple) else outputs',
                 "outputs"),
                ("the sum over the epoch is never reset",
                 "self._steps.append(float(loss))", "self._steps[:] = [*self._steps, 0, loss]"),
            ),
            *bugs(
                "RunLog.on_train_epoch_begin",
                ("the number of epochs is changed in the run",
                 "self._steps = []",
                 "self._steps, run_context.original_args().epoch_num = [], 0"),
            ),
            *bugs(
                "RunLog.on_eval_end",
                ("the results are recorded twice",
                 "self.results.append(dict(run_context.original_args().metrics))",
                 "self.results += 2 * [dict(run_context.original_args().metrics)]"),
                ("the dictionary of the run is stored, and not a copy",
                 "dict(run_context.original_args().metrics)",
                 "run_context.original_args().metrics"),
            ),
            *bugs(
                "RunLog.on_train_begin",
                ("a second run appends to the lists of the first",
                 "self.losses, self.results = [], []", "pass"),
            ),
        ),
    ),
    hints="""
        Begin with `from minispore.train import Callback, RunContext` and `class
        RunLog(Callback):`. Create the empty lists in __init__, after super().__init__(), and
        again in on_train_begin(self, run_context).

        You need the hooks on_train_begin, on_train_epoch_begin, on_train_step_end,
        on_train_epoch_end and on_eval_end. Each takes run_context, whose original_args() returns
        params.

        Collect the losses of the steps in a further list, which on_train_epoch_begin empties.
        float(loss) and loss.asnumpy().item() are numbers, loss.asnumpy() is not.

        `loss = params.net_outputs[0] if isinstance(params.net_outputs, tuple) else
        params.net_outputs`; `self.results.append(dict(params.metrics))` copies the dictionary.
        """,
)  # fmt: skip
