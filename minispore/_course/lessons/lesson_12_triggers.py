"""Lesson 12: a trigger separates the action of a callback from its times."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from types import ModuleType

from hypothesis import strategies as st

from minispore._course.exercise import CodeExercise, Lesson, Property, bugs
from minispore._course.feedback import WrongResult, counted, expect, expect_text
from minispore._course.given_run import GivenRun, given_runs
from minispore._course.proxy import Triggered
from minispore.train import RunContext
from minispore.train.protocol.callback import EVENTS


@dataclass(frozen=True)
class Case:
    """A run, and the arguments of `Periodic`.

    Attributes:
        run: The run.
        steps: The argument `every_k_steps`.
        epochs: The argument `every_k_epochs`.
        at_end: The argument `at_end`.
        done: The number of epochs before the run, which continues an earlier one.
    """

    run: GivenRun
    steps: int | None = None
    epochs: int | None = None
    at_end: bool = False
    done: int = 0

    def __str__(self) -> str:
        count, length = len(self.run.losses), len(self.run.losses[0])
        arguments = [f"every_k_steps={self.steps}"] if self.steps else []
        arguments += [f"every_k_epochs={self.epochs}"] if self.epochs else []
        arguments += ["at_end=True"] if self.at_end else []
        times = f" with {' and '.join(arguments)}" if arguments else ""
        before = f", after {counted(self.done, 'epoch')} of an earlier run" if self.done else ""
        return f"{counted(count, 'epoch')} of {counted(length, 'step')}{times}{before}"

    def due(self) -> Iterator[int]:
        """Yield the steps after which the callback is triggered."""
        length = len(self.run.losses[0])
        before, last = self.done * length, (len(self.run.losses) - self.done) * length
        for step in range(1, last + 1):
            by_step = self.steps and step % self.steps == 0
            by_epoch = self.epochs and (before + step) % (length * self.epochs) == 0
            if by_step or by_epoch or (self.at_end and step == last):
                yield step

    def train(self, work: ModuleType) -> "Recorder":
        """Train with the learner's `Periodic`, and return its callback."""
        recorder = Recorder()
        arguments = (recorder, self.steps, self.epochs)
        self.run.train(work.Periodic(*arguments, at_end=self.at_end), done=self.done)
        return recorder


class Recorder(Triggered):
    """A callback that records its hooks, with a trigger."""

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


def _triggers_are_due(work: ModuleType, case: Case) -> None:
    calls = case.train(work).calls
    triggers = [call for call in calls if call.startswith("trigger")]
    expect("the triggers", triggers, [f"trigger in step {step}" for step in case.due()])


def _forwards_hooks(work: ModuleType, case: Case) -> None:
    alone = Recorder()
    case.run.train(alone)
    calls = [call for call in case.train(work).calls if not call.startswith("trigger")]
    for number, (actual, due) in enumerate(zip_longest(calls, alone.calls, fillvalue="nothing"), 1):
        expect_text(f"as call number {number}, your Periodic forwarded", actual, due)


def _triggers_between_the_hooks(work: ModuleType, case: Case) -> None:
    calls = case.train(work).calls
    for before, call in zip(["nothing", *calls], calls, strict=False):
        hooks = "on_train_step_end", "on_train_epoch_end"
        if call.startswith("trigger") and not before.startswith(hooks):
            raise WrongResult(f"your Periodic triggered the callback after {before}")


_PERIODS = st.none() | st.integers(1, 4)
_RUNS = given_runs(epochs=4)
_STEPS = st.builds(Case, _RUNS, st.integers(1, 4))
_EPOCHS = st.builds(Case, _RUNS, st.none(), st.integers(1, 4))
_AT_END = st.builds(Case, _RUNS, at_end=st.just(True))
_CASES = st.builds(Case, _RUNS, _PERIODS, _PERIODS, st.booleans())
_CONTINUED = _EPOCHS.flatmap(
    lambda case: st.integers(0, len(case.run.losses) - 1).map(
        lambda done: Case(case.run, epochs=case.epochs, done=done)
    )
)

_EPOCH = "epoch = run_context.original_args().cur_epoch_num"
_IN_EPOCH = "step = (step - 1) % run_context.original_args().batch_num + 1"
_IN_RUN = "self.first = getattr(self, 'first', epoch); epoch -= self.first - 1"
_FORWARD = "super().on_train_step_end(run_context)\n        "
_TRIGGER = """if self.step_is_due(run_context):
            self.callback.trigger(run_context)"""
_TRIGGER_END = """if self.at_end and not was_triggered:
            self.callback.trigger(run_context)"""
_FORWARD_END = "super().on_train_end(run_context)"

LESSON = Lesson(
    title="Triggers: what a callback does, and when",
    exercise=CodeExercise(
        module="minispore._course.solutions.periodic",
        tasks={
            "Periodic.step_is_due": "Return whether `every_k_steps` divides the number of the "
            "step, over all epochs; False if it is None.",
            "Periodic.epoch_is_due": "Return whether `every_k_epochs` divides the number of the "
            "epoch; False if it is None, or if the last step of the epoch was due: no step "
            "triggers the callback twice.",
            "Periodic.on_train_step_end": "Forward the hook, as `Proxy` does. Then call "
            "`self.callback.trigger(run_context)` if the step is due.",
            "Periodic.on_train_epoch_end": "Forward the hook. Then trigger the callback if the "
            "end of the epoch is due.",
            "Periodic.on_train_end": "With `at_end`, trigger the callback, unless its last step "
            "has; then forward the hook, in which the callback may close a file.",
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
                "With `at_end` it runs after the last step.",
                _AT_END, _triggers_are_due, examples=20,
            ),
            Property(
                "It never runs twice after a step.",
                _CASES, _triggers_are_due, examples=60,
            ),
            Property(
                "It runs after the hook at the end of its step or epoch, and before on_train_end.",
                _CASES, _triggers_between_the_hooks, examples=40,
            ),
            Property(
                "All hooks are forwarded.",
                _CASES, _forwards_hooks, examples=20,
            ),
            Property(
                "A run that continues an earlier one has its epochs, which are not counted anew.",
                _CONTINUED, _triggers_are_due, examples=60,
            ),
        ),
        bugs=(
            *bugs(
                "Periodic.step_is_due",
                ("the steps are those of each epoch", "cur_step_num",
                 f"cur_step_num; {_IN_EPOCH}"),
            ),
            *bugs(
                "Periodic.epoch_is_due",
                ("the first epoch counts as 0", "epoch % self", "(epoch - 1) % self"),
                ("the epochs are those of this run", _EPOCH,
                 f"{_EPOCH}; {_IN_RUN}"),
                ("a step triggers twice", " and not self.step_is_due(run_context)", ""),
            ),
            *bugs(
                "Periodic.on_train_step_end",
                ("the trigger precedes the hook",
                 f"{_FORWARD}{_TRIGGER}", f"{_TRIGGER}\n        {_FORWARD.rstrip()}"),
            ),
            *bugs(
                "Periodic.on_train_end",
                ("the end is ignored", "if self.at_end", "if False"),
                ("the end of the callback precedes its trigger",
                 f"{_TRIGGER_END}\n        {_FORWARD_END}",
                 f"{_FORWARD_END}\n        {_TRIGGER_END}"),
                ("the last hook is not forwarded", _FORWARD_END, "pass"),
            ),
        ),
    ),
    hints="""
        params.cur_step_num counts the steps of all epochs from 1, params.cur_epoch_num the
        epochs, those before this run included. Do not count yourself.

        A time is due if the number % k == 0. super().on_train_step_end(run_context) forwards a
        hook.

        epoch_is_due is `... and not self.step_is_due(run_context)`. on_train_end triggers if
        at_end is set and neither step_is_due nor epoch_is_due returns True.
        """,
)  # fmt: skip
