"""The README and other pages: their programs run, and the tests that they name exist.

The programs of the how-to pages are run by the tests of the notebooks.
"""

import re
import tomllib
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from minispore._course import lessons
from tests.helpers.scripts import SCRIPTS, load_script

ROOT = Path(__file__).parents[2]
WITH_PROGRAMS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]


def blocks(page: Path, language: str) -> list[str]:
    pattern = rf"^```{language}\n(.*?)^```$"
    return re.findall(pattern, page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", WITH_PROGRAMS, ids=lambda page: page.name)
def test_programs_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    programs = blocks(page, "python")
    assert programs
    for number, block in enumerate(programs):
        exec(compile(block, f"<{page.name}, block {number}>", "exec"), namespace)


def test_readme_has_two_commands_that_install_first() -> None:
    commands = [line for block in blocks(ROOT / "README.md", "sh") for line in block.splitlines()]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert len(commands) == 2
    for command in commands:
        match = re.fullmatch(r"pip install -e '\.\[(\w+)\]' && (minispore train|pytest)", command)
        assert match
        assert match[1] in project["optional-dependencies"]


def test_chinese_readme_has_the_programs_and_commands() -> None:
    for language in ("python", "sh"):
        assert blocks(ROOT / "README.zh.md", language) == blocks(ROOT / "README.md", language)


def test_tests_of_the_differences_exist() -> None:
    named = list(load_script(SCRIPTS / "differences.py").tests())
    assert len(named) > 100
    for file, name in named:
        text = (ROOT / file).read_text("utf-8")
        assert not name or f"def {name}(" in text, f"{file}::{name}"


def test_page_of_the_differences_has_each_of_them() -> None:
    script = load_script(SCRIPTS / "differences.py")
    page = script.on_page_markdown((ROOT / "docs" / "compatibility.md").read_text("utf-8"))
    rows = Counter(line for line in page.splitlines() if "<small>`tests/" in line)
    listed = script.differences()
    expected = Counter(f"| {entry.topic} {script.row(entry)}" for entry in listed)
    assert rows == expected + Counter(script.row(entry) for entry in listed if entry.common)
    # Each row is one row of a table, with as many cells as its heading.
    assert {line.count(" | ") for line in rows} == {1, 2}


def test_page_of_the_scripts_lists_each_of_them() -> None:
    page = (SCRIPTS / "README.md").read_text("utf-8")
    listed = re.findall(r"^\| `(\w+\.py)`", page, flags=re.MULTILINE)
    assert sorted(listed) == sorted(file.name for file in SCRIPTS.glob("*.py"))
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    hooks = re.findall(r"^  - docs/scripts/(\w+\.py)$", settings, flags=re.MULTILINE)
    assert listed[: len(hooks)] == hooks


def test_outputs_of_the_first_lessons_and_solutions_are_folded() -> None:
    pytest.importorskip("mkdocs")
    script = load_script(SCRIPTS / "lessons.py")
    program = "```python\nprint(1 + 1)\n```\n"
    first, later = (script.filled(program, f"learn/{name}") for name in ("04-a.md", "05-a.md"))
    question = "Guess first: what does it print?"
    folded = re.search(r'<details class="guess"[^>]*>(.*)</details>', first, flags=re.DOTALL)
    assert folded is not None
    assert f"<summary>{question}</summary>" in folded[1]
    assert "{ .text .printed }\n2\n```" in folded[1]
    assert "{ .text .printed }\n2\n```" in later
    assert question not in later
    drawing = script.filled("```python\nprint('<svg></svg>')\n```\n", "learn/04-b.md")
    assert question not in drawing
    chinese = script.translated(program, "learn/04-a.zh.md")
    assert "<summary>先猜一猜：它会输出什么？</summary>" in chinese
    for sentence in ("minispore's solution: try the exercise first.", "请先做练习。"):
        for following in ("<h2>", "<h3>", '<div class="admonition note">'):
            page = f"<p>Before</p>\n<p>{sentence}</p>\n<p>It.</p>\n{following}After"
            made = script.on_page_content(page, _page("learn/06-cells.md"))
            assert made == (
                f'<p>Before</p>\n<details class="solution">\n<summary>{sentence}</summary>\n'
                f"<p>It.</p>\n</details>\n{following}After"
            )
            assert script.on_page_content(page, _page("howto/a.md")) == page


def _page(name: str) -> SimpleNamespace:
    return SimpleNamespace(file=SimpleNamespace(src_uri=name))


def test_each_solution_is_folded() -> None:
    """Pages that say so before the quotes of the solution do it in the words of the script."""
    folds = load_script(SCRIPTS / "lessons.py").SOLUTION
    for number in (1, 2, 3, 5, 6, 7, 8, 13, 16):
        for suffix in (".md", ".zh.md"):
            file = (ROOT / lessons.page(number)).with_suffix(suffix)
            lines = [f"<p>{line}</p>" for line in file.read_text("utf-8").splitlines()]
            assert sum(folds.match(f"{line}\n<h2") is not None for line in lines) == 1, file


def test_recorded_output_is_shown_where_a_library_is_missing_and_compared_elsewhere() -> None:
    pytest.importorskip("mkdocs")
    filled = load_script(SCRIPTS / "lessons.py").filled
    page = "```python\n{}\nprint(1 + 1)\n```\n\n```printed\n{}\n```\n"
    missing = filled(page.format("import no_such_library", "recorded"), "howto/a.md")
    assert missing.startswith("``` { .python }\n")
    assert missing.endswith("``` { .text .printed }\nrecorded\n```\n")
    assert filled(page.format("import math", "2"), "howto/a.md").endswith("\n2\n```\n")
    with pytest.raises(ValueError, match=r"printed '2\\n', but the page says '3\\n'"):
        filled(page.format("import math", "3"), "howto/a.md")
    with pytest.raises(ModuleNotFoundError):
        filled("```python\nimport no_such_library\n```\n", "howto/a.md")


def test_shown_output_is_the_same_in_each_build() -> None:
    pytest.importorskip("mkdocs")
    filled = load_script(SCRIPTS / "lessons.py").filled
    page = (
        "```python\nimport os\nfrom tqdm import tqdm\n\nprint([(x for x in ())])\n"
        "print(os.path.abspath('a'))\nbar = tqdm(total=2, file=__import__('sys').stdout)\n"
        "print('between')\nbar.update(2)\nbar.close()\nprint('after')\n```\n"
    )
    shown = filled(page, "howto/a.md").rpartition("printed }\n")[2]
    assert shown == "[<generator object <genexpr> at 0x…>]\na\nbetween\nafter\n```\n"
