"""Notebooks: add one of each lesson and each how-to page to the site, with a link on the page.

If the repository has an address, which is `repository` in pyproject.toml, links beside it open the
notebook in other sites, and its first cell installs minispore.
"""

import re
import tomllib
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote

from languages import below_title, is_current, say

from minispore._course.notebook import notebook
from minispore._course.pages import with_quotes

# The tests use this file without mkdocs.
if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import File, Files

DOCS = Path(__file__).parents[1]
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


def links(name: str, text: str, repository: str) -> str:
    """Return the link to the notebook with this name, and to the sites that open it, if any."""
    download = f"[{text}]({PurePosixPath(name).name}){{ .notebook download }}"
    sites = open_in(name, repository) if repository else []
    return " ".join([download, *(f"[{site}]({url}){{ .notebook }}" for site, url in sites)])


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


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Add the notebooks to the site."""
    from mkdocs.structure.files import File

    for file in filter(is_offered, list(files.documentation_pages())):
        content = as_notebook(with_installation(file.content_string, address()))
        files.append(File.generated(config, notebook_of(file.src_uri), content=content))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Add the links to the notebook below the title of a page."""
    if not is_offered(page.file):
        return markdown
    name = page.file.src_uri
    text = say("This page as a notebook", name)
    return below_title(markdown, links(notebook_of(name), text, address()))


def is_offered(file: "File") -> bool:
    """Return whether the site has a notebook of a page, which may be a translation."""
    return has_notebook(file.src_uri, file.content_string) and is_current(file)
