"""Each "How to add" of CONTRIBUTING.md, applied to a copy of the repository, passes its checks."""

import re
import shlex
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from tests.helpers.processes import run_python

ROOT = Path(__file__).parents[2]
SECTIONS = {
    section.partition("\n")[0]: section
    for section in (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("\n### ")[1:]
}
BLOCK = re.compile(r'^(`{3,4})(python|diff) title="([^"]*)"\n(.*?)^\1$', re.MULTILINE | re.DOTALL)
NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six")
WITH_BLOCKS = [name for name, section in SECTIONS.items() if BLOCK.search(section)]


def apply(section: str, root: Path) -> None:
    """Write the new files, append to others, and insert the lines with `+` after those above."""
    for _, language, name, text in BLOCK.findall(section):
        file = root / name
        source = file if file.exists() else ROOT / name
        before = source.read_text("utf-8") if source.exists() else ""
        file.parent.mkdir(parents=True, exist_ok=True)
        if language == "python":
            file.write_text(f"{before}\n\n{text}" if before else text, "utf-8")
            continue
        lines = before.split("\n")
        at = -1
        for line in text.splitlines():
            if line.startswith("+"):
                at += 1
                lines.insert(at, line[1:])
            else:
                places = [i for i, other in enumerate(lines) if other == line[1:] and i > at]
                assert places, f"{name} has no line {line[1:]!r} below line {at + 1}."
                at = places[0]
        file.write_text("\n".join(lines), "utf-8")


@pytest.mark.parametrize("name", WITH_BLOCKS)
def test_changed_files_exist_and_are_programs(name: str, tmp_path: Path) -> None:
    apply(SECTIONS[name], tmp_path)
    for file in tmp_path.rglob("*.py"):
        compile(file.read_text("utf-8"), file, "exec")
    named = re.findall(r"\b(?:minispore|tests|docs)/[\w/]+\.(?:py|md|txt)\b", SECTIONS[name])
    missing = [path for path in named if not ((tmp_path / path).exists() or (ROOT / path).exists())]
    assert not missing


@pytest.mark.parametrize("name", WITH_BLOCKS)
def test_number_of_places_is_that_of_the_files(name: str) -> None:
    section = SECTIONS[name]
    files = {file for _, _, file, _ in BLOCK.findall(section)}
    places = len(files) + ("`python -m tests.record`" in section)
    assert f"{NUMBERS[places]} places" in section


@pytest.mark.full
@pytest.mark.parametrize("name", WITH_BLOCKS)
def test_addition_passes_its_checks(name: str, tmp_path: Path) -> None:
    section = SECTIONS[name]
    ignored = ignore_patterns(".*", "__pycache__", "site", "runs", "mutants")
    copy = copytree(ROOT, tmp_path / "copy", ignore=ignored)
    apply(section, copy)
    commands = re.findall(r"`(python -m [^`]*|pytest -n 0 [^`]*)`", section)
    assert commands
    for command in commands:
        program, _, output = command.partition(" > ")
        words = shlex.split(program.removeprefix("python -m "))
        run = run_python("-m", *words, folder=copy, environment={"PYTHONPATH": str(copy)})
        if output:
            (copy / output).write_text(run.stdout, "utf-8")
