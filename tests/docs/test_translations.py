"""The Chinese pages: they have the structure of the English ones, and the check finds changes."""

import re
import shutil
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Protocol, cast

import pytest

from minispore._course.translation import translate
from tests.helpers.pages import DOCS
from tests.helpers.scripts import SCRIPTS, load_script


class Languages(Protocol):
    """The functions of docs/scripts/languages.py."""

    WORDS: Mapping[str, Mapping[str, str]]

    def problems(self, docs: Path) -> Iterator[str]: ...
    def on_page_markdown(self, markdown: str, page: object) -> str: ...
    def on_page_content(self, html: str, *, page: object, config: object, files: object) -> str: ...
    def headings(self, prose: str) -> Iterator[str]: ...
    def say(self, text: str, page: str, /, **values: object) -> str: ...


READMES = ("README.md", "README.zh.md")
languages = cast("Languages", load_script(SCRIPTS / "languages.py"))
PAGE = Path(__file__).with_name("page.txt").read_text("utf-8")
DIGEST = sha256(PAGE.encode()).hexdigest()[:12]
TRANSLATION = Path(__file__).with_name("page.zh.txt").read_text("utf-8").replace("{DIGEST}", DIGEST)


def test_translations_have_the_structure_of_their_pages() -> None:
    """Those that are up to date, and were not forgotten in the list."""
    allowed = re.compile(r": missing: |: behind ")
    assert [line for line in languages.problems(DOCS) if not allowed.search(line)] == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "learn").mkdir()
    (tmp_path / "learn" / "08-loop.md").write_text(PAGE, "utf-8", newline="\r\n")
    (tmp_path / "learn" / "08-loop.zh.md").write_text(TRANSLATION, "utf-8")
    return tmp_path


def problems(folder: Path) -> list[str]:
    return [line.partition(": ")[2] for line in languages.problems(folder)]


def test_check_accepts_a_translation_with_the_structure_of_its_page(folder: Path) -> None:
    assert problems(folder) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("print(1)", "print(2)", "fence"),
        ("# A comment.", "# 注释。", "fence"),
        ("{#the-idea}", "{#idea}", "heading"),
        (" {#the-idea}", "", "heading"),
        ("## 思路", "### 思路", "heading"),
        ("07-sgd.md#a", "07-sgd.md", "link"),
        ("minispore.nn.Cell", "minispore.nn.Dense", "link"),
        ("!!! note", "!!! warning", "box"),
        ("|---|---|\n", "|---|---|\n| 一 | 二 |\n", "table row"),
        ("run: true\n", "", "front matter"),
    ],
)
def test_check_finds_each_difference(folder: Path, old: str, new: str, problem: str) -> None:
    assert old in TRANSLATION
    (folder / "learn" / "08-loop.zh.md").write_text(TRANSLATION.replace(old, new), "utf-8")
    assert any(f" the {problem} " in line for line in problems(folder))


def test_check_finds_headings_in_another_order(folder: Path) -> None:
    other = PAGE + "\n## Then\n", TRANSLATION.replace("## 思路", "## 然后 {#then}\n\n## 思路")
    assert problems_of(folder, *other) == ["has not the same headings in the same order"]


def problems_of(folder: Path, page: str, translation: str) -> list[str]:
    """Return the problems of a translation that is up to date."""
    file = folder / "learn" / "08-loop.md"
    file.write_text(page, "utf-8")
    (digest,) = (line.split()[-1] for line in problems(folder))
    text = translation.replace(DIGEST, digest)
    file.with_name("08-loop.zh.md").write_text(text, "utf-8")
    return problems(folder)


def test_check_lists_translations_that_are_behind_missing_or_left_over(folder: Path) -> None:
    learn = folder / "learn"
    (learn / "08-loop.md").write_text(f"{PAGE}\nMore.\n", "utf-8")
    (learn / "09-observe.md").write_text(PAGE, "utf-8")
    shutil.copy(learn / "08-loop.zh.md", learn / "10-decide.zh.md")
    (missing, behind, left_over) = problems(folder)
    assert missing == "missing: there is no 09-observe.zh.md"
    assert behind.startswith("behind 08-loop.md, which has the digest ")
    assert left_over == "there is no 10-decide.md"


def test_a_changed_page_of_the_site_is_found(tmp_path: Path) -> None:
    """Each change of an English page makes its translation one that is behind."""
    for page in sorted(DOCS.rglob("*.zh.md")):
        original = page.with_name(page.name.replace(".zh.md", ".md"))
        for file in (page, original):
            shutil.copy(file, tmp_path)
        with (tmp_path / original.name).open("a", encoding="utf-8") as changed:
            changed.write("\n")
        (behind,) = problems(tmp_path)[-1:]
        assert behind.startswith(f"behind {original.name}")
        for file in (page, original):
            (tmp_path / file.name).unlink()


def test_ids_of_headings_are_markdown_s() -> None:
    markdown = pytest.importorskip("markdown")
    texts = [
        "The `a_b` & *c*",
        "Vector–Jacobian  products",
        "Gradients: [x](y.md#z)",
        "The `a_b` c",
    ]
    page = "".join(f"## {text}\n\n" for text in texts)
    html: str = markdown.markdown(page, extensions=["toc"])
    assert [f"## {anchor}" for anchor in re.findall(r'<h2 id="([^"]*)"', html)] == list(
        languages.headings(page)
    )


# The site.


class Pages(Protocol):
    """The functions of docs/scripts/lessons.py."""

    def filled(self, markdown: str, name: str) -> str: ...
    def translated(self, markdown: str, name: str) -> str: ...


def test_translation_shows_the_outputs_of_its_page_and_runs_nothing() -> None:
    pages = cast("Pages", load_script(SCRIPTS / "lessons.py"))
    program = "```python\nimport time\n\nprint(time.perf_counter())\n```\n"
    other = "```python\nraise ValueError\n```\n"
    page = pages.filled(f"Time\n\n{program}", "learn/a.md")
    assert "{ .text .printed }" in page
    assert pages.translated(f"时间\n\n{program}{other}", "learn/a.zh.md") == (
        page.replace("Time", "时间") + other
    )
    assert pages.translated(program, "learn/b.zh.md") == program


def test_translation_that_is_behind_says_so(folder: Path) -> None:
    chinese = folder / "learn" / "08-loop.zh.md"
    file = SimpleNamespace(src_uri="learn/08-loop.zh.md", abs_src_path=str(chinese))
    page = SimpleNamespace(file=file)
    assert languages.on_page_markdown(TRANSLATION, page) == TRANSLATION
    (folder / "learn" / "08-loop.md").write_text(PAGE + "\nMore.\n", "utf-8")
    text = languages.on_page_markdown(TRANSLATION, page)
    title, note, body = re.split(r"(?<=hooks}\n)|(?=\n请)", text)
    assert title + body == TRANSLATION
    assert note.startswith('\n!!! warning "英文原文已更新"\n\n    本页的[英文原文](08-loop.md)')


# Words.

LITERAL = r'"((?:[^"\\]|\\.)*)"'
# In the worker, the texts of messages.
SHOWN = re.compile(
    rf"\bsay\(\s*{LITERAL}|(?:state|lost): {LITERAL}|failure\(\s*{LITERAL}|"
    rf"lacking\.\w+ = \[?{LITERAL}|lacking\[lack\] \?\? {LITERAL}"
)


def test_every_word_of_the_scripts_has_a_translation() -> None:
    texts = [(DOCS / "assets" / name).read_text("utf-8") for name in ("run.js", "exercise.js")]
    texts.append((DOCS / "assets" / "run-worker.js").read_text("utf-8"))
    shown = {"".join(match) for text in texts for match in SHOWN.findall(text)} - {""}
    assert shown == set(languages.WORDS["scripts"])


def test_translated_words_have_the_same_values() -> None:
    for table in languages.WORDS.values():
        for text, chinese in table.items():
            assert sorted(re.findall(r"\{\w+\}", text)) == sorted(re.findall(r"\{\w+\}", chinese))
            assert re.findall("<[^>]*>", text) == re.findall("<[^>]*>", chinese)


def test_words_are_in_the_language_of_the_page() -> None:
    text = "lesson {number}"
    assert languages.say(text, "learn/a.md", number=3) == "lesson 3"
    assert languages.say(text, "learn/a.zh.md", number=3) == "第 3 课"
    with pytest.raises(KeyError):
        languages.say("unknown", "learn/a.zh.md")


def test_chinese_readme_has_the_commands_programs_and_links_of_the_english_one() -> None:
    english, chinese = (DOCS.with_name(name).read_text("utf-8") for name in READMES)
    fence = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
    for (kind, text), (kind_zh, text_zh) in zip(
        fence.findall(english), fence.findall(chinese), strict=True
    ):
        is_feedback = text.startswith("For ")
        assert (kind_zh, text_zh) == (kind, translate(text, "zh") if is_feedback else text)
    link = re.compile(r"\]\(([^)]+)\)")
    for target, target_zh in zip(link.findall(english), link.findall(chinese), strict=True):
        zh = target.replace(".md", ".zh.md")
        has_zh = (DOCS.parent / zh).is_file() and target not in READMES
        assert target_zh == (READMES[0] if target == READMES[1] else zh if has_zh else target)
        assert (DOCS.parent / target_zh).exists()
    assert english.count("\n|") == chinese.count("\n|")
    assert english.count("\n## ") == chinese.count("\n## ")


class Files:
    """The pages of a site, as mkdocs names them."""

    def __init__(self, *names: str) -> None:
        self.files = [
            SimpleNamespace(src_uri=name, url=name.replace(".md", ".html")) for name in names
        ]

    def documentation_pages(self) -> list[SimpleNamespace]:
        return self.files

    def get_file_from_path(self, name: str) -> SimpleNamespace | None:
        return next((file for file in self.files if file.src_uri == name), None)


def test_links_lead_to_translations_and_others_say_that_they_are_english() -> None:
    files = Files("learn/a.md", "learn/a.zh.md", "b.md", "b.zh.md", "c.md")
    page = SimpleNamespace(file=files.files[1], url="learn/a.zh.html", meta={})
    config = SimpleNamespace(site_description=None)
    config.site_description = "MindSpore's training stack, small enough to read"

    def shown(link: str) -> str:
        html = languages.on_page_content(
            f'<a href="{link}">x</a>', page=page, config=config, files=files
        )
        return html.partition("\n")[0]

    assert shown("../b.html#x") == '<a href="../b.zh.html#x">x</a>'
    assert shown("../c.html#x") == '<a hreflang="en" href="../c.html#x">x</a>'
    # The English page of this one, an address, a place of the page, and a file that is no page.
    for link in ("a.html", "https://example.org/c.html", "#x", "../c.ipynb"):
        assert shown(link) == f'<a href="{link}">x</a>'
