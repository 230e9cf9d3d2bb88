"""Lesson 12: a trigger separates the action of a callback from its times."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from types import ModuleType
from typing import Any, Self, cast

from hypothesis import strategies as st

from minispore._course.exercise import CodeExercise, Lesson, Property, bugs
from minispore._course.feedback import WrongResult, counted, expect, expect_text, is_same
from minispore._course.given_run import Act, GivenRun, Stateful, given_runs, through_file
from minispore.train import Callback, LambdaCallback, RunContext
from minispore.train.protocol.callback import EVENTS


@dataclass(frozen=True)
class Case:
    """A run, and the arguments of `Periodic`.

    Attributes:
        run: The run.
        steps: The argument `every_k_steps`.
        epochs: The argument `every_k_epochs`.
    """

    run: GivenRun
    steps: int | None = None
    epochs: int | None = None

    def __str__(self) -> str:
        count, length = len(self.run.losses), len(self.run.losses[0])
        arguments = [f"every_k_steps={self.steps}"] if self.steps else []
        arguments += [f"every_k_epochs={self.epochs}"] if self.epochs else []
        times = f" with {' and '.join(arguments)}" if arguments else ""
        return f"{counted(count, 'epoch')} of {counted(length, 'step')}{times}"


class Recorder(Callback):
    """A callback that records its hooks, with a trigger and a state."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        for name in EVENTS:
            setattr(self, name, self._recording(name))

    def _recording(self, name: str) -> Callable[[RunContext], None]:
        return lambda run_context: self.record(name, run_context)

    def record(self, name: str, run_context: RunContext) -> None:
        """Record a call."""
        params = run_context.original_args()
        step = "" if name == "on_train_begin" else f" in step {params.cur_step_num}"
        self.calls.append(f"{name}{step}")

    def trigger(self, run_context: RunContext) -> None:
        """Record a trigger."""
        self.record("trigger", run_context)

    def __enter__(self) -> Self:
        self.calls.append("__enter__")
        return self

    def __exit__(self, *error: object) -> None:
        self.calls.append("__exit__" if error[0] is None else "__exit__ with an exception")

    def on_exception(self, run_context: RunContext, error: BaseException) -> None:
        """Record an exception."""
        self.calls.append("on_exception")

    def state_dict(self) -> dict[str, object]:
        """Return a state."""
        return {"calls": list(self.calls)}

    def load_state_dict(self, state: dict[str, object]) -> None:
        """Load a state."""
        self.calls = list(cast("list[str]", state["calls"]))


def _triggers_are_due(work: ModuleType, case: Case) -> None:
    recorder = Recorder()
    case.run.train(work.Periodic(recorder, case.steps, case.epochs))
    length = len(case.run.losses[0])
    expected = list[str]()
    for step in range(1, length * len(case.run.losses) + 1):
        if case.steps and step % case.steps == 0:
            expected.append(f"trigger in step {step}")
        if case.epochs and step % (length * case.epochs) == 0:
            expected.append(f"trigger in step {step}")
    triggers = [each for each in recorder.calls if each.startswith("trigger")]
    expect("the triggers", triggers, expected)


def _forwards_hooks(work: ModuleType, case: Case) -> None:
    alone, wrapped = Recorder(), Recorder()
    case.run.train(alone)
    case.run.train(work.Periodic(wrapped, case.steps, case.epochs))
    calls = [each for each in wrapped.calls if not each.startswith("trigger")]
    for number, (actual, due) in enumerate(zip_longest(calls, alone.calls, fillvalue="nothing"), 1):
        expect_text(f"as call number {number}, your Periodic forwarded", actual, due)


def _triggers_after_the_hook(work: ModuleType, case: Case) -> None:
    recorder = Recorder()
    case.run.train(work.Periodic(recorder, case.steps, case.epochs))
    for before, call in zip(recorder.calls, recorder.calls[1:], strict=False):
        hooks = "on_train_step_end", "on_train_epoch_end"
        if call.startswith("trigger") and not before.startswith(hooks):
            raise WrongResult(f"your Periodic triggered the callback after {before}")


def _forwards_exceptions(work: ModuleType, run: GivenRun) -> None:
    recorder = Recorder()

    def fail(_: RunContext) -> None:
        raise ValueError

    try:
        run.train(work.Periodic(recorder, 1), Act("on_train_step_begin", 1, fail))
    except ValueError:
        ends = ["on_exception", "__exit__ with an exception"]
        expect("the last calls", recorder.calls[-2:], ends)
    else:
        raise WrongResult("your Periodic suppressed the exception")


def _forwards_the_state(work: ModuleType, run: GivenRun) -> None:
    first, second = Recorder(), Recorder()
    periodic = work.Periodic(first, 1)
    run.train(periodic)
    restored: Stateful = work.Periodic(second, 1)
    restored.load_state_dict(dict(through_file(periodic)))
    expect("the state of the new callback", second.calls, first.calls)


def _records_norms(work: ModuleType, case: Case) -> None:
    log = work.RunLog()
    periodic = LambdaCallback(on_train_step_end=log.trigger)
    case.run.train(log, periodic)
    expected = [5.0 * loss for epoch in case.run.losses for loss in epoch]
    norms: list[object] = log.norms
    same = [is_same(*pair, 1e-5) for pair in zip(norms, expected, strict=False)]
    if len(norms) != len(expected) or not all(same):
        expect("`norms`", norms, expected)


def _resumes_norms(work: ModuleType, run: GivenRun) -> None:
    first, second = work.RunLog(), work.RunLog()
    run.train(first, LambdaCallback(on_train_step_end=first.trigger))
    second.load_state_dict(dict(through_file(first)))
    expect("`norms` after a resume", second.norms, first.norms)


def _chief_only(work: ModuleType, chief_only: bool) -> None:
    callback: Any = Recorder()
    callback.chief_only = chief_only
    expect("chief_only of your RunLog", work.RunLog().chief_only, True)
    expect("chief_only of your Periodic", work.Periodic(callback, 1).chief_only, chief_only)


_TIMES = st.none() | st.integers(1, 4)
_CASES = st.builds(Case, given_runs(epochs=4), _TIMES, _TIMES)
_STEPS = st.builds(Case, given_runs(epochs=4), st.integers(1, 4), st.none())
_EPOCHS = st.builds(Case, given_runs(epochs=4), st.none(), st.integers(1, 4))

_FORWARD = "self.callback.on_train_step_end(run_context)\n        "
_TRIGGER = """step = run_context.original_args().cur_step_num
        if self.every_k_steps is not None and step % self.every_k_steps == 0:
            self.callback.trigger(run_context)"""

LESSON = Lesson(
    title="Events and triggers: two callback APIs",
    exercise=CodeExercise(
        module="minispore._course.solutions.run_log_12",
        from_empty=True,
        continues=11,
        tasks={
            "RunLog": "Add the method trigger(run_context): it appends to the list `norms` the "
            "norm of all gradients of the step together, as a Python number: the square root of "
            "the sum of the squares of all elements. The step returns params.net_outputs = (loss, "
            "gradients), a dictionary of tensors by parameter names. `norms` belongs to the state, "
            "and a new training empties it. Of several processes, only the first calls a RunLog: "
            "set chief_only = True in the class.",
            "Periodic": "A subclass of Callback: Periodic(callback, every_k_steps=None, "
            "every_k_epochs=None). It forwards to the callback every hook, the entering and "
            "leaving, and the state; it takes over its chief_only; and it calls "
            "callback.trigger(run_context) after each step and each epoch whose number, over all "
            "epochs, is a multiple of the argument, after it has forwarded the hook.",
        },
        properties=(
            Property(
                "With `every_k_steps` the trigger runs after the steps whose number, over all "
                "epochs, is a multiple of it.",
                _STEPS, _triggers_are_due, examples=60,
            ),
            Property(
                "With `every_k_epochs` it runs after the epochs whose number is a multiple.",
                _EPOCHS, _triggers_are_due, examples=60,
            ),
            Property(
                "All hooks are forwarded, also those of evaluations, and so are __enter__ and "
                "__exit__.",
                st.builds(Case, given_runs(epochs=2, evaluates=True)), _forwards_hooks, examples=20,
            ),
            Property(
                "The hook of the callback runs before its trigger.",
                _CASES, _triggers_after_the_hook, examples=40,
            ),
            Property(
                "An exception is forwarded, and reaches the caller.",
                given_runs(epochs=1), _forwards_exceptions, examples=10,
            ),
            Property(
                "The state of `Periodic` is the callback's.",
                given_runs(epochs=2), _forwards_the_state, examples=10,
            ),
            Property(
                "`norms` has the norm of the gradients at each trigger.",
                st.builds(Case, given_runs(gradients=True, epochs=2)), _records_norms, examples=30,
            ),
            Property(
                "`norms` belongs to the state.",
                given_runs(gradients=True, epochs=2), _resumes_norms, examples=10,
            ),
            Property(
                "Only the first process calls a `RunLog`, also in a `Periodic`, which is called in "
                "all processes if its callback is.",
                st.booleans(), _chief_only, examples=2,
                show=lambda chief_only: f"a callback whose chief_only is {chief_only}",
            ),
        ),
        bugs=(
            *bugs(
                "Periodic.on_train_step_end",
                ("the steps are those of each epoch",
                 "step % self.every_k_steps",
                 "((step - 1) % run_context.original_args().batch_num + 1) % self.every_k_steps"),
                ("the hook at the end of a step is not forwarded",
                 "        self.callback.on_train_step_end(run_context)\n", ""),
                ("the trigger precedes the hook",
                 f"{_FORWARD}{_TRIGGER}", f"{_TRIGGER}\n        {_FORWARD.rstrip()}"),
            ),
            *bugs(
                "Periodic.on_train_epoch_end",
                ("the first epoch counts as 0", "epoch % self.every_k_epochs",
                 "(epoch - 1) % self.every_k_epochs"),
            ),
            *bugs(
                "Periodic.on_exception",
                ("an exception is not forwarded",
                 "self.callback.on_exception(run_context, error)", "pass"),
            ),
            *bugs(
                "Periodic.on_eval_end",
                ("the evaluation is not forwarded",
                 "self.callback.on_eval_end(run_context)", "pass"),
            ),
            *bugs(
                "Periodic.state_dict",
                ("the state is not forwarded", "self.callback.state_dict()", "{}"),
            ),
            *bugs(
                "Periodic.__init__",
                ("the callback's chief_only is ignored",
                 "self.chief_only = callback.chief_only", "pass"),
            ),
            *bugs(
                "RunLog.trigger",
                ("the norms of the parameters are added",
                 "math.sqrt(sum(float((each**2).sum()) for each in arrays))",
                 "sum(math.sqrt(float((each**2).sum())) for each in arrays)"),
            ),
            *bugs(
                "RunLog.load_state_dict",
                ("the norms are not restored", "self.norms = norms", "pass"),
            ),
        ),
    ),
    hints="""
        Periodic needs all twelve hooks, on_train_begin to on_eval_end, and __enter__, __exit__,
        on_exception, state_dict and load_state_dict. Each is one line, such as
        self.callback.on_eval_begin(run_context).

        params.cur_step_num counts the steps of all epochs from 1, params.cur_epoch_num the
        epochs. A time is due if the number % k == 0. Forward the hook first.

        gradients = params.net_outputs[1]; each of its values has asnumpy(). Add (array**2).sum()
        of all arrays, and take the square root of the sum.

        chief_only is a class attribute: `chief_only = True` in RunLog, and self.chief_only =
        callback.chief_only in the __init__ of Periodic. Add "norms" to what state_dict returns,
        and restore it.
        """,
)  # fmt: skip
