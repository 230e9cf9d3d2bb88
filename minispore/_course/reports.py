"""Files for a teacher after grading: feedback, gradebooks of learning platforms, similarities."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path

from minispore._course.grading import Grades, is_linked, result_text, submitted_file
from minispore._course.sandbox import CheckResult
from minispore._course.similarity import Pair, compare
from minispore.utils.atomic import atomic_write, open_regular_file

# Independent solutions of the exercises have at most 0.4 in common; copies have 1.
SIMILAR = 0.6


def write_reports(folder: Path, out: Path, grades: Grades) -> list[Pair]:
    """Write a feedback file for each learner, two gradebooks, and the similar submissions.

    Args:
        folder: The submissions.
        out: The folder for the files.
        grades: Their grades.

    Returns:
        The pairs of similar submissions.

    Raises:
        OSError: A file cannot be read or written.
    """
    numbers = sorted({number for results in grades.values() for number in results})
    pairs = [pair for number in numbers for pair in compare(number, _texts(folder, grades, number))]
    pairs = sorted((pair for pair in pairs if pair.similarity >= SIMILAR), key=lambda p: -p[-1])
    texts = {
        "moodle.csv": as_csv(moodle_rows(grades, numbers)),
        "canvas.csv": as_csv(canvas_rows(grades, numbers)),
        "similarity.csv": as_csv(
            [Pair._fields, *((*map(str, pair[:3]), f"{pair.similarity:.2f}") for pair in pairs)]
        ),
    }
    for name, results in grades.items():
        texts[f"feedback/{name}.txt"] = feedback(results)
    (out / "feedback").mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        with atomic_write(out / path) as file:
            file.write(text.encode())
    return pairs


def feedback(results: Mapping[int, CheckResult]) -> str:
    """Return what a learner reads: for each lesson the result and the reason."""
    parts = (
        "\n".join([f"Lesson {number}: {result_text(result)}", *result.verdict.lines])
        for number, result in sorted(results.items())
    )
    return "\n\n".join(parts) + "\n"


def moodle_rows(grades: Grades, numbers: Sequence[int]) -> list[list[str]]:
    """Return the rows of a CSV file for Moodle's grade import, with percentages and feedback."""
    columns = [name for n in numbers for name in (f"Lesson {n}", f"Lesson {n} feedback")]
    rows = [["Username", *columns]]
    for name, results in grades.items():
        cells = list[str]()
        for number in numbers:
            result = results.get(number)
            cells += [_points(result), "\n".join(result.verdict.lines) if result else ""]
        rows.append([name, *cells])
    return rows


def canvas_rows(grades: Grades, numbers: Sequence[int]) -> list[list[str]]:
    """Return the rows of a CSV file for Canvas's gradebook, with percentages."""
    rows = [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"],
        ["    Points Possible", "", "", "", ""],  # with the spaces that Canvas exports
    ]
    rows[0] += [f"Lesson {number}" for number in numbers]
    rows[1] += ["100" for _ in numbers]
    for name, results in grades.items():
        rows.append([name, "", "", name, "", *(_points(results.get(n)) for n in numbers)])
    return rows


def _points(result: CheckResult | None) -> str:
    """Return a percentage; nothing if it was not submitted or is undecided."""
    if result is None or result.verdict.undecided:
        return ""
    verdict = result.verdict
    return "100" if verdict.passed else str(100 * verdict.done // max(verdict.total, 1))


def _texts(folder: Path, grades: Grades, number: int) -> dict[str, str]:
    texts = dict[str, str]()
    for name, results in grades.items():
        file = submitted_file(folder / name, number) if number in results else None
        if file is not None and not is_linked(folder, file):
            with open(file, encoding="utf-8", errors="replace", opener=open_regular_file) as stream:
                texts[name] = stream.read()
    return texts


def as_csv(rows: Iterable[Sequence[str]]) -> str:
    r"""Return rows as CSV, with a line end after each.

    >>> as_csv([["a", "b, c"]])
    'a,"b, c"\n'
    """
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
