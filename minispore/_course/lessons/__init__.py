"""The lessons: one module `lesson_NN_name` each, which defines `LESSON`."""

import re
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from minispore._course import CourseError
from minispore._course.exercise import CodeExercise, Lesson, TestExercise
from minispore._course.variants import vary


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
        CourseError: There is no such lesson.

    Examples:
        >>> lesson(1).title
        'Backpropagation on a computational graph'
    """
    if number not in names():
        known = ", ".join(map(str, names()))
        raise CourseError(f"there is no lesson {number}; the lessons are {known}")
    value: object = import_module(f"{__name__}.{names()[number]}").LESSON
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
    """Return the path of a lesson's page in the repository.

    >>> page(1)
    'docs/learn/01-graph.md'
    """
    stem = names()[number].removeprefix("lesson_").replace("_", "-")
    return f"docs/learn/{stem}.md"
