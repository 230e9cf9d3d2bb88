"""What the README and the pages say is true: their programs run, and nothing public is left out."""

import re
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# A page that is run when the site is built is run by the course's tests.
RUN = re.compile(r"---\n(?:.+\n)*?run: true\n")
WITH_PROGRAMS = [
    page
    for page in PAGES
    if page.parent.name == "howto" or page.name == "README.md"
    if not RUN.match(page.read_text("utf-8"))
]
PUBLIC_MODULES = {
    "minispore",
    "minispore.communication",
    "minispore.dataset",
    "minispore.dataset.transforms",
    "minispore.dataset.vision",
    "minispore.drawing",
    "minispore.nn",
    "minispore.ops",
    "minispore.testing",
    "minispore.testing.strategies",
    "minispore.tensorpack",
    "minispore.train",
}


def blocks(page: Path, language: str) -> list[str]:
    pattern = rf"^```{language}\n(.*?)^```$"
    return re.findall(pattern, page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", WITH_PROGRAMS, ids=lambda page: page.name)
def test_the_programs_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    programs = blocks(page, "python")
    assert programs
    for number, block in enumerate(programs):
        exec(compile(block, f"<{page.name}, block {number}>", "exec"), namespace)


def test_the_readme_has_two_commands_of_one_line_that_install_first() -> None:
    commands = [line for block in blocks(ROOT / "README.md", "sh") for line in block.splitlines()]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert len(commands) == 2
    for command in commands:
        match = re.fullmatch(r"pip install -e '\.\[(\w+)\]' && (minispore train|pytest)", command)
        assert match
        assert match[1] in project["optional-dependencies"]


def test_the_reference_has_every_public_name() -> None:
    pages = [page.read_text("utf-8") for page in (ROOT / "docs" / "reference").glob("*.md")]
    targets = {t for text in pages for t in re.findall(r"^::: (\S+)", text, flags=re.MULTILINE)}
    shown = {target.rpartition(".")[2] for target in targets}
    shown |= {name for text in pages for name in re.findall(r"`(\w+)`", text)}
    for module in PUBLIC_MODULES & targets:
        shown |= set(import_module(module).__all__)
    missing = {
        f"{module}.{name}"
        for module in PUBLIC_MODULES
        for name in import_module(module).__all__
        if name not in shown and not isinstance(getattr(import_module(module), name), ModuleType)
    }
    assert not missing


@pytest.mark.parametrize("page", [ROOT / "docs" / "compatibility.md"], ids=lambda page: page.name)
def test_every_test_that_a_page_names_exists(page: Path) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page.read_text("utf-8"))
    assert len(named) > 100
    for file, name in named:
        assert f"def {name}(" in (ROOT / file).read_text("utf-8"), f"{file}::{name}"
