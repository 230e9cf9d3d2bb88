"""Notebooks: add one of each lesson and each how-to page to the site, with a link on the page.

A fence `notebooks` becomes a table of the English ones. If the repository has an address, which is
`repository` in pyproject.toml, the table has links that open them in other sites, and their first
cell installs minispore.
"""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote

from languages import TITLE, below_title, english, is_current, say

from minispore._course.notebook import notebook
from minispore._course.pages import with_quotes

# The tests use this file without mkdocs.
if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import File, Files

DOCS = Path(__file__).parents[1]
FENCE = "```notebooks\n```"
# The branch that the workflow `docs` publishes.
BRANCH = "gh-pages"
SNIPPET = re.compile(r'^--8<-- "([\w/.]+)"$', flags=re.MULTILINE)


class Page(Protocol):
    """A page of mkdocs."""

    file: "File"


def has_notebook(name: str, text: str) -> bool:
    """Return whether a page has a notebook: a lesson or how-to page with programs."""
    return name.startswith(("learn/", "howto/")) and "\n```python\n" in text


def as_notebook(text: str) -> str:
    """Return the notebook of a page.

    Raises:
        ValueError: A quoted definition does not exist.
    """
    files = SNIPPET.sub(lambda match: (DOCS.parent / match[1]).read_text("utf-8"), text)
    return notebook(with_quotes(files))


def address() -> str:
    """Return the repository's address; "" if it has none."""
    settings = tomllib.loads((DOCS.parent / "pyproject.toml").read_text("utf-8"))
    return str(settings["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"])


def with_installation(text: str, repository: str) -> str:
    """Return the text of a page with a program that installs minispore, if there is an address."""
    program = f"```python\n%pip install --quiet git+{repository}\n```"
    return below_title(text, program) if repository else text


def contents(pages: Iterable[tuple[str, str]], repository: str) -> str:
    """Return the table of notebooks.

    Args:
        pages: The name and the text of each page.
        repository: The repository's address, or "".
    """
    head = ["notebook", *(["open in"] if repository else [])]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for page, text in pages:
        title = TITLE.search(text)
        assert title is not None
        name = notebook_of(page)
        cells = [f"[{title[0].removeprefix('# ').strip()}]({name}){{ download }}"]
        if repository:
            cells.append(", ".join(f"[{site}]({url})" for site, url in open_in(name, repository)))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def open_in(name: str, repository: str) -> list[tuple[str, str]]:
    """Return the sites that open a notebook of the published branch, with the links."""
    binder = f"https://mybinder.org/v2/git/{quote(repository, safe='')}/{BRANCH}?labpath={name}"
    github = "https://github.com/"
    if not repository.startswith(github):
        return [("Binder", binder)]
    path = f"{repository.removeprefix(github)}/blob/{BRANCH}/{name}"
    return [("Colab", f"https://colab.research.google.com/github/{path}"), ("Binder", binder)]


def notebook_of(page: str) -> str:
    """Return the name of the notebook of a page."""
    return PurePosixPath(page).with_suffix(".ipynb").as_posix()


_offered: dict[str, str] = {}


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Add the notebooks to the site."""
    from mkdocs.structure.files import File

    _offered.clear()
    for file in filter(is_offered, list(files.documentation_pages())):
        text = _offered[file.src_uri] = file.content_string
        content = as_notebook(with_installation(text, address()))
        files.append(File.generated(config, notebook_of(file.src_uri), content=content))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Add a link to the notebook below the title of a page, and expand its fences."""
    if FENCE in markdown:
        names = sorted(name for name in _offered if english(name) == name)
        names.sort(key=lambda name: not name.startswith("learn/"))
        pages = [(name, _offered[name]) for name in names]
        return markdown.replace(FENCE, contents(pages, address()))
    if not is_offered(page.file):
        return markdown
    name = page.file.src_uri
    text = say("This page as a notebook", name)
    link = f"[{text}]({PurePosixPath(name).stem}.ipynb){{ .notebook download }}"
    return below_title(markdown, link)


def is_offered(file: "File") -> bool:
    """Return whether the site has a notebook of a page, which may be a translation."""
    return has_notebook(file.src_uri, file.content_string) and is_current(file)
