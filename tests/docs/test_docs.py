"""The README and other pages: their programs run, and the tests that they name exist.

The programs of the how-to pages are run by the tests of the notebooks.
"""

import re
import tomllib
from pathlib import Path

import pytest

from tests.helpers.scripts import SCRIPTS

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


@pytest.mark.parametrize("page", [ROOT / "docs" / "compatibility.md"], ids=lambda page: page.name)
def test_tests_named_on_a_page_exist(page: Path) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page.read_text("utf-8"))
    assert len(named) > 100
    for file, name in named:
        assert f"def {name}(" in (ROOT / file).read_text("utf-8"), f"{file}::{name}"


def test_page_of_the_scripts_lists_each_of_them() -> None:
    page = (SCRIPTS / "README.md").read_text("utf-8")
    listed = re.findall(r"^\| `(\w+\.py)`", page, flags=re.MULTILINE)
    assert sorted(listed) == sorted(file.name for file in SCRIPTS.glob("*.py"))
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    hooks = re.findall(r"^  - docs/scripts/(\w+\.py)$", settings, flags=re.MULTILINE)
    assert listed[: len(hooks)] == hooks
