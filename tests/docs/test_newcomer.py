"""Questions of a newcomer are answered from the home page in at most three clicks."""

import re
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Protocol, cast

import pytest

from tests.helpers.pages import DOCS
from tests.helpers.scripts import SCRIPTS, load_script

LINK = re.compile(r"\]\(([^()\s#:]*\.md)?(#[\w-]+)?\)")
# Each question, and the page with the heading under which the answer is, and words of the answer.
QUESTIONS = {
    "How do I train on my own images?": (
        "howto/images.md#classify-your-own-images",
        ("ImageFolderDataset(", ".train("),
    ),
    "Why was my hook not called?": (
        "howto/problems.md#why-was-my-hook-not-called",
        ("record_events", "`fit` has", "misspelt", "chief_only"),
    ),
    "How do I resume after a crash?": (
        "howto/resume.md#resume-automatically",
        ("BackupAndRestore(", "started again"),
    ),
    "What does this error mean?": (
        "howto/errors.md#what-does-this-error-mean",
        ("Shapes", "labels", "Callbacks", "reference/mindspore.md"),
    ),
    "How do I write my own layer with a gradient?": (
        "howto/gradients.md#custom-derivatives",
        ("nn.Cell", "def construct(", "def bprop("),
    ),
}
CLICKS = 3


class Languages(Protocol):
    """The names of docs/scripts/languages.py."""

    FENCE: re.Pattern[str]
    HEADING: re.Pattern[str]

    def slug(self, heading: str) -> str: ...


def links(page: str) -> set[str]:
    """Return the pages and headings to which the text of a page links."""
    text = (DOCS / page).read_text("utf-8")
    return {
        (normpath(join(dirname(page), name)) if name else page) + anchor
        for name, anchor in LINK.findall(text)
    }


def reached(start: str, clicks: int) -> dict[str, int]:
    """Return the number of clicks to each page and heading that can be reached."""
    found = {start: 0}
    for click in range(1, clicks + 1):
        for place in [earlier for earlier, at in found.items() if at == click - 1]:
            page = place.partition("#")[0]
            if (DOCS / page).is_file():
                for link in links(page):
                    found.setdefault(link, click)
    return found


def section(place: str) -> str:
    """Return the text below a heading, up to the next one of its level or above.

    Raises:
        StopIteration: The page has no such heading.
    """
    page, _, anchor = place.partition("#")
    languages = cast("Languages", load_script(SCRIPTS / "languages.py"))
    text = (DOCS / page).read_text("utf-8")
    # Comments of programs are no headings.
    prose = languages.FENCE.sub(lambda match: match[0].replace("#", " "), text)
    headings = list(languages.HEADING.finditer(prose))
    start = next(heading for heading in headings if languages.slug(heading[2]) == anchor)
    following = headings[headings.index(start) + 1 :]
    after = (heading.start() for heading in following if len(heading[1]) <= len(start[1]))
    return text[start.start() : next(after, None)]


@pytest.mark.parametrize("home", ["index.md", "index.zh.md"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_question_is_answered_in_three_clicks(question: str, home: str) -> None:
    place, words = QUESTIONS[question]
    clicks = reached(home, CLICKS)
    answer = section(place)
    # A link to a page shows its title.
    titled = answer.startswith("# ") and place.partition("#")[0] in clicks
    assert place in clicks or titled, question
    assert [word for word in words if word not in answer] == []


def test_a_place_without_a_link_is_not_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = {"index": "[a](a.md)", "a": "[b](b.md#x)", "b": "[c](c.md)", "c": "[d](d.md)", "d": ""}
    for name, text in pages.items():
        (tmp_path / f"{name}.md").write_text(text, "utf-8")
    monkeypatch.setitem(globals(), "DOCS", tmp_path)
    assert reached("index.md", 3) == {"index.md": 0, "a.md": 1, "b.md#x": 2, "c.md": 3}
