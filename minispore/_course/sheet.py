"""The teacher's sheet of a lesson, from its page and its exercise."""

import re
from base64 import b64encode
from collections.abc import Iterator
from pkgutil import get_data
from textwrap import dedent

from minispore._course import lessons
from minispore._course.counterexamples import TimeLimitExceeded
from minispore._course.exercise import CodeExercise
from minispore._course.notebook import plain_markdown
from minispore._course.pages import page_text, terminal_text
from minispore._course.source import load_mutant

_QUESTION = re.compile(r'^\?\?\? question "(.*)"\n\n((?:    .*\n|\n)+)', flags=re.MULTILINE)
# Formulas and diagrams, and what `terminal_text` prints of drawings.
_BOARD = re.compile(r"^\$\$\n.*?^\$\$$|^```text\n(?:(?!```).)*^```$", re.MULTILINE | re.DOTALL)
_PROGRAM = re.compile(r"^```python\n.*?^```$\n*", flags=re.MULTILINE | re.DOTALL)
# An exception is a mistake that learners see themselves, and its text is not about theirs.
_RAISED = re.compile(r"\byour code raised \w")
_SENTENCE = re.compile(r"(?<=[.?!:]) (?=[^a-z])")


def sheet(number: int, *, with_drawings: bool = False) -> str:
    """Return the sheet of a lesson as Markdown.

    It has the goal, what to write on the board, typical mistakes with the question that reveals
    each, questions with answers, homework, and a solution of the page's last exercise.

    Args:
        number: The number of the lesson.
        with_drawings: Whether drawings are images, and not only descriptions.

    Raises:
        CourseError: See `page_text`.
    """
    page, title = page_text(number), lessons.lesson(number).title
    # The page's first sentence says what its reader can do.
    goal = re.split(r"(?<=\.)\s", page.split("\n\n")[1])[0]
    idea, summary = (plain_markdown(_section(page, name)) for name in ("The idea", "In short"))
    board = ["\n".join(f"- {sentence}" for sentence in key_sentences(idea)), *_BOARD.findall(idea)]
    drawings: list[str] = []
    board += [
        text for text in _BOARD.findall(terminal_text(page, drawings)) if "[A drawing]" in text
    ]
    board += map(_image, drawings if with_drawings else ())
    parts = [
        f"# Lesson {number}: {title}\n\n{plain_markdown(goal)}",
        "## On the board\n\n" + "\n\n".join(board),
        "## Typical mistakes\n\n" + "\n".join(_mistakes(number)),
        "## Questions\n\n" + "\n\n".join(f"**{q}** {answer}" for q, answer in _questions(page)),
        f"## In short\n\n{summary.partition('**')[0].strip()}",  # without the questions
        "## Homework\n\n" + "\n".join(f"- {task}" for task in _homework(number)),
    ]
    if solution := further_solutions().get(number):
        task = plain_markdown(_PROGRAM.sub("", _section(page, "Go further"))).strip()
        parts.append(f"## Go further\n\n{task} A solution:\n\n```python\n{solution}```")
    return "\n\n".join(parts)


def _image(drawing: str) -> str:
    """Return a drawing as a Markdown image that needs no other file."""
    title = re.search(r"<title>(.*?)</title>", drawing)
    data = b64encode(drawing.encode()).decode()
    return f"![{title[1] if title else ''}](data:image/svg+xml;base64,{data})"


def further_solutions() -> dict[int, str]:
    """Return a solution of the last exercise of a page, by the number of the lesson.

    Each takes the place of the definition with its name on the page.
    """
    text = (get_data("minispore._course.solutions", "go_further.txt") or b"").decode()
    parts = (part.partition("\n") for part in text.split("=== ")[1:])
    return {int(number): f"{solution.rstrip()}\n" for number, _, solution in parts}


def _section(page: str, heading: str) -> str:
    """Return the text below a heading, up to the next of its level; "" if there is none."""
    match = re.search(rf"^## {heading}$\n+(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    return match[1] if match else ""


def key_sentences(text: str) -> list[str]:
    """Return the sentences of paragraphs and lists in which a part is bold.

    >>> key_sentences("It is short. A **step** is one update. So:")
    ['A **step** is one update.']
    """
    paragraphs = re.sub(r"^```.*?^```$|^\$\$.*?^\$\$$", "", text, flags=re.MULTILINE | re.DOTALL)
    sentences = [
        sentence.strip()
        for paragraph in re.split(r"\n\n+|^(?:-|\d+\.) ", paragraphs, flags=re.MULTILINE)
        for sentence in _SENTENCE.split(" ".join(paragraph.split()))
    ]
    return [sentence for sentence in sentences if "**" in sentence and sentence[0] != "("]


def _questions(page: str) -> Iterator[tuple[str, str]]:
    for match in _QUESTION.finditer(page):
        yield match[1], " ".join(dedent(match[2]).split())


def _mistakes(number: int) -> Iterator[str]:
    """Yield the seeded bugs, each with a question; for code about its smallest counterexample."""
    exercise = lessons.lesson(number).exercise
    if not isinstance(exercise, CodeExercise):
        for wrong in exercise.wrong:
            yield f"- **{wrong.description}**: for which input is the result wrong?"
        return
    noticed: list[str] = []
    for bug in exercise.bugs:
        work = load_mutant(exercise.module, bug)
        questions: list[str] = []
        for property in exercise.properties:
            try:
                counterexample = property.find_counterexample(work, 1)
            except TimeLimitExceeded:
                questions.append(f"How does the time grow with the input? *{property.description}*")
                break
            if counterexample is not None and not _RAISED.search(counterexample):
                questions.append(f"{counterexample} Why? *{property.description}*")
                break
        if questions:
            yield f"- **{bug.description}**: {questions[0]}"
        else:
            noticed.append(bug.description)
    if noticed:
        yield f"- An exception shows these: {'; '.join(f'**{each}**' for each in noticed)}."


def _homework(number: int) -> Iterator[str]:
    exercise = lessons.lesson(number).exercise
    if isinstance(exercise, CodeExercise):
        for seed, contract in enumerate(exercise.contracts):
            yield f"`minispore learn start {number} --variant {seed}`: {contract.text}"
    yield (
        "Make a wrong version of your solution that the check does not know, and write a property "
        "that only this version violates."
    )
