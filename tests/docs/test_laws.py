"""The page of laws: each law holds, its bug breaks it, and its test is short."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Protocol, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore._course import laws as course_laws
from minispore._course.laws import break_law, planted
from minispore._course.pages import printed_by
from minispore.train.checkpoint.protobuf import varint
from tests.helpers.scripts import SCRIPTS, load_script


class Laws(Protocol):
    """The functions of docs/scripts/laws.py."""

    def program(self, fence: str) -> tuple[str, str, str]: ...
    def quoted(self, file: str, name: str) -> str: ...


laws = cast("Laws", load_script(SCRIPTS / "laws.py"))
shrinks = load_script(SCRIPTS / "shrinks.py")
PAGE = (SCRIPTS.parent / "laws.md").read_text("utf-8")
FENCES = re.findall(r"^```law\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
VARINT = "minispore.train.checkpoint.protobuf:varint"


def name_of(fence: str) -> str:
    return fence.splitlines()[0].partition(": ")[2]


@pytest.mark.parametrize(
    "fence",
    [
        # Those with fewer examples take more than a second.
        pytest.param(text, id=name_of(text), marks=pytest.mark.full if "examples=" in text else [])
        for text in FENCES
    ],
)
def test_law_holds_and_its_bug_breaks_it(fence: str) -> None:
    program, _, _ = laws.program(fence)
    printed = printed_by(program, "law", {"__name__": "__main__"})
    without, _, with_bug = printed.partition("\n\n")
    assert re.fullmatch(r"Without the bug:\nno counterexample in \d+ examples", without)
    assert with_bug.startswith("With the bug:\n")
    assert f"example: {name_of(fence)}(" in with_bug or f"case: {name_of(fence)}(" in with_bug
    score = re.search(
        r"\n\nOf 5 bugs the law finds (\d)(?:\.\n|, and not\n((?:  .* → .*\n)*))\Z", with_bug
    )
    assert score is not None
    assert 2 <= int(score[1]) == 5 - (score[2] or "").count("\n")


OTHERS = {
    ("bits >>= 7", "bits >>= 8"): True,
    ("value >> 7", "value >> 8"): True,
    ("value <= 0x7F", "value < 0x7F"): False,  # a longer varint has the same value
}


@pytest.mark.parametrize("others", [[*OTHERS][:1], [*OTHERS][1:], [*OTHERS]])
def test_score_counts_the_bugs_that_the_law_finds(others: list[tuple[str, str]]) -> None:
    @given(value=st.integers(0, 2**20))
    def is_read_again(value: int) -> None:
        assert decode_varint(varint(value)) == value

    with redirect_stdout(StringIO()) as printed:
        break_law(is_read_again, VARINT, "value < 2**14", "value < 2**15", others=others)
    missed = [f"  {old} → {new}" for old, new in others if not OTHERS[old, new]]
    score = f"Of {1 + len(others)} bugs the law finds {1 + len(others) - len(missed)}"
    expected = [score + (", and not" if missed else "."), *missed]
    assert printed.getvalue().splitlines()[-len(expected) :] == expected


def decode_varint(data: bytes) -> int:
    return sum((byte & 0x7F) << 7 * i for i, byte in enumerate(data))


def test_picture_shows_the_failing_cases_from_the_first_to_the_smallest() -> None:
    @given(value=st.integers(0, 2**20))
    def is_small(value: int) -> None:
        assert value < 1000

    before = course_laws.counterexample
    with shrinks.recorded() as searches:
        found = course_laws.counterexample(is_small)
    assert course_laws.counterexample is before
    (cases,) = searches
    assert cases[-1] == "1000" == re.findall(r"value=(\d+)", found)[-1]
    assert all(int(case) >= 1000 for case in cases)
    drawn = shrinks.picture(cases)
    assert f"{len(cases)} failing cases, from {cases[0]} to 1000" in drawn
    assert drawn.count("<rect") == min(len(cases), shrinks.MOST_BARS)


def test_there_are_ten_laws_whose_tests_have_at_most_15_lines() -> None:
    assert len(FENCES) == 10
    for fence in FENCES:
        program, _, lines = laws.program(fence)
        first, last = map(int, lines.split("-"))
        test = program.splitlines()[first - 1 : last]
        assert test[0].startswith("@given(")
        assert any(line.startswith(f"def {name_of(fence)}(") for line in test)
        assert len(test) <= 15


def test_quotes_what_the_test_needs_without_examples_and_settings(tmp_path: Path) -> None:
    file = tmp_path / "test_x.py"
    file.write_text(
        "import re\nimport os\n\nA = 1\nB = 2\n\n\ndef used() -> int:\n    return A\n\n\n"
        "@settings(max_examples=B)\n@given(st.none())\n@example(\n    1\n)\n"
        "def test_x(x: re.Pattern[str]) -> None:\n    assert used()\n",
        "utf-8",
    )
    assert laws.quoted(str(file), "test_x") == (
        "import re\n\nA = 1\n\n\ndef used() -> int:\n    return A\n\n\n"
        "@given(st.none())\ndef test_x(x: re.Pattern[str]) -> None:\n    assert used()"
    )


@pytest.mark.parametrize(
    ("file", "name", "message"),
    [
        ("tests/docs/test_laws.py", "test_y", r"has no test 'test_y'"),
        (
            "tests/docs/test_docs.py",
            "test_page_of_the_scripts_lists_each_of_them",
            r"needs 'from tests\.helpers\.scripts import SCRIPTS'",
        ),
    ],
)
def test_what_cannot_be_quoted_raises(file: str, name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        laws.quoted(file, name)


def test_bug_ends_with_its_block() -> None:
    correct = varint(300)
    with pytest.raises(ZeroDivisionError), planted(VARINT, "value >> 7", "value >> 8"):
        assert varint(300) != correct
        raise ZeroDivisionError
    assert varint(300) == correct


@pytest.mark.parametrize(
    ("where", "old", "message"),
    [
        (VARINT, "no such text", "occurs 0 times"),
        (f"{VARINT}_", "return", "defines no 'varint_'"),
        ("minispore.train.checkpoint.protobuf:WireError", "ValueError", "is no function"),
    ],
)
def test_bug_that_does_not_fit_raises(where: str, old: str, message: str) -> None:
    with pytest.raises(ValueError, match=message), planted(where, old, ""):
        pass


@pytest.mark.parametrize(
    ("new", "found"), [("value <= 0x80", False), ("value <= 0x7F - 28", False), ("value < 0", True)]
)
def test_bug_that_a_law_does_not_see_is_said(
    new: str, found: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    @given(st.integers(0, 99))
    def one_byte(value: int) -> None:
        assert len(varint(value)) == 1

    break_law(one_byte, VARINT, "value <= 0x7F", new, examples=10)
    _, with_bug = capsys.readouterr().out.split("With the bug:\n")
    assert ("no counterexample in 10 examples" in with_bug) is not found
