"""The source on the site: each file as text, functions quoted on pages, and CONTRIBUTING.md.

A link to a file of the package or an example, such as `../minispore/nn/cell.py`, leads to its text.
A fence `examples` names a folder. It becomes a table of its files with the first lines of their
docstrings.

A fence `functions` names one definition in each line, as the comments of `one_page.py` do. It is
replaced by the source of these definitions without their docstrings, each under a link to its file.
"""

import ast
import re
from typing import Protocol

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.utils import get_relative_url
from one_page import PACKAGE, ROOT, as_fence, file_of

EXAMPLES = re.compile(r"^```examples\n(.*?)\n```$", flags=re.MULTILINE)
FENCE = re.compile(r"^```functions\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?:\.\./)+((?:minispore|examples)/[\w/]+)\.py\)")


class Page(Protocol):
    """A page of mkdocs."""

    file: File


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the text of each file of the package and each example, and CONTRIBUTING.md."""
    for folder in (PACKAGE, ROOT / "examples"):
        for path in sorted(folder.rglob("*.py")):
            # Browsers show it, as they do not for Python.
            name = f"source/{path.relative_to(ROOT).as_posix()}.txt"
            files.append(File.generated(config, name, abs_src_path=str(path)))
    content = contributing((ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    files.append(File.generated(config, "contributing.md", content=content))
    return files


def contributing(text: str) -> str:
    """Return CONTRIBUTING.md with the links of a page in docs."""
    return text.replace("](docs/", "](").replace("](CHANGELOG.md)", "](changelog.md)")


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Expand the fences of a page, and direct its links to the texts of the files."""
    name = page.file.src_uri

    def to_text(match: re.Match[str]) -> str:
        return f"]({get_relative_url(f'source/{match[1]}.py.txt', name)})"

    return LINK.sub(to_text, EXAMPLES.sub(lambda match: as_table(match[1]), expand(markdown)))


def as_table(folder: str) -> str:
    """Return a table of the examples in a folder, with the first lines of their docstrings."""
    rows = ["| program | contents |", "|---|---|"]
    for path in sorted((ROOT / folder).glob("*.py")):
        first = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").partition("\n")[0]
        rows.append(f"| [`{path.name}`](../{path.relative_to(ROOT).as_posix()}) | {first} |")
    return "\n".join(rows)


def expand(markdown: str) -> str:
    """Return the text of a page with its functions.

    Raises:
        ValueError: No file has a definition that a fence names, or several have.
    """

    def quote(match: re.Match[str]) -> str:
        named = [line.split(": ") for line in match[1].splitlines()]
        return "\n\n".join(as_fence(file_of(place, name), name) for place, name in named)

    return FENCE.sub(quote, markdown)
