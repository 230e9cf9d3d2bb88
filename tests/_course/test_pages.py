"""The executable pages: their programs run, and the source that they quote exists."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Protocol, cast

import pytest
from hypothesis import settings

from minispore import nn
from minispore._course import commands, lessons
from minispore._course.notebook import notebook
from minispore._course.pages import page_text, terminal_text
from minispore._course.source import lines_of
from minispore.drawing import draw_cell
from tests.helpers.pages import english_pages
from tests.helpers.scripts import SCRIPTS, load_script

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RUN = re.compile(r"---\n(?:.+\n)*?run: true\n")
LESSON = re.compile(r"(?!00)\d\d-")
SLOW = {"00-thirty-lines", "testing", "inspect", "laws", "14-properties"}


class PageBuilder(Protocol):
    """The functions of docs/scripts/lessons.py, which fill in a page when the site is built."""

    def filled(self, markdown: str, name: str) -> str: ...
    def source(self, request: str) -> str: ...
    def is_run(self, name: str, meta: Mapping[str, object]) -> bool: ...


def page_builder() -> PageBuilder:
    return cast("PageBuilder", load_script(SCRIPTS / "lessons.py"))


def is_run(page: Path) -> bool:
    meta = {"run": True} if RUN.match(page.read_text("utf-8")) else {}
    return page_builder().is_run(page.relative_to(DOCS).as_posix(), meta)


PAGES = [
    # Their programs take more than a second.
    pytest.param(page, id=page.stem, marks=pytest.mark.full if page.stem in SLOW else [])
    for page in english_pages("**/*.md")
    if is_run(page)
]


@pytest.mark.parametrize("page", PAGES)
def test_page_programs_run_and_quotes_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    filled = page_builder().filled(text, page.name)
    assert "```source" not in filled
    shown = re.findall(
        r'^```python linenums="(\d+)" title="([^"]+)"\n(.*?)^```$', filled, re.MULTILINE | re.DOTALL
    )
    assert len(shown) == text.count("```source\n")
    assert shown or not LESSON.match(page.name)
    for number, file, code in shown:
        lines = (ROOT / file).read_text("utf-8").splitlines()
        first = int(number) - 1
        quoted = lines[first : first + code.count("\n")]
        assert [
            re.sub("  # (noqa|pyright|type:).*", "", line) for line in quoted
        ] == code.splitlines()


FILLED = [
    (
        "```python\nx = 2\nprint(x)\n```\n\n```python\nx += 1\n```\n",
        (
            "``` { .python .program }\nx = 2\nprint(x)\n```\n\n``` { .text .printed }\n2\n```\n\n"
            "``` { .python .program }\nx += 1\n```\n"
        ),
    ),
    (
        "```python\nprint('<svg/>')\n```\n",
        '```\n\n<figure class="printed">\n<svg/>\n</figure>\n',
    ),
    (
        "```python\nprint('<!doctype html>\\n\\n<p id=\"x\">')\n```\n",
        'srcdoc="&lt;!doctype html&gt;&#10;&#10;&lt;p id=&quot;x&quot;&gt;&#10;"></iframe>\n',
    ),
    ("```python\nprint('an <svg/>')\n```\n", "``` { .text .printed }\nan <svg/>\n```\n"),
]


@pytest.mark.parametrize(("page", "ending"), FILLED)
def test_output_follows_its_program(page: str, ending: str) -> None:
    """As text, or embedded if it is SVG or HTML."""
    assert page_builder().filled(page, "a").endswith(ending)


@pytest.mark.parametrize(
    ("name", "meta", "expected"),
    [
        ("learn/01-graph.md", {}, True),
        ("howto/look.md", {}, False),
        ("howto/look.md", {"run": True}, True),
        ("howto/look.md", {"run": False}, False),
    ],
)
def test_is_run_depends_on_folder_and_front_matter(
    name: str, meta: dict[str, object], expected: bool
) -> None:
    assert page_builder().is_run(name, meta) is expected


def test_source_fence_quotes_part_of_definition() -> None:
    name = "minispore.engine.graph.backward_pass"
    number, text = lines_of("minispore.engine.graph", "backward_pass")
    index = next(i for i, line in enumerate(text.splitlines()) if "heapify(heap)" in line)
    request = f"{name}\nfrom: heapify(heap)\nto: dict[int, V]"
    shown = page_builder().source(request).splitlines()
    assert shown[0] == f'```python linenums="{number + index}" title="minispore/engine/graph.py"'
    assert shown[1].strip() == "heapify(heap)"
    assert len(shown) == 4


@pytest.mark.parametrize("number", lessons.names())
def test_read_shows_the_page_with_quotes(number: int) -> None:
    text = page_text(number)
    assert text.startswith(f"# {lessons.lesson(number).title}\n")
    assert "```source" not in text
    assert text.count('title="minispore/') > 0


SITE = re.compile(r"linenums=|title=|^!!! |<svg|\]\(\d\d-|{ \.", re.MULTILINE)


@pytest.mark.parametrize(
    ("number", "language"),
    [
        *((1, "en"), (8, "en"), (8, "zh")),
        *(
            pytest.param(n, "en", marks=pytest.mark.full)
            for n in lessons.names()
            if n not in {1, 8}
        ),
    ],
)
def test_read_shows_outputs_and_no_markdown_of_the_site(
    number: int, language: Literal["en", "zh"]
) -> None:
    """As the site does, except that drawings are text."""
    folder = Path.cwd()
    before = settings().max_examples
    text = commands.read(number, language)
    assert (Path.cwd(), settings().max_examples) == (folder, before)
    assert not SITE.search(text)
    page = page_text(number, "en")
    shown = page_builder().filled(page, "a")
    printed = re.findall(r"^``` { \.text \.printed }\n(.*?)\n```$", shown, re.MULTILINE | re.DOTALL)
    # Durations and the results of random weights differ.
    masked = re.sub(r"[\d.]+", "0", text)
    for output in printed:
        fence = f"```text\n{output}\n```".replace("<a, program", "<program")
        assert "<svg" in output or re.sub(r"[\d.]+", "0", fence) in masked
    assert text.count("[A drawing] ") == shown.count("<svg")


def test_read_describes_a_drawing() -> None:
    program = "from minispore import drawing, nn\nprint(drawing.draw_cell(nn.Dense(2, 3)))\n"
    *_, drawn = terminal_text(f"```python\n{program}```\n").split("```text\n")
    drawing = draw_cell(nn.Dense(2, 3))
    title, description = re.findall(r"<(?:title|desc)>(.*?)<", drawing)[:2]
    expected = [f"[A drawing] {title}", *(f"  {part}" for part in description.split(". ")), "```"]
    assert drawn.splitlines() == [line.replace("&gt;", ">") for line in expected]


def test_read_shows_the_title_of_a_printed_page_and_the_notebook_the_page() -> None:
    text = commands.read(0, "en")
    assert "\n[A page] Draw a digit\n  Its `save` writes it to a file, " in text
    assert max(map(len, text.splitlines())) < 300
    assert "display(drawing.digit_pad(" in notebook(page_text(0))


@pytest.mark.parametrize(
    "file",
    [file for file in sorted(DOCS.glob("learn/[0-9]*.zh.md")) if file.name[:2] != "00"],
    ids=lambda file: file.stem,
)
def test_read_shows_the_chinese_page_without_ids_of_headings(file: Path) -> None:
    text = page_text(int(file.name[:2]), "zh")
    title = re.search(r"^# (.*) \{#", file.read_text("utf-8"), re.MULTILINE)
    assert title
    assert text.startswith(f"# {title[1]}\n")
    assert "```source" not in text


@pytest.mark.parametrize(
    ("fence", "message"),
    [
        ("minispore.engine.graph.run", "defines no 'run'"),
        ("nowhere.at.all", "no module"),
        ("minispore.engine.graph.backward_pass\nfrom: number", "lines"),
        ("minispore.engine.graph.backward_pass\nto: quicksort", "no further line"),
        ("minispore.engine.graph.backward_pass\nlines: 1-3", "neither"),
    ],
)
def test_missing_source_raises_value_error(fence: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        page_builder().source(fence)
