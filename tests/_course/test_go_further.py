"""The last exercise of a page: its check rejects the code on the page, and accepts a solution."""

import ast
import re

import pytest

from minispore._course.pages import empty_folder, page_source, printed_by

PROGRAM = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)

# For each lesson, a solution, which takes the place of the definition of this name on the page.
SOLUTIONS = {
    12: """
class Budget:
    def __init__(self, share):
        self.share, self.spent, self.longest = share, 0, 0

    def is_due(self, now):
        return self.spent + self.longest <= self.share * (now + self.longest)

    def took(self, seconds):
        self.spent, self.longest = self.spent + seconds, max(self.longest, seconds)
""",
    13: """
def salvage(stream):
    found, start = [], 0
    while start < len(stream):
        length, end = stream[start : start + 8], start + 8
        if masked_crc32c(length).to_bytes(4, "little") == stream[end : end + 4]:
            end += 4 + int.from_bytes(length, "little")
            data = stream[start + 12 : end]
            if masked_crc32c(data).to_bytes(4, "little") == stream[end : end + 4]:
                found.append(data)
                start = end + 3
        start += 1
    return found
""",
    14: """
def losses():
    few = st.lists(st.sampled_from([0.0, 1.0, math.nan]), min_size=5)
    return few | st.integers(8, 12).map(lambda n: list(range(n, 0, -1)))
""",
    15: """
def clipped(g, limit):
    xp = namespace(g)
    norm = xp.sum(g * g) ** 0.5
    return g * (limit / xp.where(norm > limit, norm, limit))
""",
    16: """
def plan(uses, sizes):
    return first_fit(uses, sizes, sorted(uses, key=sizes.get, reverse=True))
""",
    17: """
def all_reduce(arrays):
    distance = 1
    while distance < len(arrays):
        received = exchange(arrays, [rank ^ distance for rank in range(len(arrays))])
        arrays = [one + other for one, other in zip(arrays, received, strict=True)]
        distance *= 2
    return arrays
""",
    18: """
def suggest(rates, losses):
    smooth = np.convolve(losses[: np.argmin(losses) + 5], np.ones(9) / 9, "valid")
    return rates[np.argmin(smooth[9:] - smooth[:-9]) + 8]
""",
    19: """
def follows(events):
    epoch = "epoch_begin (step_begin step_end )*(validation )?epoch_end "
    return re.fullmatch(f"begin ({epoch})*end", " ".join(events)) is not None
""",
}


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
