"""The lessons: each is one module here, `lesson_NN_name`, with a `LESSON` in it."""

import re
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from minispore._course.errors import CourseError
from minispore._course.exercise import Lesson


@cache
def names() -> dict[int, str]:
    """The number of each lesson with its module's name, in order.

    >>> names()[1]
    'lesson_01_graph'
    """
    found = sorted(module.name for module in iter_modules(__path__))
    matches = [match for name in found if (match := re.fullmatch(r"lesson_(\d\d)_\w+", name))]
    return {int(match[1]): match[0] for match in matches}


def lesson(number: int) -> Lesson:
    """A lesson by its number.

    Raises:
        CourseError: There is none.

    Examples:
        >>> lesson(1).title
        'A graph is a numbering'
    """
    if number not in names():
        known = ", ".join(map(str, names()))
        raise CourseError(f"there is no lesson {number}; there are {known}")
    found: object = import_module(f"{__name__}.{names()[number]}").LESSON
    assert isinstance(found, Lesson)
    return found


def page(number: int) -> str:
    """Where the page of a lesson lies in the repository.

    >>> page(1)
    'docs/learn/01-graph.md'
    """
    stem = names()[number].removeprefix("lesson_").replace("_", "-")
    return f"docs/learn/{stem}.md"
