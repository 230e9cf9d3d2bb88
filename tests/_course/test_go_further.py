"""The last exercise of a page: its check rejects the code on the page, and accepts a solution."""

import re
from collections.abc import Mapping

import pytest

from minispore._course.pages import empty_folder, page_source, printed_by

PROGRAM = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)

# For each lesson, a solution: texts of the page's last program, and what is written instead.
SOLUTIONS: Mapping[int, Mapping[str, str]] = {
    12: {
        "self.share = share": "self.share, self.spent, self.longest = share, 0, 0",
        "return now % 100 == 0": (
            "return self.spent + self.longest <= self.share * (now + self.longest)"
        ),
        "pass\n": "self.spent, self.longest = self.spent + seconds, max(self.longest, seconds)\n",
    },
}


@pytest.mark.parametrize("number", SOLUTIONS)
def test_check_rejects_the_page_s_code_and_accepts_a_solution(number: int) -> None:
    page, _, further = page_source(number).partition("\n## Go further\n")
    (program,) = PROGRAM.findall(further)
    solved = program
    for old, new in SOLUTIONS[number].items():
        assert solved.count(old) == 1, old
        solved = solved.replace(old, new)
    namespace: dict[str, object] = {"__name__": "__main__"}
    with empty_folder():
        for i, before in enumerate(PROGRAM.findall(page), 1):
            printed_by(before, f"program {i}", namespace)
        assert printed_by(program, "page", dict(namespace)).startswith("not yet: ")
        assert printed_by(solved, "solution", dict(namespace)) == "solved\n"
