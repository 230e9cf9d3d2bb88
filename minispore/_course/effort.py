"""The size of a lesson: minutes of reading and of its exercise, and its difficulty.

They are computed: the reading from the words of the English page, the exercise and the difficulty
from the statements of its solution.
"""

import ast
import textwrap
from dataclasses import dataclass
from typing import Literal

from minispore._course import lessons
from minispore._course.exercise import CodeExercise, TestExercise
from minispore._course.pages import page_source
from minispore._course.source import lines_of

WORDS_PER_MINUTE = 80  # of a text with programs, which are run
_PREPARATION = 10  # minutes, to read the task and to start
# A solution of at most so many statements has one star, and two stars.
_STATEMENTS = (12, 24)


@dataclass(frozen=True)
class Effort:
    """The size of a lesson.

    Attributes:
        reading: The minutes that its page takes, a multiple of 5.
        exercise: The minutes that its exercise takes, a multiple of 5; 0 if it has none.
        stars: The difficulty of the exercise, from 1 to 3; 0 if it has none.
    """

    reading: int
    exercise: int
    stars: int

    @property
    def minutes(self) -> str:
        """The minutes as text, such as "20 + 35"."""
        return f"{self.reading} + {self.exercise}" if self.stars else str(self.reading)

    @property
    def difficulty(self) -> str:
        """The stars as text, such as "★★☆"; "" without an exercise."""
        return "★" * self.stars + "☆" * (3 - self.stars) if self.stars else ""

    def sentence(self, language: Literal["en", "zh"]) -> str:
        """Return the size as the line below the title of the page."""
        if language == "zh":
            exercise = f" · 练习约 {self.exercise} 分钟 · 难度 {self.difficulty}"
            return f"阅读约 {self.reading} 分钟{exercise if self.stars else ''}"
        exercise = f" · exercise {self.exercise} minutes · difficulty {self.difficulty}"
        return f"Reading {self.reading} minutes{exercise if self.stars else ''}"


def effort(number: int) -> Effort:
    """Return the size of a lesson; 0 is the first page, which has no exercise.

    Raises:
        CourseError: There is no such lesson, or this installation has no pages.

    Examples:
        >>> effort(0).exercise
        0
    """
    words = len(page_source(number).split())
    reading = _in_fives(words / WORDS_PER_MINUTE)
    if number == 0:
        return Effort(reading, 0, 0)
    count = statements(lessons.lesson(number).exercise)
    stars = 1 + sum(count > limit for limit in _STATEMENTS)
    return Effort(reading, _in_fives(_PREPARATION + count), stars)


def statements(exercise: CodeExercise | TestExercise) -> int:
    """Return the number of statements that the learner writes in minispore's solution."""
    return sum(
        isinstance(node, ast.stmt) and not _is_docstring(node)
        for name in exercise.tasks
        for node in ast.walk(_definition(exercise.module, name))
    ) - len(exercise.tasks)


def with_effort(page: str, number: int, language: Literal["en", "zh"] = "en") -> str:
    r"""Return the Markdown text of a lesson with its size below the title.

    Examples:
        >>> with_effort("# Title\n\nText\n", 0).splitlines()[:3]
        ['# Title', '', '*Reading 15 minutes*']
    """
    title, end, body = page.partition("\n\n")
    return f"{title}{end}*{effort(number).sentence(language)}*{end}{body}"


def _in_fives(minutes: float) -> int:
    """Return minutes rounded up to a multiple of 5."""
    return int(-(-minutes // 5) * 5)


def _definition(module: str, name: str) -> ast.stmt:
    (node,) = ast.parse(textwrap.dedent(lines_of(module, name)[1])).body
    return node


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
