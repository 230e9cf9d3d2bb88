"""The programs of the guides pass `mypy --strict`: their readers copy them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.pages import english_pages

ROOT = Path(__file__).parents[2]
PAGES = english_pages("howto/*.md")
# The first or the last line of a block.
FENCE = re.compile(r"^```(\w*)$")


def program_of(page: Path) -> str:
    """Return the Python blocks of a page, each line at its number on the page."""
    lines: list[str] = []
    language = ""
    for line in page.read_text("utf-8").splitlines():
        fence = FENCE.match(line)
        if fence:
            language = fence[1]
        lines.append(line if language == "python" and not fence else "")
    return "\n".join(lines) + "\n"


def check(folder: Path) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("mypy")
    # A configuration of its own, since the project's names its folders.
    # Some programs show libraries that are not installed.
    options = [
        "--strict",
        "--config-file=",
        "--ignore-missing-imports",
        f"--cache-dir={folder / 'cache'}",
    ]
    command = [sys.executable, "-m", "mypy", *options, *map(str, sorted(folder.glob("*.py")))]
    return subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)


@pytest.mark.full
def test_programs_of_the_guides_pass_mypy_strict(tmp_path: Path) -> None:
    assert PAGES
    for page in PAGES:
        (tmp_path / f"page_{page.stem}.py").write_text(program_of(page), "utf-8")
    result = check(tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.full
def test_type_error_in_a_program_is_found_at_its_line_on_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Text.\n\n```sh\nls\n```\n\n```python\nx: int = 1\nx = 'a'\n```\n", "utf-8")
    (tmp_path / "page.py").write_text(program_of(page), "utf-8")
    result = check(tmp_path)
    assert result.returncode == 1
    assert "page.py:9: error: Incompatible types in assignment" in result.stdout
