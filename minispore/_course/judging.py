"""The judgement of one solution, in words and in numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

from minispore._course.exercise import Build, Implementation, Property
from minispore._course.searching import NotWrittenError, TooSlow, described, time_limit

# Of computing, in which the learner's property judges one implementation.
_PROPERTY_SECONDS = 8.0


@dataclass(frozen=True)
class Verdict:
    """What came of a check.

    Attributes:
        passed: Whether the exercise is solved.
        lines: What to tell the learner.
        done: How many laws hold, or how many implementations were judged rightly.
        of: How many there are.
        away: In a testing lesson, the bugs that got away.
    """

    passed: bool
    lines: tuple[str, ...]
    done: int = 0
    of: int = 0
    away: tuple[str, ...] = ()


def judge(exercise: Build | Property, work: ModuleType, *, share: int = 1) -> Verdict:
    """Judge a module that should hold a solution of the exercise.

    Args:
        exercise: The exercise.
        work: The module.
        share: Above 1, so many times fewer cases are tried, and the first mistake ends it. That
            is enough to see that a bug is found.

    Returns:
        The verdict.
    """
    total = (
        len(exercise.laws)
        if isinstance(exercise, Build)
        else len(exercise.right) + len(exercise.wrong)
    )
    for name in exercise.tasks:
        if not _has(work, name):
            return Verdict(False, (f"The file defines no {name} any more.",), 0, total)
    try:
        if isinstance(exercise, Build):
            return _judge_laws(exercise, work, share)
        return _judge_property(exercise, work)
    except NotWrittenError as error:
        return Verdict(False, (_not_written(error),), 0, total)


def _has(work: ModuleType, name: str) -> bool:
    found: object = work
    for part in name.split("."):
        found = getattr(found, part, None)
    return callable(found)


def _not_written(error: NotWrittenError) -> str:
    return f"Not written yet: {error} raises NotImplementedError."


def _judge_laws(exercise: Build, work: ModuleType, share: int) -> Verdict:
    broken = list[tuple[str, str]]()
    missing: NotWrittenError | None = None
    done, total = 0, len(exercise.laws)
    for each in exercise.laws:
        try:
            mistake = each.broken(work, share)
        except TooSlow as error:  # as it would be in the other laws' cases
            broken.append((each.says, str(error)))
            break
        except NotWrittenError as error:
            # Other laws may be about what is written already.
            missing = missing or error
            continue
        if mistake is None:
            done += 1
            continue
        broken.append((each.says, mistake))
        if share > 1:
            break
    if missing is not None and not broken:
        lines = [_not_written(missing)]
        if done:
            lines.append(f"{done} of {total} laws hold.")
        return Verdict(False, tuple(lines), done, total)
    if not broken:
        return Verdict(True, (f"All {total} laws hold.",), done, total)
    says, mistake = broken[0]
    told = (mistake, f"The law: {says}", f"{done} of {total} laws hold.")
    return Verdict(False, told, done, total)


def _judge_property(exercise: Property, work: ModuleType) -> Verdict:
    check: object = getattr(work, exercise.name)
    alarms = list[str]()
    for each in exercise.right:
        complaint = _complaint(check, each)
        if complaint is not None:
            alarms.append(f"{each.says} is right, but your {exercise.name} says: {complaint}")
    away = [each.says for each in exercise.wrong if _complaint(check, each) is None]
    accepted = len(exercise.right) - len(alarms)
    rejected = len(exercise.wrong) - len(away)
    count = (
        f"Your {exercise.name} accepts {accepted} of {len(exercise.right)} right implementations "
        f"and rejects {rejected} of {len(exercise.wrong)} wrong ones."
    )
    lines = [count]
    lines += _some("A false alarm", alarms)
    lines += _some("A bug that got away", away)
    total = len(exercise.right) + len(exercise.wrong)
    passed = not alarms and not away
    return Verdict(passed, tuple(lines), accepted + rejected, total, tuple(away))


def _some(title: str, items: Sequence[str]) -> list[str]:
    return [f"{title}: {item}" for item in items]


def _complaint(check: object, implementation: Implementation) -> str | None:
    """What the learner's check says against an implementation, None if it accepts it.

    Raises:
        NotWrittenError: There is no check yet.
    """
    assert callable(check)
    made = implementation.make()
    try:
        with time_limit(_PROPERTY_SECONDS):
            check(made)
    except NotImplementedError as error:
        raise NotWrittenError.of(error) from None
    except TooSlow as error:
        return f"nothing; it had not finished after {_PROPERTY_SECONDS:g} seconds{error}"
    except (Exception, SystemExit) as error:  # by which means it rejects is its own affair
        return described(error)
    return None
