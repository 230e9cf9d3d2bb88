"""Import of a submission, and the verdict on it."""

import ast
import sys
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from hypothesis import currently_in_test_context, settings

from minispore._course import CourseError, lessons
from minispore._course.counterexamples import (
    SETTINGS,
    MemoryLimitReached,
    NotWrittenError,
    TimeLimitExceeded,
    describe_error,
    time_limit,
)
from minispore._course.exercise import CodeExercise, Implementation, TestExercise
from minispore._course.variants import renamed, restore_names
from minispore.utils.atomic import open_regular_file

# Of CPU time, for the import of a file, and for the learner's check of one implementation.
_CHECK_SECONDS = 8.0


@dataclass(frozen=True)
class Verdict:
    """The verdict on a submission.

    Attributes:
        passed: Whether the exercise is solved.
        lines: The feedback for the learner.
        done: The number of properties that hold, or of implementations that were judged correctly.
        total: The number of all properties or implementations.
        undetected: In a testing lesson, the bugs that were not detected.
        undecided: Whether a limit of time or memory ended the check before it found a mistake; a
            solution that is undecided has neither passed nor failed.
    """

    passed: bool
    lines: tuple[str, ...]
    done: int = 0
    total: int = 0
    undetected: tuple[str, ...] = ()
    undecided: bool = False


def _ignore(_: Verdict) -> None:
    pass


def judge(
    exercise: CodeExercise | TestExercise,
    path: Path,
    report: Callable[[Verdict], None],
    *,
    memory: str,
) -> Verdict:
    """Import a file, and check it.

    Args:
        exercise: The exercise.
        path: The file.
        report: Receives what is known after each property.
        memory: The limit of memory, for the feedback.
    """

    def with_names(verdict: Verdict) -> Verdict:
        lines = tuple(renamed(line, exercise.names) for line in verdict.lines)
        return replace(verdict, lines=lines)

    try:
        # The settings are for the learner's own use of hypothesis.
        with default_settings(SETTINGS), warnings.catch_warnings():
            # A learner cannot do anything about a line of minispore's source.
            warnings.filterwarnings("ignore", module="minispore")
            work = load(path)
            check_own_work(exercise, path)
            return with_names(
                evaluate_submission(exercise, work, report=lambda known: report(with_names(known)))
            )
    except CourseError as error:
        return Verdict(False, (str(error),))
    except MemoryError:
        return Verdict(False, (f"The solution needs more than {memory}.",), undecided=True)


@contextmanager
def default_settings(profile: settings) -> Generator[None]:
    """Make these settings the default of hypothesis during the block."""
    before = settings()
    _use(profile, "course")
    try:
        yield
    finally:
        _use(before, "before the course")


def _use(profile: settings, name: str) -> None:
    """Make these settings the default of hypothesis."""
    settings.register_profile(name, profile)
    settings.load_profile(name)


def load(path: Path) -> ModuleType:
    """Import a file as a module with the file's name.

    Raises:
        CourseError: The file cannot be read, has a syntax error, raises an exception, or does not
            end.
    """
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        with time_limit(_CHECK_SECONDS, "Importing the file"):
            spec.loader.exec_module(module)
    except TimeLimitExceeded as error:
        raise CourseError(f"{error}.") from None
    except SyntaxError as error:
        if error.lineno is None:  # of an encoding
            raise CourseError(f"The file is not Python source in UTF-8: {error.msg}.") from None
        text = (error.text or "").strip()
        message = f"Line {error.lineno} has a syntax error: {error.msg} (`{text}`)."
        raise CourseError(message) from None
    except BaseException as error:
        raise CourseError(f"Importing the file raised {describe_error(error)}.") from None
    return module


def check_own_work(exercise: CodeExercise | TestExercise, path: Path) -> None:
    """Check that a file does not import from minispore what it should define.

    Raises:
        CourseError: It does.
    """
    asked = {part for name in [*exercise.tasks, *exercise.names] for part in name.split(".")}
    earlier = exercise.continues if isinstance(exercise, CodeExercise) else None
    allowed = None if earlier is None else lessons.lesson(earlier).exercise.module
    with open(path, "rb", opener=open_regular_file) as file:
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("minispore"):
            continue
        for name in node.names:
            if name.name in asked and node.module != allowed:
                raise CourseError(
                    f"Line {node.lineno} imports {name.name} from {node.module}: write it yourself."
                )


def evaluate_submission(
    exercise: CodeExercise | TestExercise,
    work: ModuleType,
    *,
    speedup: int = 1,
    report: Callable[[Verdict], None] = _ignore,
) -> Verdict:
    """Check a module that should contain a solution of the exercise.

    Args:
        exercise: The exercise.
        work: The module.
        speedup: Above 1, try that many times fewer cases and stop at the first failure, which is
            enough to detect most bugs.
        report: Receives what is known after each property.
    """
    total = (
        len(exercise.properties)
        if isinstance(exercise, CodeExercise)
        else len(exercise.correct) + len(exercise.wrong)
    )
    for name in exercise.tasks:
        if not _defines(work, name):
            return Verdict(False, (f"The file does not define {name}.",), 0, total)
    restore_names(work, exercise.names)
    try:
        if isinstance(exercise, CodeExercise):
            return _check_properties(exercise, work, speedup, report)
        return _check_test(exercise, work, total)
    except NotWrittenError as error:
        return Verdict(False, (_not_written(error),), 0, total)


def _defines(work: ModuleType, name: str) -> bool:
    value: object = work
    for part in name.split("."):
        value = getattr(value, part, None)
    return callable(value)


def _not_written(error: NotWrittenError) -> str:
    return f"Not written yet: {error} raises NotImplementedError."


def _check_properties(
    exercise: CodeExercise, work: ModuleType, speedup: int, report: Callable[[Verdict], None]
) -> Verdict:
    violations = list[tuple[str, str]]()
    unwritten: NotWrittenError | None = None
    limit: MemoryLimitReached | None = None
    done, total = 0, len(exercise.properties)

    def known() -> Verdict:
        held = f"{done} of {total} properties hold."
        if violations:
            counterexample, description = violations[0]
            return Verdict(False, (counterexample, f"Property: {description}", held), done, total)
        if unwritten is not None:
            lines = (_not_written(unwritten), held) if done else (_not_written(unwritten),)
            return Verdict(False, lines, done, total)
        if done == total:
            return Verdict(True, (f"All {total} properties hold.",), done, total)
        lines = (str(limit), held) if limit is not None else (held,)
        return Verdict(False, lines, done, total, undecided=True)

    for property in exercise.properties:
        try:
            counterexample = property.find_counterexample(work, speedup)
        except TimeLimitExceeded as error:  # the other properties would need as much time
            violations.append((str(error), property.description))
            break
        except MemoryLimitReached as error:
            limit = error
            break
        except NotWrittenError as error:
            # Other properties may be about functions that are written already.
            unwritten = unwritten or error
            continue
        if counterexample is None:
            done += 1
        else:
            violations.append((counterexample, property.description))
        report(known())
        if violations and speedup > 1:
            break
    return known()


def _check_test(exercise: TestExercise, work: ModuleType, total: int) -> Verdict:
    check: object = getattr(work, exercise.name)
    calls = _CallsInTests()
    rejections = [(correct, _rejection(check, correct, calls)) for correct in exercise.correct]
    alarms = [
        f"False alarm: {correct.description} is correct, but your {exercise.name} reports: {text}"
        for correct, text in rejections
        if text is not None
    ]
    undetected = [
        wrong.description for wrong in exercise.wrong if _rejection(check, wrong, calls) is None
    ]
    accepted = len(exercise.correct) - len(alarms)
    rejected = len(exercise.wrong) - len(undetected)
    counts = (
        f"Your {exercise.name} accepts {accepted} of {len(exercise.correct)} correct "
        f"implementations and rejects {rejected} of {len(exercise.wrong)} wrong ones."
    )
    lines = (counts, *alarms, *(f"Undetected bug: {bug}" for bug in undetected))
    passed = not alarms and not undetected and calls.in_test
    if not calls.in_test:
        advice = (
            f"But your {exercise.name} uses no generated cases: in it, define a test with @given "
            "that calls the implementation, and call this test."
        )
        lines = (*lines, advice)
    return Verdict(passed, lines, accepted + rejected, total, tuple(undetected))


class _CallsInTests:
    """Whether an implementation was called in a test of hypothesis."""

    in_test = False

    def observe(self, implementation: Callable[..., object]) -> Callable[..., object]:
        @wraps(implementation)
        def observed(*args: object, **kwargs: object) -> object:
            self.in_test = self.in_test or currently_in_test_context()
            return implementation(*args, **kwargs)

        return observed


def _rejection(check: object, implementation: Implementation, calls: _CallsInTests) -> str | None:
    """Return the error with which the learner's check rejects an implementation, None if it passes.

    Raises:
        NotWrittenError: The check is not written yet.
    """
    assert callable(check)
    candidate = implementation.make()
    assert callable(candidate)
    candidate = calls.observe(candidate)
    try:
        with time_limit(_CHECK_SECONDS, "it"):
            check(candidate)
    except NotImplementedError as error:
        raise NotWrittenError.of(error) from None
    except TimeLimitExceeded as error:
        return str(error)
    except MemoryError:  # which may be the machine's fault
        raise
    except BaseException as error:  # a check may reject by any exception
        return describe_error(error)
    return None
