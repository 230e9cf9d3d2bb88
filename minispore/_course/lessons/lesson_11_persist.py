"""Lesson 11: the state of a callback is part of the training state, and files are closed."""

import io
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, cast
from unittest.mock import patch

from hypothesis import strategies as st

from minispore._course.exercise import CodeExercise, Lesson, Property, bugs
from minispore._course.feedback import WrongResult, expect, expect_count
from minispore._course.given_run import (
    Act,
    GivenRun,
    Stateful,
    expect_invariants,
    given_runs,
    kill_and_resume,
    through_file,
)
from minispore._course.lessons.lesson_09_observe import expect_losses
from minispore._course.lessons.lesson_10_decide import Case


@dataclass(frozen=True)
class Killed:
    """A run that is killed after an epoch, and resumed in a new process."""

    case: Case
    epoch: int

    def __str__(self) -> str:
        return f"{self.case}, and a kill after epoch {self.epoch}"


def killed(*, evaluates: bool = False) -> st.SearchStrategy[Killed]:
    """Generate runs that are killed; those with evaluations are not stopped early."""
    runs = given_runs(evaluates=evaluates, epochs=7, steps=1, most=1)
    runs = runs.filter(lambda run: len(run.losses) > 1)
    cases = st.builds(Case, runs, st.none() if evaluates else st.integers(2, 3))
    return cases.flatmap(
        lambda case: st.integers(1, len(case.run.losses) - 1).map(lambda epoch: Killed(case, epoch))
    )


def _log(work: ModuleType, killed: Killed) -> Any:  # noqa: ANN401 (the learner's class)
    case = killed.case
    return kill_and_resume(case.run, killed.epoch, lambda: work.RunLog(case.patience))[0]


def _has_the_same_losses(work: ModuleType, killed: Killed) -> None:
    stop = killed.case.stop()
    if stop and stop <= killed.epoch:
        return
    expect_losses(_log(work, killed).losses, killed.case.run.means()[: stop or None])


def _has_the_same_results(work: ModuleType, killed: Killed) -> None:
    expected = [{"accuracy": accuracy} for accuracy in killed.case.run.accuracies]
    expect("after the resumed run `results`", _log(work, killed).results, expected)


def _state_is_a_copy(work: ModuleType, run: GivenRun) -> None:
    log, states = work.RunLog(), list[dict[str, object]]()

    def save(_: object) -> None:
        states.append(log.state_dict())
        texts.append(repr(states[0]))

    texts = list[str]()
    run.train(log, Act("on_train_step_end", 1, save))
    expect("a state saved after step 1, read at the end,", repr(states[0]), texts[0])


_WRONG = "a text"


def _rejects_invalid_states(work: ModuleType, invalid: tuple[int, object]) -> None:
    log = work.RunLog(2)
    GivenRun(((1.0,), (0.5,))).train(log)
    valid = through_file(log)
    keys = sorted(valid)
    if not keys:
        raise WrongResult("your state_dict returned an empty dictionary")
    key = keys[invalid[0] % len(keys)]
    state = dict(valid)
    del state[key]
    if invalid[1] is not None:
        state[key] = invalid[1]
    case = f"a state without {key!r}" if invalid[1] is None else f"a state whose {key!r} is a text"
    other: Stateful = work.RunLog(2)
    before = repr(other.state_dict())
    try:
        other.load_state_dict(state)
    except ValueError:
        if repr(other.state_dict()) != before:
            raise WrongResult(
                f"your load_state_dict raised ValueError for {case}, but changed the callback "
                "before"
            ) from None
    except NotImplementedError:
        raise
    except Exception as error:
        raise WrongResult(
            f"your load_state_dict raised {type(error).__name__} for {case}, but ValueError was "
            "expected"
        ) from None
    else:
        raise WrongResult(f"your load_state_dict accepted {case}, but ValueError was expected")


@contextmanager
def _observed_files() -> Generator[list[io.IOBase]]:
    """Return a context with a list of the files that are opened in it."""
    files, original = list[io.IOBase](), open

    def observed(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        file = cast("io.IOBase", original(*args, **kwargs))
        files.append(file)
        return file

    with patch("builtins.open", observed), patch("io.open", observed):
        yield files


@dataclass(frozen=True)
class Ended:
    """A run that ends in a given way."""

    run: GivenRun
    error: type[BaseException] | None
    event: str = "on_train_step_begin"

    def __str__(self) -> str:
        end = f", and a {self.error.__name__} in {self.event}" if self.error else ""
        return f"{self.run}{end}"

    def train(
        self, work: ModuleType, at_epoch_end: Callable[[str], None] | None = None
    ) -> tuple[str, str]:
        """Run the training with a file; return its text, and what is wrong with the end."""
        error = self.error

        def fail(_: object) -> None:
            if error is not None:
                raise error

        with TemporaryDirectory() as folder, _observed_files() as files:
            path = Path(folder) / "log.txt"
            log = work.RunLog(path=path)
            raised: BaseException | None = None
            reader = Act(
                "on_train_epoch_end", 1, lambda _: at_epoch_end and at_epoch_end(_text(path))
            )
            try:
                self.run.train(log, reader, Act(self.event, 1, fail))
            except (ValueError, KeyboardInterrupt, SystemExit) as other:
                raised = other
            opened = [file for file in files if not file.closed]
            for file in opened:
                file.close()
            wrong = "your file is still open after the run" if opened else ""
            if type(raised) is not (error or type(None)):
                ended = f"with {raised!r}" if raised else "without an exception"
                name = error.__name__ if error else "none"
                wrong = f"the run ended {ended}, but {name} was expected"
            return _text(path), wrong


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


def _lines(run: GivenRun) -> list[str]:
    return [f"epoch {i}: {mean}" for i, mean in enumerate(run.means(), start=1)]


def _writes_lines(work: ModuleType, run: GivenRun) -> None:
    with redirect_stdout(StringIO()) as printed:
        run.train(work.RunLog())
    if printed.getvalue():
        raise WrongResult(f"your callback printed {printed.getvalue()!r}, without a path")
    expect("the file", Ended(run, None).train(work)[0].splitlines(), _lines(run))


def _writes_lines_at_once(work: ModuleType, run: GivenRun) -> None:
    def read(text: str) -> None:
        expect_count("after epoch 1, the file", len(text.splitlines()), 1, "line")

    Ended(run, None).train(work, read)


def _writes_the_end(work: ModuleType, ended: Ended) -> None:
    assert ended.error is not None
    lines = ended.train(work)[0].splitlines()
    expect("the last line of the file", "".join(lines[-1:]), f"ended by {ended.error.__name__}")


def _closes_its_file(work: ModuleType, ended: Ended) -> None:
    if wrong := ended.train(work)[1]:
        raise WrongResult(wrong)


def _satisfies_invariants(work: ModuleType, _: None) -> None:
    expect_invariants(lambda: work.RunLog(patience=1), modes=["train"])


_ONE_EPOCH = given_runs(epochs=2, steps=2)
_ERRORS = st.sampled_from([ValueError, KeyboardInterrupt, SystemExit])
_AT = st.sampled_from(["on_train_begin", "on_train_step_begin", "on_train_epoch_end"])

LESSON = Lesson(
    title="Checkpoints and exact resume",
    exercise=CodeExercise(
        module="minispore._course.solutions.run_log_11",
        from_empty=True,
        continues=10,
        tasks={
            "RunLog": "Add state_dict() and load_state_dict(state), which save and restore copies "
            "of everything that changes during a run; an invalid state raises ValueError and "
            "changes nothing. Add the argument path=None, the path of a text file to which the "
            "callback appends, for each recorded epoch, the line 'epoch 1: 0.5' with the epoch's "
            "number and loss, readable at once, and 'ended by ValueError' with the name of the "
            "exception's class if an exception or interrupt ends the run. Open the file in "
            "__enter__, and close it in __exit__; exceptions reach the caller."
        },
        properties=(
            Property(
                "Wherever a run is killed and resumed, it has the same losses and the same last "
                "epoch as the uninterrupted run.",
                killed(), _has_the_same_losses, examples=60,
            ),
            Property(
                "A resumed run has the results of all evaluations.",
                killed(evaluates=True), _has_the_same_results, examples=20,
            ),
            Property(
                "A state is a copy: later epochs do not change it.",
                given_runs(evaluates=True), _state_is_a_copy, examples=20,
            ),
            Property(
                "An invalid state raises ValueError, and nothing is changed.",
                st.tuples(st.integers(0, 5), st.sampled_from([None, _WRONG])),
                _rejects_invalid_states, examples=40,
                show=lambda _: "an invalid state",
            ),
            Property(
                "The file has a line for each epoch.",
                _ONE_EPOCH, _writes_lines, examples=20,
            ),
            Property(
                "A line can be read at once, while the run goes on.",
                _ONE_EPOCH, _writes_lines_at_once, examples=20,
            ),
            Property(
                "The last line says which exception or interrupt has ended the run.",
                st.builds(Ended, _ONE_EPOCH, _ERRORS, _AT), _writes_the_end, examples=30,
            ),
            Property(
                "However a run ends, the file is closed and the exception reaches the caller.",
                st.builds(Ended, _ONE_EPOCH, st.none() | _ERRORS, _AT), _closes_its_file,
                examples=30,
            ),
            Property(
                "In training, check_callback finds no violated invariant, also if a run is resumed "
                "in the middle of an epoch.",
                st.none(), _satisfies_invariants, examples=1,
                show=lambda _: "patience=1 and the runs of check_callback",
            ),
        ),
        bugs=(
            *bugs(
                "RunLog.state_dict",
                ("`wait` is reset by a resume", '"wait": self.wait', '"wait": 0'),
                ("the results are not saved",
                 '"results": [dict(result) for result in self.results]', '"results": []'),
                ("the state contains the list itself",
                 '"losses": list(self.losses)', '"losses": self.losses'),
                ("the losses of the steps of an epoch are not saved",
                 '"steps": list(self._steps)', '"steps": []'),
            ),
            *bugs(
                "RunLog.load_state_dict",
                ("the best loss is changed before the other entries are checked",
                 'best = read_field(state, "best", float, "RunLog")',
                 'best = self.best = read_field(state, "best", float, "RunLog")'),
                ("a missing entry raises KeyError",
                 'read_field(state, "wait", int, "RunLog")', 'state["wait"]'),
            ),
            *bugs(
                "RunLog._write",
                ("a line is readable only after the run", ", flush=True", ""),
            ),
            *bugs(
                "RunLog.on_train_epoch_end",
                ("the lines count from 0", "epoch {epoch}:", "epoch {epoch - 1}:"),
                ("the lines of later epochs are missing",
                 "if len(self.losses) > before", "if not before"),
            ),
            *bugs(
                "RunLog.on_exception",
                ("an interrupt is not logged",
                 "self._write(", "isinstance(error, Exception) and self._write("),
            ),
            *bugs(
                "RunLog.__exit__",
                ("the file stays open after an exception",
                 "if self._file is not None", "if exc_type is None and self._file is not None"),
            ),
        ),
    ),
    hints="""
        The state consists of the attributes that on_train_begin or on_train_epoch_begin sets;
        the arguments are not part of it, since the new process passes them again. Copy each list.

        read_field(state, "wait", int, "RunLog") of minispore.train.resume returns state["wait"],
        or raises the required ValueError; read_list_field(state, "losses", float, "RunLog") checks
        a list. Read all entries into local variables first.

        __enter__(self) opens the file with mode "a" and returns self. __exit__(self, kind, error,
        traceback) closes it and returns None; True would suppress the exception. Write lines
        with print(…, file=self.file, flush=True).

        on_exception(self, run_context, error) is called before __exit__, also for
        KeyboardInterrupt: write f"ended by {type(error).__name__}". Only the file needs path, so
        do all this only if it is not None.
        """,
)  # fmt: skip
