"""The last exercise of a page: its check rejects the code on the page, and accepts a solution."""

import ast
import re

import pytest

from minispore._course.pages import empty_folder, page_source, printed_by
from minispore._course.sheet import further_solutions

PROGRAM = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)

SOLUTIONS = further_solutions()


def replaced(program: str, solution: str) -> str:
    """Return a program with another definition of the solution's function or class."""
    (new,) = ast.parse(solution).body
    assert isinstance(new, ast.FunctionDef | ast.ClassDef)
    (old,) = (
        node
        for node in ast.parse(program).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == new.name
    )
    lines = program.splitlines()
    return "\n".join([*lines[: old.lineno - 1], solution, *lines[old.end_lineno :]])


@pytest.mark.parametrize("number", SOLUTIONS)
def test_check_rejects_the_page_s_code_and_accepts_a_solution(number: int) -> None:
    page, _, further = page_source(number).partition("\n## Go further\n")
    (program,) = PROGRAM.findall(further)
    solved = replaced(program, SOLUTIONS[number])
    namespace: dict[str, object] = {"__name__": "__main__", "re": re}
    with empty_folder():
        for i, before in enumerate(PROGRAM.findall(page), 1):
            printed_by(before, f"program {i}", namespace)
        assert printed_by(program, "page", dict(namespace)).startswith("not yet: ")
        assert printed_by(solved, "solution", dict(namespace)) == "solved\n"
