"""The pages that are run: their programs are right, and the code that they show is there."""

import re
from collections.abc import Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Protocol, cast

import pytest

from minispore._course.source import lines_of

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RUN = re.compile(r"---\n(?:.+\n)*?run: true\n")
LESSON = re.compile(r"\d\d-")


class Filling(Protocol):
    """What fills in a page when the site is built."""

    def filled(self, markdown: str, name: str) -> str: ...
    def source(self, wanted: str) -> str: ...
    def is_run(self, name: str, meta: Mapping[str, object]) -> bool: ...


def filling() -> Filling:
    spec = spec_from_file_location("lessons_of_the_site", ROOT / "docs" / "lessons.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast("Filling", module)


def is_run(page: Path) -> bool:
    meta = {"run": True} if RUN.match(page.read_text("utf-8")) else {}
    return filling().is_run(page.relative_to(DOCS).as_posix(), meta)


PAGES = [page for page in sorted(DOCS.rglob("*.md")) if is_run(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_programs_of_a_page_run_and_its_code_is_there(page: Path) -> None:
    text = page.read_text("utf-8")
    filled = filling().filled(text, page.name)
    assert "```source" not in filled
    shown = re.findall(
        r'^```python linenums="(\d+)" title="([^"]+)"\n(.*?)^```$', filled, re.MULTILINE | re.DOTALL
    )
    assert len(shown) == text.count("```source\n")
    assert shown or not LESSON.match(page.name)
    for number, file, code in shown:
        lines = (ROOT / file).read_text("utf-8").splitlines()
        first = int(number) - 1
        there = lines[first : first + code.count("\n")]
        assert [
            re.sub("  # (noqa|pyright|type:).*", "", line) for line in there
        ] == code.splitlines()


def test_what_a_program_prints_follows_it() -> None:
    filled = filling().filled("```python\nx = 2\nprint(x)\n```\n\n```python\nx += 1\n```\n", "a")
    assert filled == (
        "``` { .python .program }\nx = 2\nprint(x)\n```\n\n``` { .text .printed }\n2\n```\n\n"
        "``` { .python .program }\nx += 1\n```\n"
    )


def test_a_drawing_or_a_page_is_shown_in_place_of_its_text() -> None:
    filled = filling().filled("```python\nprint('<svg/>')\n```\n", "a")
    assert filled.endswith('```\n\n<figure class="printed">\n<svg/>\n</figure>\n')
    filled = filling().filled("```python\nprint('<!doctype html>\\n\\n<p id=\"x\">')\n```\n", "a")
    assert filled.endswith(
        'srcdoc="&lt;!doctype html&gt;&#10;&#10;&lt;p id=&quot;x&quot;&gt;&#10;"></iframe>\n'
    )
    filled = filling().filled("```python\nprint('an <svg/>')\n```\n", "a")
    assert "<figure" not in filled


@pytest.mark.parametrize(
    ("name", "meta", "expected"),
    [
        ("learn/01-graph.md", {}, True),
        ("howto/look.md", {}, False),
        ("howto/look.md", {"run": True}, True),
        ("howto/look.md", {"run": False}, False),
    ],
)
def test_which_pages_are_run(name: str, meta: dict[str, object], expected: bool) -> None:
    assert filling().is_run(name, meta) is expected


def test_a_part_of_a_definition_is_cut_out_by_its_text() -> None:
    name = "minispore._autograd.graph.walk"
    number, text = lines_of("minispore._autograd.graph", "walk")
    place = next(i for i, line in enumerate(text.splitlines()) if "heapify(heap)" in line)
    wanted = f"{name}\nfrom: heapify(heap)\nto: found:"
    shown = filling().source(wanted).splitlines()
    assert shown[0] == f'```python linenums="{number + place}" title="minispore/_autograd/graph.py"'
    assert shown[1].strip() == "heapify(heap)"
    assert len(shown) == 4


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("minispore._autograd.graph.run", "defines no 'run'"),
        ("nowhere.at.all", "no module"),
        ("minispore._autograd.graph.walk\nfrom: number", "lines"),
        ("minispore._autograd.graph.walk\nto: quicksort", "no further line"),
        ("minispore._autograd.graph.walk\nlines: 1-3", "neither"),
    ],
)
def test_code_that_is_not_there_is_an_error(wanted: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        filling().source(wanted)
