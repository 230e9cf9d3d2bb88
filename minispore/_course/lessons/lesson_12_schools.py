"""Lesson 12: when, apart from what."""

from dataclasses import dataclass
from types import ModuleType
from unittest.mock import patch

from hypothesis import strategies as st

from minispore import tensorpack
from minispore._course.exercise import Build, Lesson, law, paragraphs
from minispore._course.source import Bug
from minispore._course.words import Wrong
from minispore.train import RunContext
from minispore.train._protocol.manager import CallbackManager


@dataclass(frozen=True)
class Case:
    """A run, and the times at which a callback shall be triggered in it.

    Attributes:
        lengths: How many seconds each step takes.
        steps_per_epoch: How many steps an epoch has.
        k_steps: The argument `every_k_steps`, or `steps` where there are seconds.
        k_epochs: The argument `every_k_epochs`.
        seconds: The argument `seconds` of `Every`.
        at_first: The argument `before_train`.
        earlier: How many epochs were trained in an earlier run.
    """

    lengths: tuple[int, ...]
    steps_per_epoch: int = 1
    k_steps: int | None = None
    k_epochs: int | None = None
    seconds: int | None = None
    at_first: bool = False
    earlier: int = 0

    def __str__(self) -> str:
        epochs = len(self.lengths) // self.steps_per_epoch
        text = f"{_count(epochs, 'epoch')} of {_count(self.steps_per_epoch, 'step')}"
        if self.earlier:
            text += f" (after {_count(self.earlier, 'epoch')} in an earlier run)"
        steps, given = "every_k_steps", list[str]()
        if self.seconds is not None:
            text += f", in steps of {', '.join(map(str, self.lengths))} seconds,"
            steps, given = "steps", [f"seconds={self.seconds}"]
        given += [f"{steps}={self.k_steps}"] if self.k_steps else []
        given += [f"every_k_epochs={self.k_epochs}"] if self.k_epochs else []
        given += ["before_train=True"] if self.at_first else []
        return f"{text} with {' and '.join(given)}"

    def play(self, work: ModuleType) -> "Bell":
        """Play the run, and return the callback that was triggered, with what it has noted."""
        bell, now = Bell(), 0.0
        times = (
            {"every_k_steps": self.k_steps, "every_k_epochs": self.k_epochs}
            if self.seconds is None
            else {"every": work.Every(steps=self.k_steps, seconds=self.seconds)}
        )
        with patch("minispore.tensorpack.states.perf_counter", lambda: now):
            trigger = work.PeriodicTrigger(bell, before_train=self.at_first, **times)
            callbacks = CallbackManager([trigger])
            run = RunContext(
                {
                    "batch_num": self.steps_per_epoch,
                    "epoch_num": len(self.lengths) // self.steps_per_epoch,
                    "initial_epoch": self.earlier,
                    "cur_step_num": 0,
                    "metric_names": [],
                    "list_callback": callbacks.callbacks,
                    "optimizer": None,
                    "train_network": None,
                }
            )
            params = run.original_args()
            bell.now = "before the training"
            callbacks.on_train_begin(run)
            for step, length in enumerate(self.lengths, start=1):
                if (step - 1) % self.steps_per_epoch == 0:
                    params.cur_epoch_num = self.earlier + 1 + (step - 1) // self.steps_per_epoch
                    callbacks.on_train_epoch_begin(run)
                params.cur_step_num = step
                callbacks.on_train_step_begin(run)
                bell.now = f"after step {self.earlier * self.steps_per_epoch + step}"
                now += length
                callbacks.on_train_step_end(run)
                if step % self.steps_per_epoch == 0:
                    bell.now = f"after epoch {params.cur_epoch_num}"
                    callbacks.on_train_epoch_end(run)
        return bell

    def plan(self) -> "Bell":
        """The same, by counting."""
        bell = Bell()
        bell.called.append("_before_train")
        if self.at_first:
            bell.ring("before the training")
        since = 0
        for i, length in enumerate(self.lengths):
            step = self.earlier * self.steps_per_epoch + i + 1
            since += length
            bell.called.append("_trigger_step")
            due = bool(self.k_steps) and step % (self.k_steps or 1) == 0
            if due or (self.seconds is not None and since >= self.seconds):
                since = 0
                bell.ring(f"after step {step}")
            epoch, left = divmod(step, self.steps_per_epoch)
            if not left and self.k_epochs and epoch % self.k_epochs == 0:
                bell.ring(f"after epoch {epoch}")
        return bell


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


class Bell(tensorpack.Callback):
    """A callback that notes when it is triggered, and what else is called.

    Attributes:
        now: Where the run is, in words.
        rung: When it was triggered.
        called: The hooks that were called.
    """

    def __init__(self) -> None:
        self.now = ""
        self.rung = list[str]()
        self.called = list[str]()

    def ring(self, when: str) -> None:
        """Note a time."""
        self.rung.append(when)
        self.called.append("_trigger")

    def _before_train(self) -> None:
        self.called.append("_before_train")

    def _trigger_step(self) -> None:
        self.called.append("_trigger_step")

    def _trigger_epoch(self) -> None:
        self.called.append("_trigger_epoch")

    def _trigger(self) -> None:
        self.ring(self.now)


_K = st.integers(1, 4)
_NONE: st.SearchStrategy[int | None] = st.none()
_FALSE = st.just(False)


def cases(
    *,
    k_steps: st.SearchStrategy[int | None] = _NONE,
    k_epochs: st.SearchStrategy[int | None] = _NONE,
    seconds: st.SearchStrategy[int | None] = _NONE,
    at_first: st.SearchStrategy[bool] = _FALSE,
) -> st.SearchStrategy[Case]:
    """Runs of up to four epochs of up to three steps."""

    def of(epochs: int, steps: int) -> st.SearchStrategy[Case]:
        lengths = st.tuples(*[st.integers(1, 3)] * (epochs * steps))
        if seconds is _NONE:
            lengths = st.just((1,) * (epochs * steps))
        earlier = st.integers(0, 2)
        return st.builds(
            Case, lengths, st.just(steps), k_steps, k_epochs, seconds, at_first, earlier
        )

    return st.tuples(st.integers(1, 4), st.integers(1, 3)).flatmap(lambda size: of(*size))


def _rings_in_time(work: ModuleType, case: Case) -> None:
    got, wanted = case.play(work).rung, case.plan().rung
    if got != wanted:
        did = f"triggered {', '.join(got)}" if got else "never triggered"
        should = f"should have been {', '.join(wanted)}" if wanted else "never should have been"
        raise Wrong(f"the callback was {did}, but it {should}")


def _passes_on(work: ModuleType, case: Case) -> None:
    got, wanted = case.play(work).called, case.plan().called
    if got != wanted:
        raise Wrong(
            f"what was called of the callback was {', '.join(got)}, but {', '.join(wanted)} was "
            "expected"
        )


LESSON = Lesson(
    title="Two schools of callbacks",
    idea="What a callback does and when it does it are two things: keep them apart.",
    minutes=35,
    explains=(
        "minispore.tensorpack.Callback",
        "minispore.tensorpack.Every",
        "minispore.tensorpack.PeriodicTrigger",
        "minispore.tensorpack.ProxyCallback",
        "minispore.tensorpack.RunValues",
    ),
    exercise=Build(
        module="minispore.tensorpack.triggers",
        tasks={
            "Every.epoch_is_due": "An epoch is due if `epochs` are given and its number is a "
            "multiple of them.",
            "Every.step_is_due": "A step is due if its number is a multiple of `steps`, or if "
            "`seconds` have passed; each only where it is given.",
            "PeriodicTrigger._before_train": "Pass the hook on, then trigger the callback if "
            "self._at_first.",
            "PeriodicTrigger._trigger_step": "Pass the hook on, then trigger the callback if the "
            "step is due; from there the seconds count anew, in self._elapsed.",
            "PeriodicTrigger._trigger_epoch": "Trigger the callback if the epoch is due. This hook "
            "is not passed on: at the end of each epoch it would trigger.",
        },
        laws=(
            law(
                "With `every_k_steps` it is triggered after the steps whose number, over all "
                "epochs and runs, is a multiple of it.",
                cases(k_steps=_K),
                _rings_in_time,
                show=str,
            ),
            law(
                "With `every_k_epochs` it is triggered after the epochs that are a multiple of it.",
                cases(k_epochs=_K),
                _rings_in_time,
                show=str,
            ),
            law(
                "With `before_train` it is triggered before the first step as well.",
                cases(k_steps=_K, k_epochs=st.none() | _K, at_first=st.booleans()),
                _rings_in_time,
                show=str,
            ),
            law(
                "With `seconds` it is triggered after the step in which they are over, and then "
                "they begin anew; of steps and seconds, whichever comes first counts.",
                cases(k_steps=st.none() | _K, seconds=st.integers(2, 5)),
                _rings_in_time,
                show=str,
            ),
            law(
                "The callback's own hooks are called as ever, and first; only `_trigger_epoch` is "
                "not.",
                cases(k_steps=_K, k_epochs=_K, at_first=st.booleans()),
                _passes_on,
                show=str,
            ),
        ),
        bugs=(
            Bug(
                "the steps are counted anew in each epoch",
                "PeriodicTrigger._trigger_step", "self.global_step", "self.local_step + 1",
            ),
            Bug(
                "the step counts as not yet done",
                "PeriodicTrigger._trigger_step", "self.global_step", "self.global_step - 1",
            ),
            Bug(
                "the clock is never set back",
                "PeriodicTrigger._trigger_step", "self._elapsed = 0.0", "pass",
            ),
            Bug(
                "nobody looks at the clock",
                "PeriodicTrigger._trigger_step", ", self._elapsed)", ")",
            ),
            Bug(
                "the callback does not hear of the steps any more",
                "PeriodicTrigger._trigger_step", "super()._trigger_step()", "pass",
            ),
            Bug(
                "each epoch triggers, due or not",
                "PeriodicTrigger._trigger_epoch", "self._every.epoch_is_due(self.epoch_num)",
                "True",
            ),
            Bug(
                "the end of an epoch that is due is passed on",
                "PeriodicTrigger._trigger_epoch", "self.trigger()", "super()._trigger_epoch()",
            ),
            Bug(
                "it is always triggered before the training",
                "PeriodicTrigger._before_train", "self._at_first", "True",
            ),
            Bug(
                "it is triggered before it was told that the training begins",
                "PeriodicTrigger._before_train",
                "super()._before_train()\n        if self._at_first:\n            self.trigger()",
                "if self._at_first:\n            self.trigger()\n        super()._before_train()",
            ),
            Bug(
                "the seconds count only where steps are given",
                "Every.step_is_due", "return self.seconds is not None",
                "return self.steps is not None and self.seconds is not None",
            ),
            Bug(
                "it is asked how often the number of epochs goes into the epoch, not whether",
                "Every.epoch_is_due", "epoch % self.epochs == 0", "epoch // self.epochs > 0",
            ),
        ),
    ),
    hints=paragraphs(
        """
        step % 3 == 0 in every third step. `steps`, `epochs` and `seconds` are None where
        they are not given: ask that first.

        super()._trigger_step() passes the hook on to the other callback; self.trigger()
        triggers it. In each of the first two hooks of PeriodicTrigger, pass on first.

        self._every has the two questions: step_is_due(step, elapsed) and
        epoch_is_due(epoch). self.global_step says how many steps are done in all epochs and
        runs, self.epoch_num which epoch it is.

        self._elapsed tells how many seconds have passed since it was set to 0.0, or since
        the training began. When the step is due: self._elapsed = 0.0, then self.trigger().
        """
    ),
)  # fmt: skip
