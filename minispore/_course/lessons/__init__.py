"""The lessons: one module `lesson_NN_name` each, which defines `LESSON`.

Lesson 0 is a page without an exercise, so it has no module.

Its modules import `common`, `dataset`, `engine`, `graph`, `nn`, `ops`, `train` and `utils`.
"""

import re
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from minispore._course import CourseError
from minispore._course.exercise import CodeExercise, Lesson, TestExercise
from minispore._course.variants import vary

_FIRST_PAGE = "docs/learn/00-thirty-lines.md"


@cache
def names() -> dict[int, str]:
    """Return the module name of each lesson by the lesson's number, in order.

    >>> names()[1]
    'lesson_01_graph'
    """
    modules = sorted(module.name for module in iter_modules(__path__))
    matches = [match for name in modules if (match := re.fullmatch(r"lesson_(\d\d)_\w+", name))]
    return {int(match[1]): match[0] for match in matches}


def lesson(number: int) -> Lesson:
    """Return a lesson by its number.

    Raises:
        CourseError: There is no such lesson, or it has no exercise.

    Examples:
        >>> lesson(1).title
        'Backpropagation on a computational graph'
    """
    if number == 0:
        raise CourseError("lesson 0 has no exercise; to read it: minispore learn read 0")
    value: object = import_module(f"{__name__}.{_name(number)}").LESSON
    assert isinstance(value, Lesson)
    return value


def exercise(number: int, variant: int | None = None) -> CodeExercise | TestExercise:
    """Return the exercise of a lesson, or the variant of it with this seed.

    Raises:
        CourseError: There is no such lesson.
    """
    value = lesson(number).exercise
    return value if variant is None else vary(value, variant)


def page(number: int) -> str:
    """Return the path of a lesson's page in the repository; that of lesson 0 is the first page.

    Raises:
        CourseError: There is no such lesson.

    Examples:
        >>> page(1)
        'docs/learn/01-graph.md'
    """
    if number == 0:
        return _FIRST_PAGE
    stem = _name(number).removeprefix("lesson_").replace("_", "-")
    return f"docs/learn/{stem}.md"


def _name(number: int) -> str:
    if number not in names():
        known = ", ".join(map(str, [0, *names()]))
        raise CourseError(f"there is no lesson {number}; the lessons are {known}")
    return names()[number]
