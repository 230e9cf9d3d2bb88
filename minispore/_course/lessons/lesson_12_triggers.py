"""Lesson 12: a trigger separates the action of a callback from its times."""

from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from unittest.mock import patch

from hypothesis import strategies as st

from minispore import tensorpack
from minispore._course.exercise import CodeExercise, Lesson, Property, bugs
from minispore._course.feedback import counted, expect_text
from minispore.train import RunContext
from minispore.train.protocol.callback import CallbackManager


@dataclass(frozen=True)
class Case:
    """A run, and the arguments of a trigger.

    Attributes:
        durations: The duration of each step, in seconds.
        steps_per_epoch: The number of steps in an epoch.
        k_steps: The argument `every_k_steps`, or `steps` if there are seconds.
        k_epochs: The argument `every_k_epochs`.
        seconds: The argument `seconds` of `Every`.
        before_train: The argument `before_train`.
        earlier: The number of epochs of an earlier run.
    """

    durations: tuple[int, ...]
    steps_per_epoch: int = 1
    k_steps: int | None = None
    k_epochs: int | None = None
    seconds: int | None = None
    before_train: bool = False
    earlier: int = 0

    def __str__(self) -> str:
        epochs = len(self.durations) // self.steps_per_epoch
        text = f"{counted(epochs, 'epoch')} of {counted(self.steps_per_epoch, 'step')}"
        if self.earlier:
            text += f" (after {counted(self.earlier, 'epoch')} in an earlier run)"
        steps, arguments = "every_k_steps", list[str]()
        if self.seconds is not None:
            text += f", with steps of {', '.join(map(str, self.durations))} seconds,"
            steps, arguments = "steps", [f"seconds={self.seconds}"]
        arguments += [f"{steps}={self.k_steps}"] if self.k_steps else []
        arguments += [f"every_k_epochs={self.k_epochs}"] if self.k_epochs else []
        arguments += ["before_train=True"] if self.before_train else []
        return f"{text} with {' and '.join(arguments)}"

    def run(self, work: ModuleType) -> "Recorder":
        """Simulate the run, and return the triggered callback with its record."""
        recorder, now = Recorder(), 0.0
        times = (
            {"every_k_steps": self.k_steps, "every_k_epochs": self.k_epochs}
            if self.seconds is None
            else {"every": work.Every(steps=self.k_steps, seconds=self.seconds)}
        )
        with patch("minispore.tensorpack.states.perf_counter", lambda: now):
            trigger = work.PeriodicTrigger(recorder, before_train=self.before_train, **times)
            callbacks = CallbackManager([trigger])
            data = SimpleNamespace(get_dataset_size=lambda: self.steps_per_epoch)
            run = RunContext(
                {
                    "batch_num": self.steps_per_epoch,
                    "train_dataset": data,
                    "epoch_num": len(self.durations) // self.steps_per_epoch,
                    "initial_epoch": self.earlier,
                    "cur_step_num": 0,
                    "metric_names": [],
                    "list_callback": callbacks.callbacks,
                    "optimizer": None,
                    "train_network": None,
                }
            )
            params = run.original_args()
            recorder.position = "before the training"
            callbacks.on_train_begin(run)
            for step, duration in enumerate(self.durations, start=1):
                if (step - 1) % self.steps_per_epoch == 0:
                    params.cur_epoch_num = self.earlier + 1 + (step - 1) // self.steps_per_epoch
                    callbacks.on_train_epoch_begin(run)
                params.cur_step_num = step
                callbacks.on_train_step_begin(run)
                recorder.position = f"after step {self.earlier * self.steps_per_epoch + step}"
                now += duration
                callbacks.on_train_step_end(run)
                if step % self.steps_per_epoch == 0:
                    recorder.position = f"after epoch {params.cur_epoch_num}"
                    callbacks.on_train_epoch_end(run)
        return recorder

    def expected(self) -> "Recorder":
        """Return the expected record, computed by counting."""
        recorder = Recorder()
        recorder.calls.append("_before_train")
        if self.before_train:
            recorder.record_trigger("before the training")
        since = 0
        for i, duration in enumerate(self.durations):
            step = self.earlier * self.steps_per_epoch + i + 1
            since += duration
            recorder.calls.append("_trigger_step")
            due = bool(self.k_steps) and step % (self.k_steps or 1) == 0
            if due or (self.seconds is not None and since >= self.seconds):
                since = 0
                recorder.record_trigger(f"after step {step}")
            epoch, left = divmod(step, self.steps_per_epoch)
            if not left and self.k_epochs and epoch % self.k_epochs == 0:
                recorder.record_trigger(f"after epoch {epoch}")
        return recorder


class Recorder(tensorpack.Callback):
    """A callback that records when it is triggered, and which hooks are called.

    Attributes:
        position: The current position in the run, as text.
        times: The positions at which it was triggered.
        calls: The hooks that were called.
    """

    def __init__(self) -> None:
        self.position = ""
        self.times = list[str]()
        self.calls = list[str]()

    def record_trigger(self, position: str) -> None:
        """Record a call of the trigger."""
        self.times.append(position)
        self.calls.append("_trigger")

    def _before_train(self) -> None:
        self.calls.append("_before_train")

    def _trigger_step(self) -> None:
        self.calls.append("_trigger_step")

    def _trigger_epoch(self) -> None:
        self.calls.append("_trigger_epoch")

    def _trigger(self) -> None:
        self.record_trigger(self.position)


_K = st.integers(1, 4)
_NONE: st.SearchStrategy[int | None] = st.none()
_FALSE = st.just(False)


def cases(
    *,
    k_steps: st.SearchStrategy[int | None] = _NONE,
    k_epochs: st.SearchStrategy[int | None] = _NONE,
    seconds: st.SearchStrategy[int | None] = _NONE,
    before_train: st.SearchStrategy[bool] = _FALSE,
) -> st.SearchStrategy[Case]:
    """Generate runs of up to four epochs of up to three steps."""

    def with_size(epochs: int, steps: int) -> st.SearchStrategy[Case]:
        durations = st.tuples(*[st.integers(1, 3)] * (epochs * steps))
        if seconds is _NONE:
            durations = st.just((1,) * (epochs * steps))
        earlier = st.integers(0, 2)
        return st.builds(
            Case, durations, st.just(steps), k_steps, k_epochs, seconds, before_train, earlier
        )

    return st.tuples(st.integers(1, 4), st.integers(1, 3)).flatmap(lambda size: with_size(*size))


def _times_are_correct(work: ModuleType, case: Case) -> None:
    actual, expected = case.run(work).times, case.expected().times
    texts = [", ".join(each) or "never" for each in (actual, expected)]
    expect_text("the callback was triggered", *texts)


def _hooks_are_forwarded(work: ModuleType, case: Case) -> None:
    actual, expected = case.run(work).calls, case.expected().calls
    expect_text("the calls of the callback were", ", ".join(actual), ", ".join(expected))


LESSON = Lesson(
    title="Events and triggers: two callback APIs",
    minutes=35,
    exercise=CodeExercise(
        module="minispore.tensorpack.triggers",
        tasks={
            "Every.epoch_is_due": "An epoch is due if `epochs` is given and the epoch's number is "
            "a multiple of it.",
            "Every.step_is_due": "A step is due if its number is a multiple of `steps`, or if "
            "`seconds` have passed; test each condition only if its argument is given.",
            "PeriodicTrigger._before_train": "Forward the hook, then trigger the callback if "
            "self._triggers_before_train.",
            "PeriodicTrigger._trigger_step": "Forward the hook, then trigger the callback if the "
            "step is due; this resets the time, self._elapsed.",
            "PeriodicTrigger._trigger_epoch": "Trigger the callback if the epoch is due. Do not "
            "forward this hook, which would trigger the callback at the end of each epoch.",
        },
        properties=(
            Property(
                "With `every_k_steps` the trigger runs after the steps whose number, over all "
                "epochs and runs, is a multiple of it.",
                cases(k_steps=_K), _times_are_correct,
            ),
            Property(
                "With `every_k_epochs` the trigger runs after the epochs that are a multiple of "
                "it.",
                cases(k_epochs=_K), _times_are_correct,
            ),
            Property(
                "With `before_train` the trigger also runs before the first step.",
                cases(k_steps=_K, k_epochs=st.none() | _K, before_train=st.booleans()),
                _times_are_correct,
            ),
            Property(
                "With `seconds` the trigger runs after the step in which the time has passed, "
                "which restarts the clock; of steps and seconds, whichever comes first counts.",
                cases(k_steps=st.none() | _K, seconds=st.integers(2, 5)), _times_are_correct,
            ),
            Property(
                "All other hooks are forwarded to the callback before it is triggered, except "
                "`_trigger_epoch`.",
                cases(k_steps=_K, k_epochs=_K, before_train=st.booleans()), _hooks_are_forwarded,
            ),
        ),
        bugs=(
            *bugs(
                "PeriodicTrigger._trigger_step",
                ("the steps are counted from 1 in each epoch",
                 "self.global_step", "self.local_step + 1"),
                ("the current step is not counted", "self.global_step", "self.global_step - 1"),
                ("the clock is never reset", "self._elapsed = 0.0", "pass"),
                ("the time is ignored", ", self._elapsed)", ")"),
                ("the hook is not forwarded", "super()._trigger_step()", "pass"),
            ),
            *bugs(
                "PeriodicTrigger._trigger_epoch",
                ("each epoch triggers the callback",
                 "self._every.epoch_is_due(self.epoch_num)", "True"),
                ("the end of a due epoch is forwarded",
                 "self.trigger()", "super()._trigger_epoch()"),
            ),
            *bugs(
                "PeriodicTrigger._before_train",
                ("the callback is never triggered before the training",
                 "self._triggers_before_train", "False"),
                ("the callback is always triggered before the training",
                 "super()._before_train()\n        if ",
                 "super()._before_train()\n        if True or "),
                ("the callback is triggered before the hook is forwarded",
                 ("super()._before_train()\n        if self._triggers_before_train:\n"
                 "            self.trigger()"),
                 ("if self._triggers_before_train:\n            self.trigger()\n"
                 "        super()._before_train()")),
            ),
            *bugs(
                "Every.step_is_due",
                ("the seconds count only if steps are given",
                 "return self.seconds is not None",
                 "return self.steps is not None and self.seconds is not None"),
            ),
            *bugs(
                "Every.epoch_is_due",
                ("each epoch from the first multiple on is due",
                 "epoch % self.epochs == 0", "epoch // self.epochs > 0"),
            ),
        ),
    ),
    hints="""
        step % 3 == 0 is true in every third step. `steps`, `epochs` and `seconds` are None if
        they are not given: test that first.

        super()._trigger_step() forwards the hook to the wrapped callback; self.trigger() triggers
        it. In the first two hooks of PeriodicTrigger, forward first.

        self._every has the two methods step_is_due(step, elapsed) and epoch_is_due(epoch).
        self.global_step is the number of steps in all epochs and runs, self.epoch_num the number
        of the epoch.

        self._elapsed is the time in seconds since it was set to 0.0, or since the training began.
        When the step is due: self._elapsed = 0.0, then self.trigger().
        """,
)  # fmt: skip
